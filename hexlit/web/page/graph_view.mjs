/* Draws the graph of a review. */

import { draw, pointsText } from "./elements.mjs";
import { chance } from "./words.mjs";

/** Black's winning chance by move, with the mistakes; a click chooses a position. */
export class GraphView {
  constructor(svg, chosen) {
    this.svg = svg;
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * 400;
      chosen(Math.round(Math.min(1, Math.max(0, (x - 30) / 360)) * this.plies));
    });
  }

  /** `reviews` by ply (holes where nothing is known yet), `plies` moves in all, `ply` the current one or -1. */
  show(reviews, plies, mistakes, ply) {
    this.plies = plies;
    const x = (at) => 30 + (360 * at) / Math.max(1, plies);
    const y = (value) => 8 + 112 * (1 - chance(value));
    const known = reviews.filter(Boolean).map((one) => [x(one.ply), y(one.value)]);
    const drawn = [
      draw("rect", { x: 30, y: 8, width: 360, height: 112, class: "paper" }),
      ...[0, 50, 100].flatMap((share) => {
        const level = y(share / 50 - 1);
        return [
          draw("line", { x1: 30, x2: 390, y1: level, y2: level, class: share === 50 ? "level half" : "level" }),
          draw("text", { x: 25, y: level, class: "tick" }, `${share}`),
        ];
      }),
    ];
    if (known.length) {
      const [first, last] = [known[0], known[known.length - 1]];
      drawn.push(draw("polygon", { points: pointsText([[first[0], 120], ...known, [last[0], 120]]), class: "area" }));
      drawn.push(draw("polyline", { points: pointsText(known), class: "curve" }));
    }
    for (const { ply: at, cost } of mistakes) {
      if (reviews[at])
        drawn.push(draw("circle", { cx: x(at), cy: y(reviews[at].value), r: cost >= 0.2 ? 4.5 : 3.5, class: "dot" }));
    }
    if (ply >= 0) drawn.push(draw("line", { x1: x(ply), x2: x(ply), y1: 8, y2: 120, class: "here" }));
    drawn.push(
      draw("text", { x: 30, y: 132, class: "tick start" }, "0"),
      draw("text", { x: 390, y: 132, class: "tick" }, `${plies} moves`),
    );
    this.svg.setAttribute("viewBox", "0 0 400 138");
    this.svg.replaceChildren(...drawn);
  }
}
