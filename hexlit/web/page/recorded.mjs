/* A recorded game on a page without a server. */

import { parseFragment } from "./address.mjs";
import { part } from "./elements.mjs";
import { BLACK, WHITE } from "./rules.mjs";
import { findNode, goTo, lineThrough, movesTo, nextOf, treeFrom } from "./variations.mjs";
import { capital } from "./words.mjs";

const FAR = 40; // pixels that a finger moves to step through a recorded game

/** Open the recorded game at the position of the address if the game has it, else at the one it was written for. */
export function openRecorded(page) {
  const { size, swap, ply, names, about, end, review, version } = page.recorded;
  page.tree = treeFrom(page.recorded);
  page.fresh = false;
  page.names = names;
  const line = lineThrough(page.tree, 0);
  if (end) page.tree.nodes[line.at(-1)].end = end;
  let node = line[ply];
  try {
    const game = parseFragment(location.hash);
    const found = game && game.size === size && game.swap === swap ? findNode(page.tree, game.moves) : -1;
    if (found >= 0) node = found;
  } catch {
    // The address ends with something else than a game.
  }
  goTo(page.tree, node);
  page.tab = "review";
  if (review) {
    const entries = [];
    for (const one of review) entries[one.ply] = one;
    page.analyst.review = { line, moves: movesTo(page.tree, line.at(-1)), entries, done: true };
  }
  for (const one of document.querySelectorAll("[data-needs=server]")) one.hidden = true;
  part("study-part").hidden = !review;
  for (const colour of [BLACK, WHITE]) {
    part(`name-${colour}`).hidden = false;
    part(`name-${colour}`).textContent = names[colour] || capital(colour);
  }
  part("about").hidden = false;
  part("about").textContent = about;
  part("connection").textContent = `hexlit ${version}`;
}

/** A finger that moves over the board from side to side steps through the game. */
export function listenToFingers(page) {
  let start = null;
  part("board").addEventListener(
    "touchstart",
    ({ touches }) => {
      start = touches.length === 1 ? [touches[0].clientX, touches[0].clientY] : null;
    },
    { passive: true },
  );
  part("board").addEventListener("touchend", ({ changedTouches }) => {
    if (!start) return;
    const [right, down] = [changedTouches[0].clientX - start[0], changedTouches[0].clientY - start[1]];
    start = null;
    if (Math.abs(right) < FAR || Math.abs(right) < 2 * Math.abs(down)) return;
    page.visit(right < 0 ? nextOf(page.tree, page.tree.at) : page.node.parent);
  });
}
