/* Puzzles: positions in which exactly one move wins, to be solved on the board. */

import { part } from "./elements.mjs";
import { HUMAN } from "./game.mjs";
import { readText } from "./reading.mjs";
import { PASS } from "./rules.mjs";
import { stored } from "./storage.mjs";
import { newTree } from "./variations.mjs";
import { capital } from "./words.mjs";

const SOLVED = "hexlit-puzzles-1"; // numbers of those that were solved

/** The puzzles that come along: in a page of one file, else from the server. */
async function loadPuzzles() {
  const embedded = part("puzzles");
  const text = embedded ? JSON.parse(embedded.textContent) : await (await fetch("puzzles.sgf")).text();
  return readText(text, 0);
}

/** Show the first puzzle that was not solved yet, after the present one. */
export async function nextPuzzle(page) {
  page.puzzles ??= await loadPuzzles();
  const { length } = page.puzzles;
  const solved = new Set(stored.read("localStorage", SOLVED) ?? []);
  const start = page.puzzle ? page.puzzle.number + 1 : 0;
  const order = [...page.puzzles.keys()].map((step) => (start + step) % length);
  const number = order.find((one) => !solved.has(one)) ?? order[0];
  const { size, setup, nodes } = page.puzzles[number];
  page.begin(newTree(size, false, setup), { black: HUMAN, white: HUMAN });
  page.puzzle = { number, nodes, side: setup.first };
  page.switchStudy(false);
  page.say(`Puzzle ${number + 1} of ${length}: ${capital(setup.first)} to move and win. ${nodes[0].comment}.`);
}

/** What a move in the position of a puzzle is worth; true where it was one. */
export function tryPuzzle(page, move) {
  const { puzzle } = page;
  if (!puzzle || page.tree.at !== 0 || move === PASS || !page.add(move)) return false;
  const id = puzzle.nodes.findIndex((node) => node.parent === 0 && node.move === move);
  const known = puzzle.nodes[id];
  if (known?.good) {
    const solved = new Set(stored.read("localStorage", SOLVED) ?? []).add(puzzle.number);
    stored.write("localStorage", SOLVED, [...solved]);
    page.say(`Right: ${move} wins. Puzzles shows the next one.`);
  } else if (known) {
    refute(page, move, puzzle.nodes.find((node) => node.parent === id)?.move);
  } else {
    page.say(`${move} loses …`);
    const alone = page.connection.alone && page.hello.players.at(-1).name;
    const asked = alone ? { do: "move", player: alone } : { do: "solve" };
    page.connection.send({ ...asked, position: page.game }, (answer) => {
      if (page.puzzle === puzzle) refute(page, move, answer.move ?? answer.winning?.[0]);
    });
  }
  return true;
}

function refute(page, move, reply) {
  if (reply) page.add(reply);
  page.say(`${move} loses${reply ? `: ${reply} answers it` : ""}. Undo, and try again.`);
}
