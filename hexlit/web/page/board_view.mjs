/* Draws the board; knows nothing of the game or the server. */

import { draw, pointsText } from "./elements.mjs";
import { BAND, SIDE, geometry, linkLines } from "./geometry.mjs";
import { cellIndex, cellName } from "./rules.mjs";

const SMALL_CELLS = 13; // rows of a board from which on a tap is confirmed by another
const LARGEST_CELL = 2.2; // pixels for a unit at most, so that small boards do not fill the window

/** The board: cells that are made once, and layers above them that are drawn for each position. */
export class BoardView {
  constructor(svg, chosen) {
    this.svg = svg;
    this.shape = "";
    this.cursor = -1;
    svg.addEventListener("click", (event) => {
      const target = event.target.closest("[data-cell]");
      if (!target) return;
      const cell = Number(target.dataset.cell);
      // A finger hits a neighbour easily where cells are small: the first tap shows the cell, the second plays it.
      const shows = event.pointerType === "touch" && this.size >= SMALL_CELLS && this.cursor !== cell;
      this.moveCursor(shows ? cell : -1);
      if (!shows) chosen(cell);
    });
  }

  /** Make the empty board, unless it is there. */
  prepare(size, orientation) {
    if (this.shape === `${size} ${orientation}`) return;
    this.shape = `${size} ${orientation}`;
    this.size = size;
    this.plan = geometry(size, orientation);
    this.svg.setAttribute("viewBox", this.plan.box.map((number) => number.toFixed(1)).join(" "));
    this.svg.style.maxWidth = `${Math.round(LARGEST_CELL * this.plan.box[2])}px`;
    this.svg.dataset.orientation = orientation;
    this.svg.classList.toggle("large", size > 13);
    this.cells = this.plan.corners.map((corners, cell) =>
      draw("polygon", {
        points: pointsText(corners),
        class: "cell",
        "data-cell": cell,
        "data-name": cellName(cell, size),
      }),
    );
    this.layers = Object.fromEntries(
      ["shades", "links", "stones", "marks"].map((name) => [name, draw("g", { class: name })]),
    );
    const band =
      (kind, width) =>
      ({ colour, points }) =>
        draw("polyline", { points: pointsText(points), class: `band ${kind} ${colour}`, "stroke-width": width });
    this.svg.replaceChildren(
      ...this.plan.bands.map(band("rim", 2 * BAND + 2.2)),
      ...this.plan.bands.map(band("edge", 2 * BAND)),
      draw("g", {}, ...this.cells),
      draw(
        "g",
        { class: "labels" },
        ...this.plan.labels.map(({ text, x, y }) => draw("text", { x: x.toFixed(1), y: y.toFixed(1) }, text)),
      ),
      ...Object.values(this.layers),
    );
  }

  /**
   * Draw a position. `seen` has `cells`, `last`, `chain`, `playable`, `swapped`, and what is laid over it: `heat`
   * (Map cell -> {share, text, good}), `numbers` (Map cell -> number), `marks` (name of a cell -> mark), `rings` (cells), `regions` ([{kind, cells}]), `link` (a virtual connection,
   * {colour, lines, key} or null), and `ghosts` ([{cell, colour, number}]).
   */
  show(seen) {
    const { cells, last, chain, heat, rings, regions } = seen;
    this.seen = seen;
    this.svg.classList.toggle("playable", seen.playable);
    this.svg.dataset.turn = seen.toMove;
    this.cells.forEach((polygon, cell) => {
      polygon.classList.toggle("taken", cells[cell] !== "");
      const warm = heat.get(cell);
      const kind = !warm || cells[cell] ? "" : warm.good === null ? "share" : warm.good ? "good" : "bad";
      polygon.dataset.heat = kind;
      polygon.style.setProperty("--share", kind ? `${Math.round(12 + 78 * warm.share)}%` : "0%");
      polygon.classList.toggle("cursor", cell === this.cursor);
    });
    this.layers.shades.replaceChildren(
      ...regions.flatMap(({ kind, cells: inside }) => inside.map((cell) => this.hexagon(cell, kind))),
    );
    const stones = [];
    cells.forEach((colour, cell) => {
      if (colour) stones.push(this.circle(cell, 0.74 * SIDE, `stone ${colour}`, cell));
    });
    if (chain.length)
      stones.push(
        draw("polyline", { points: pointsText(chain.map((cell) => this.plan.centres[cell])), class: "chain" }),
      );
    if (last >= 0) {
      if (seen.numbers.size) stones.push(this.circle(last, 0.62 * SIDE, "ring"));
      else if (seen.swapped) stones.push(this.text(last, "S", `on ${cells[last]}`));
      else stones.push(this.circle(last, 0.24 * SIDE, "last"));
    }
    for (const [cell, number] of seen.numbers) stones.push(this.text(cell, String(number), `on ${cells[cell]}`));
    this.layers.stones.replaceChildren(...stones);
    this.layers.links.replaceChildren(...(seen.link ? this.link(seen.link) : []));
    const marks = [];
    for (const [cell, { text }] of heat) {
      if (!cells[cell]) marks.push(this.text(cell, text, "heat"));
    }
    for (const cell of rings) marks.push(this.circle(cell, 0.62 * SIDE, "ring"));
    for (const { cell, colour, number } of seen.ghosts) {
      marks.push(this.circle(cell, 0.66 * SIDE, `ghost ${colour}`), this.text(cell, String(number), `on ${colour}`));
    }
    for (const [name, mark] of Object.entries(seen.marks)) marks.push(this.mark(name, mark, cells));
    if (this.cursor >= 0) marks.push(this.hexagon(this.cursor, "cursor"));
    this.layers.marks.replaceChildren(...marks);
  }

  /** Move the cursor of the keyboard; -1 takes it away. */
  moveCursor(cell) {
    this.cursor = cell;
    if (this.seen) this.show(this.seen);
  }

  circle(cell, radius, kind, name) {
    const [x, y] = this.plan.centres[cell];
    return draw("circle", {
      cx: x.toFixed(1),
      cy: y.toFixed(1),
      r: radius.toFixed(1),
      class: kind,
      "data-stone": name === undefined ? undefined : cellName(name, this.size),
    });
  }

  hexagon(cell, kind) {
    return draw("polygon", { points: pointsText(this.plan.corners[cell]), class: `over ${kind}` });
  }

  /** A virtual connection: each line twice, as a rim and in the side's colour, so that it shows on every ground. */
  link({ colour, lines, key }) {
    const found = linkLines(this.plan, lines, this.size);
    const layer = (role) =>
      found.map(({ kind, points }) => draw("polyline", { points: pointsText(points), class: `link ${role} ${kind}` }));
    const mark = key >= 0 ? [this.circle(key, 0.3 * SIDE, "pivot")] : [];
    return [draw("g", { "data-side": colour }, ...layer("rim"), ...layer("line"), ...mark)];
  }

  /** A mark on a cell, see `sgfOf`, in the colour that shows on its stone. */
  mark(name, mark, cells) {
    const cell = cellIndex(name, this.size);
    const [x, y] = this.plan.centres[cell];
    const kind = `mark on ${cells[cell] || "empty"}`;
    if (mark.startsWith("LB:")) return this.text(cell, mark.slice(3, 6), kind);
    if (mark === "CR") return this.circle(cell, 0.4 * SIDE, kind);
    const far = 0.42 * SIDE;
    const shapes = {
      TR: `M${x} ${y - far}l${far} ${1.7 * far}h${-2 * far}z`,
      SQ: `M${x - far} ${y - far}h${2 * far}v${2 * far}h${-2 * far}z`,
      MA: `M${x - far} ${y - far}l${2 * far} ${2 * far}m0 ${-2 * far}l${-2 * far} ${2 * far}`,
    };
    return draw("path", { d: shapes[mark], class: kind });
  }

  text(cell, words, kind) {
    const [x, y] = this.plan.centres[cell];
    return draw("text", { x: x.toFixed(1), y: y.toFixed(1), class: kind }, words);
  }
}
