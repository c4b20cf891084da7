/* The board and the tree, with what is laid over them. */

import { part } from "./elements.mjs";
import { heatOf, valueHeat } from "./findings.mjs";
import { SWAP, cellIndex, ghosts, numbersOf, other } from "./rules.mjs";
import { impressionsOf } from "./study_panel.mjs";

/** What is laid over the board: heat, rings, regions, a virtual connection and ghost stones. */
export function overlayOf(page) {
  const { game, position, tab, study } = page;
  const { openings, solves, review, hint } = page.analyst;
  const seen = { heat: new Map(), rings: [], regions: [], link: null, ghosts: [] };
  const cellsOf = (names) => names.map((name) => cellIndex(name, game.size)).filter((cell) => cell >= 0);
  if (tab === "openings" && !game.moves.length && openings?.size === game.size) {
    for (const [name, value] of Object.entries(openings.values))
      seen.heat.set(cellIndex(name, game.size), valueHeat(value));
  }
  if (tab === "study" && study) {
    seen.heat = heatOf(study.candidates, page.settings.heat, game.size);
    seen.rings = cellsOf(study.expected.slice(0, 1));
  }
  if (tab === "policy") seen.heat = heatOf(impressionsOf(page), "policy", game.size);
  const solved = tab === "solve" && !page.over ? solves.get(page.key) : null;
  if (solved?.winner) {
    seen.rings = cellsOf(solved.winning);
    const linked = [solved.winner, other(solved.winner)].find((colour) => solved.links?.[colour]?.strength);
    if (linked) {
      const { carrier, lines, key } = solved.links[linked];
      seen.regions.push({ kind: "carrier", cells: cellsOf(carrier) });
      seen.link = { colour: linked, lines, key: cellIndex(key, game.size) };
    }
    seen.regions.push({ kind: "must", cells: cellsOf(solved.must_play) });
  }
  const before = tab === "review" && page.reviewed > 0 ? review.entries[page.reviewed - 1] : null;
  if (before && before.cost >= 0.05) seen.rings = cellsOf([before.best]).filter((cell) => !position.cells[cell]);
  const line = page.pointed ?? hint?.line;
  if (line) {
    seen.ghosts = ghosts(game, line).filter(({ cell }) => !position.cells[cell]);
    seen.rings = [];
    for (const { cell } of seen.ghosts) seen.heat.delete(cell);
  }
  return seen;
}

export function showBoard(page) {
  const { position, settings } = page;
  page.board.prepare(page.tree.size, settings.orientation || (innerWidth < 600 ? "upright" : "flat"));
  part("orientation").value = part("board").dataset.orientation;
  const swapped = page.game.moves[page.game.moves.length - 1] === SWAP;
  const marks = page.node.marks ?? {};
  const numbers = settings.numbers ? numbersOf(page.game) : new Map();
  page.board.show({ ...position, ...overlayOf(page), marks, numbers, swapped, playable: !page.over && !page.engine });
  part("board").setAttribute(
    "aria-label",
    `Hex board, ${page.tree.size} by ${page.tree.size}. ${part("status").textContent}`,
  );
}

export function showTree(page) {
  const marked = new Set(page.analyst.mistakes.map(({ ply }) => page.analyst.review.line[ply + 1]));
  page.treeView.show(page.tree, marked);
}
