/* Comments, marks, and stones that are set up. */

import { part } from "./elements.mjs";
import { HUMAN } from "./game.mjs";
import { BLACK, WHITE, cellName, other } from "./rules.mjs";
import { newTree } from "./variations.mjs";

/** The comment of the position, unless it is being written. */
export function showNotes(page) {
  const box = part("comment");
  if (document.activeElement === box) return;
  box.value = page.node.comment ?? "";
  box.readOnly = Boolean(page.recorded);
  box.parentElement.hidden = Boolean(page.recorded) && !box.value;
}

/** Keep the comment that was written. */
export function writeComment(page) {
  page.node.comment = part("comment").value || undefined;
  page.refresh();
}

/** A click on a cell with a tool: the names of marks in SGF, a colour, or "erase". */
export function useTool(page, cell, tool) {
  if (tool === BLACK || tool === WHITE || tool === "erase") return setUp(page, cell, tool === "erase" ? "" : tool);
  const marks = { ...page.node.marks };
  const mark = tool === "LB" ? `LB:${nextLetter(marks)}` : tool;
  if (marks[cell]?.slice(0, 2) === tool) delete marks[cell];
  else marks[cell] = mark;
  page.node.marks = marks;
  return page.refresh();
}

/** The first letter that no label has. */
function nextLetter(marks) {
  const used = new Set(Object.values(marks));
  return [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((letter) => !used.has(`LB:${letter}`)) ?? "?";
}

/** A game that begins with the stones of this position, and one changed. */
function setUp(page, cell, colour) {
  const { cells, toMove } = page.position;
  const changed = cells.map((stone, at) => (cellName(at, page.tree.size) === cell ? colour : stone));
  beginFrom(page, changed, toMove || BLACK);
}

/** A game that begins with this position, and the other side. */
export function otherSide(page) {
  const { cells, toMove } = page.position;
  if (toMove) beginFrom(page, cells, other(toMove));
}

function beginFrom(page, cells, first) {
  const { marks, comment } = page.node;
  const { size } = page.tree;
  const named = (colour) => [...cells.keys()].filter((at) => cells[at] === colour).map((at) => cellName(at, size));
  const tree = newTree(size, false, { black: named(BLACK), white: named(WHITE), first });
  Object.assign(tree.nodes[0], { marks, comment });
  const { names } = page;
  page.begin(tree, { black: HUMAN, white: HUMAN });
  page.names = names;
}
