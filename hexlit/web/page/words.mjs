/* Words and numbers for people. */

import { SWAP, other } from "./rules.mjs";

export const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** A move for people. */
export const moveText = (move) => (move === SWAP ? "swap" : move); // a pass is its own word

/** The winning chance, 0 to 1, that a value in [-1, 1] stands for. */
export const chance = (value) => Math.min(1, Math.max(0, (1 + value) / 2));

/** A share as a percentage: 0.374 is 37. */
export const percent = (share) => String(Math.round(100 * share));

/** A count in few characters: 950, 12.3k, 1.20M. */
export function short(count) {
  if (count < 10000) return String(Math.round(count));
  return count < 999950 ? `${(count / 1000).toFixed(count < 99950 ? 1 : 0)}k` : `${(count / 1e6).toFixed(2)}M`;
}

/** Moves as one line with their numbers; `ply` moves were played before. */
export const lineText = (line, ply) => line.map((move, step) => `${ply + step + 1}.\u00a0${moveText(move)}`).join("  ");

/** The line above the board: who is to move, or how the game ended. `names` are those of programs that play. */
export function statusText({ toMove, winner, end, names, busy, seconds, visits, paused, ply }) {
  const who = (colour) => capital(colour) + (names[colour] ? ` (${names[colour]})` : "");
  if (winner) return `${who(winner)} wins after ${ply} moves`;
  if (end)
    return `${who(end.winner)} wins: ${end.how ? `${capital(other(end.winner))} ${end.how}` : "so the record says"}`;
  const mover = `${capital(toMove)} to move`;
  if (paused) return `${mover} · paused`;
  const spent = (seconds ? `, ${seconds} s` : "") + (visits ? `, ${short(visits)} visits` : "");
  return busy ? `${mover} · ${names[toMove]} thinks${spent}` : mover;
}
