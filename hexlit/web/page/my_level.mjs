/* The level of the person at the page: it moves with the results of the games. */

import { HUMAN } from "./game.mjs";
import { BLACK, WHITE, other } from "./rules.mjs";

export const MY_LEVEL = "my level";
export const FIRST_LEVEL = 3; // before the first game

/** Whether the player of this name is a level, `level-1` and so on. */
export const isLevel = (name) => /^level-\d+$/.test(name);

/** How many of the players on offer are levels. */
export const levelsAmong = (offered) => offered.filter(({ name }) => isLevel(name)).length;

/** The player for a name: that of the present level for `MY_LEVEL`. */
export const playerOf = (name, level) => (name === MY_LEVEL ? `level-${level}` : name);

/** Whether the person of a game against `MY_LEVEL` has won it; null for any other game. */
export function wonAgainstLevel(players, winner) {
  const level = [BLACK, WHITE].find((colour) => players[colour] === MY_LEVEL);
  return level && players[other(level)] === HUMAN ? winner !== level : null;
}

/** The level after a game: one up after a win, one down after a loss, within 1 to `levels`. */
export const levelAfter = (level, won, levels) => Math.min(levels, Math.max(1, level + (won ? 1 : -1)));

/** The game is over: the level of the person who played against it moves, once in a game; returns whether it did. */
export function rate(page) {
  const won = wonAgainstLevel(page.players, page.position.winner || page.node.end.winner);
  const person = page.players.black === HUMAN ? 1 : 2; // plies to the first move of the person
  if (won === null || page.tree.rated || page.game.moves.length < person) return false;
  page.tree.rated = true;
  const { level } = page.settings;
  page.change({ level: levelAfter(level, won, page.levels) });
  page.say(`You ${won ? "won" : "lost"} against level ${level}. Your level is ${page.settings.level} now.`);
  return true;
}
