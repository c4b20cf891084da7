/* Draws the tree of variations; knows nothing of the server. */

import { draw, pointsText } from "./elements.mjs";
import { PASS, SWAP, moverAt } from "./rules.mjs";
import { layOut, pathTo } from "./variations.mjs";
import { capital, moveText } from "./words.mjs";

const STEP = 34; // between two moves in the drawing of the tree
const LANE = 32; // between two variations

/** The tree of variations: a stone with its cell for each move, variations below the line that they leave. */
export class TreeView {
  constructor(box, chosen) {
    this.box = box;
    box.addEventListener("click", (event) => {
      const node = event.target.closest("[data-node]");
      if (node) chosen(Number(node.dataset.node));
    });
  }

  show(tree, marked) {
    const places = layOut(tree);
    const at = new Map(places.map(({ id, column, row }) => [id, [20 + STEP * column, 18 + LANE * row]]));
    const width = 40 + STEP * Math.max(...places.map(({ column }) => column));
    const height = 36 + LANE * Math.max(...places.map(({ row }) => row));
    const lines = [];
    const stones = [];
    const shown = new Set(pathTo(tree, tree.at));
    for (const { id, column } of places) {
      const node = tree.nodes[id];
      const [x, y] = at.get(id);
      if (id !== 0) {
        const [fromX, fromY] = at.get(node.parent);
        const way =
          fromY === y
            ? [
                [fromX, fromY],
                [x, y],
              ]
            : [
                [fromX, fromY],
                [fromX, y - 8],
                [fromX + 8, y],
                [x, y],
              ];
        lines.push(draw("polyline", { points: pointsText(way), class: shown.has(id) ? "way shown" : "way" }));
      }
      const colour = id === 0 ? "root" : moverAt(tree.setup, column - 1);
      const name = id === 0 ? "Beginning" : `Move ${column}, ${capital(colour)} ${moveText(node.move)}`;
      const kind = `node ${colour}${id === tree.at ? " current" : ""}${marked.has(id) ? " mistake" : ""}`;
      stones.push(
        draw(
          "g",
          {
            class: kind,
            "data-node": id,
            role: "button",
            "aria-label": name,
            "aria-current": id === tree.at ? "true" : undefined,
          },
          draw("circle", { cx: x, cy: y, r: id === 0 ? 6 : 13 }),
          ...(id === 0 ? [] : [draw("text", { x, y }, { [SWAP]: "S", [PASS]: "–" }[node.move] ?? node.move)]),
        ),
      );
    }
    this.box.replaceChildren(draw("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...lines, ...stones));
    const [x, y] = at.get(tree.at);
    const { box } = this;
    if (x < box.scrollLeft + 30 || x > box.scrollLeft + box.clientWidth - 50) box.scrollLeft = x - box.clientWidth / 2;
    if (y < box.scrollTop + 20 || y > box.scrollTop + box.clientHeight - 20) box.scrollTop = y - box.clientHeight / 2;
  }
}
