/* The keys. */

import { button, part } from "./elements.mjs";
import { cellName } from "./rules.mjs";
import { beside, nextOf } from "./variations.mjs";

const NEED_SERVER = new Set(["study", "analyse", "heat", "hint", "new", "open", "save", "pause", "undo", "redo"]);

/** Keys, what they do, and what the list of keys says. */
const KEYS = [
  [
    ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"],
    "",
    "← ↑ ↓ →",
    "on the board: over its cells; in the tree: over its moves",
  ],
  [["Enter", " "], "", "Enter", "play on the cell"],
  [["u"], "undo", "u", "undo, back to your turn"],
  [["r"], "redo", "r", "redo"],
  [["PageUp"], "back", "Page ↑", "one move back"],
  [["PageDown"], "forward", "Page ↓", "one move forward"],
  [["Home"], "first", "Home", "to the beginning"],
  [["End"], "last", "End", "to the end"],
  [["x"], "swap", "x", "swap, when it is allowed"],
  [["p"], "pause", "p", "pause and continue"],
  [["s"], "study", "s", "study this position, on and off"],
  [["h"], "heat", "h", "next heat map: visits, policy, value, off"],
  [["w"], "hint", "w", "what now? the best move and its line"],
  [["a"], "analyse", "a", "analyse: show and hide the searches"],
  [["n"], "new", "n", "new game"],
  [["o"], "open", "o", "open a game"],
  [["e"], "save", "e", "save the game"],
  [["b"], "turn", "b", "turn the board"],
  [["?"], "help", "?", "these keys"],
];

/** The keys of the page, as in `KEYS`. */
export function keysOf(page) {
  const [arrows, ...others] = KEYS.filter(([, what]) => !page.recorded || !NEED_SERVER.has(what));
  const steps = [
    [["ArrowLeft"], "back", "←", "one move back"],
    [["ArrowRight"], "forward", "→", "one move forward"],
  ];
  const cells = [arrows[0], "", "↑ ↓", "on the board: a cursor, which all arrows move; in the tree: variations"];
  return [...steps, cells, ...others];
}

/** A key was pressed; `actions` are those of the buttons. */
export function press(page, event, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input:not([type=checkbox], [type=radio]), select, textarea")) return;
  const onBoard = event.target.closest("#board") !== null;
  const steps = page.board.cursor < 0 && /^Arrow(Left|Right)$/.test(event.key);
  if (onBoard && !steps && walk(page, event)) return;
  if (event.target.closest("#tree") && climb(page, event)) return;
  const found = keysOf(page).find(([keys, what]) => what && keys.includes(event.key));
  if (!found) return;
  event.preventDefault();
  const control = button(found[1]);
  if (!control || (!control.disabled && !control.hidden)) actions[found[1]](control);
}

/** The arrow keys in the tree of variations; returns whether it was one. */
function climb(page, event) {
  const { at } = page.tree;
  const target = {
    ArrowLeft: () => page.node.parent,
    ArrowRight: () => nextOf(page.tree, at),
    ArrowUp: () => beside(page.tree, at, -1),
    ArrowDown: () => beside(page.tree, at, 1),
  }[event.key];
  if (!target) return false;
  event.preventDefault();
  page.visit(target());
  return true;
}

/** The keys of the board; returns whether it was one. */
function walk(page, event) {
  const { size } = page.tree;
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const at = page.board.cursor;
  if (step) {
    const middle = Math.floor(size / 2);
    const [row, column] = at < 0 ? [middle, middle] : [Math.floor(at / size) + step[0], (at % size) + step[1]];
    const inside = (number) => Math.min(size - 1, Math.max(0, number));
    const cell = inside(row) * size + inside(column);
    page.board.moveCursor(cell);
    part("announce").textContent = `${cellName(cell, size)}, ${page.position.cells[cell] || "empty"}`;
  } else if ((event.key === "Enter" || event.key === " ") && at >= 0) {
    page.choose(at);
    part("announce").textContent = `${cellName(at, size)}, ${page.position.cells[at] || "empty"}`;
  } else {
    return false;
  }
  event.preventDefault();
  return true;
}
