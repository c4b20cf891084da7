/* What a search and a review have found, as shades and lists. */

import { cellIndex } from "./rules.mjs";
import { chance, percent } from "./words.mjs";

/**
 * What a search says of the cells: Map cell -> {share, text, good}. `share` is how strong the shade is, 0 to 1; `good`
 * is null for a share, else whether the value is one for the player to move.
 */
export function heatOf(candidates, kind, size) {
  const heat = new Map();
  if (kind === "none") return heat;
  const key = { visits: "visits", policy: "prior", value: "value" }[kind];
  const known = candidates.filter((one) => cellIndex(one.move, size) >= 0 && Number.isFinite(one[key]));
  if (kind === "value") {
    for (const one of known) heat.set(cellIndex(one.move, size), valueHeat(one.value));
    return heat;
  }
  const all = kind === "visits" ? candidates.reduce((sum, one) => sum + one.visits, 0) : 1;
  const most = Math.max(...known.map((one) => one[key]), 1e-9);
  for (const one of known) {
    const share = one[key] / Math.max(all, 1e-9);
    if (share >= 0.005)
      heat.set(cellIndex(one.move, size), { share: one[key] / most, text: percent(share), good: null });
  }
  return heat;
}

/** The shade of one value in [-1, 1], with the winning chance as its text. */
export const valueHeat = (value) => ({
  share: Math.min(1, Math.abs(value)),
  text: percent(chance(value)),
  good: value >= 0,
});

/** Mistakes of a review: [{ply, cost, best}], those that cost most first. `least` is a share of the winning chance. */
export function mistakesOf(reviews, moves, least = 0.05) {
  const found = [];
  for (const one of reviews) {
    if (!one || one.ply >= moves.length || !(one.cost >= least) || one.best === moves[one.ply]) continue;
    found.push({ ply: one.ply, cost: one.cost, best: one.best, move: moves[one.ply] });
  }
  return found.sort((a, b) => b.cost - a.cost || a.ply - b.ply);
}
