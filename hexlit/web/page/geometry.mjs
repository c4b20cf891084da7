/* The geometry of the board: where its cells, edges, labels and links lie. */

import { BLACK, WHITE, cellIndex } from "./rules.mjs";

export const SIDE = 20; // of a hexagon
const WIDE = SIDE * Math.sqrt(3);
export const BAND = 8; // of the coloured edges
export const TURNS = { flat: 0, diamond: -Math.PI / 6, upright: Math.PI / 3 };
const TIPS = { top: 0, right: 1, bottom: 3, left: 4 }; // the corner of a cell that points to an edge

/**
 * The drawing of a virtual connection: [{kind, points}] from its lines [[cell, cell or edge, kind]], the ways of a template
 * first, so that what is sure lies above them.
 */
export function linkLines(plan, lines, size) {
  const order = ["way", "bridge", "stones"];
  const drawn = lines.map(([start, end, kind]) => {
    const cell = cellIndex(start, size);
    const last = end in TIPS ? plan.corners[cell][TIPS[end]] : plan.centres[cellIndex(end, size)];
    return { kind, points: [plan.centres[cell], last] };
  });
  return drawn.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/**
 * The picture of a board: box (x, y, width, height), centres and corners of the cells, bands along the edges
 * [{colour, points}], and labels [{text, x, y}]. The rhombus has its rows level, or is turned as `TURNS` says.
 */
export function geometry(size, orientation) {
  const [cos, sin] = [Math.cos(TURNS[orientation]), Math.sin(TURNS[orientation])];
  const turned = ([x, y]) => [x * cos - y * sin, x * sin + y * cos];
  const plain = (row, column) => [WIDE * (column + row / 2), 1.5 * SIDE * row];
  const steps = [
    [0, -1],
    [0.5, -0.5],
    [0.5, 0.5],
    [0, 1],
    [-0.5, 0.5],
    [-0.5, -0.5],
  ]; // clockwise from the top
  const corner = (row, column, place) => {
    const [x, y] = plain(row, column);
    return turned([x + steps[place][0] * WIDE, y + steps[place][1] * SIDE]);
  };
  const middle = (one, two) => [(one[0] + two[0]) / 2, (one[1] + two[1]) / 2];
  const last = size - 1;
  const each = [...Array(size).keys()];
  const centres = [];
  const corners = [];
  for (const row of each) {
    for (const column of each) {
      centres.push(turned(plain(row, column)));
      corners.push(steps.map((_, place) => corner(row, column, place)));
    }
  }
  const right = middle(corner(0, last, 0), corner(0, last, 1)); // the colours meet in the sharp corners
  const left = middle(corner(last, 0, 3), corner(last, 0, 4));
  const bands = [
    { colour: WHITE, points: [...each.flatMap((row) => [corner(row, 0, 5), corner(row, 0, 4)]), left] },
    { colour: WHITE, points: [right, ...each.flatMap((row) => [corner(row, last, 1), corner(row, last, 2)])] },
    { colour: BLACK, points: [...each.flatMap((column) => [corner(0, column, 5), corner(0, column, 0)]), right] },
    {
      colour: BLACK,
      points: [
        left,
        ...each.flatMap((column) => [corner(last, column, 3 + 1), corner(last, column, 3)]).slice(1),
        corner(last, last, 2),
      ],
    },
  ];
  const labels = each.flatMap((number) => {
    const [top, side] = [turned(plain(-1.02, number)), turned(plain(number, -1.02))];
    return [
      { text: String.fromCharCode(97 + number), x: top[0], y: top[1] },
      { text: String(number + 1), x: side[0], y: side[1] },
    ];
  });
  const points = [...corners.flat(), ...labels.map(({ x, y }) => [x, y])];
  const low = [0, 1].map((axis) => Math.min(...points.map((point) => point[axis])) - 1.2 * BAND);
  const high = [0, 1].map((axis) => Math.max(...points.map((point) => point[axis])) + 1.2 * BAND);
  return { centres, corners, bands, labels, box: [low[0], low[1], high[0] - low[0], high[1] - low[1]] };
}
