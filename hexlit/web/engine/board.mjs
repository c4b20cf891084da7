/* Boards as the search has them: a number for each cell, 1 for black, -1 for white, 0 for empty. */

import { mirrored, neighbours } from "../page/rules.mjs";

export const PLANES = 5; // hexlit/hex/encoding.py tells what they mean

const near = new Map();

/** The cells beside a cell. */
export function adjacent(cell, size) {
  if (!near.has(size))
    near.set(
      size,
      [...Array(size * size).keys()].map((one) => neighbours(one, size)),
    );
  return near.get(size)[cell];
}

/** Whether the stone on `cell` connects its colour's edges. */
export function connects(cells, size, cell) {
  const colour = cells[cell];
  const along = (one) => (colour > 0 ? Math.floor(one / size) : one % size);
  const [seen, waiting] = [new Uint8Array(size * size), [cell]];
  let [first, last] = [false, false];
  seen[cell] = 1;
  while (waiting.length) {
    const at = waiting.pop();
    first ||= along(at) === 0;
    last ||= along(at) === size - 1;
    if (first && last) return true;
    for (const one of adjacent(at, size)) {
      if (cells[one] === colour && !seen[one]) {
        seen[one] = 1;
        waiting.push(one);
      }
    }
  }
  return false;
}

/** The planes of a position in the mover's frame, as hexlit/hex/encoding.py writes them. */
export function planesOf(cells, size, toMove, maySwap) {
  const area = size * size;
  const planes = new Int8Array(PLANES * area);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const cell = row * size + column;
      const stone = cells[toMove > 0 ? cell : mirrored(cell, size)];
      planes[cell] = stone === toMove;
      planes[area + cell] = stone === -toMove;
      planes[2 * area + cell] = row === 0 || row === size - 1;
      planes[3 * area + cell] = column === 0 || column === size - 1;
      planes[4 * area + cell] = maySwap;
    }
  }
  return planes;
}

/** Put the move `action` (of the board, or the swap) of `colour` on `cells`; returns the cell of the stone. */
export function place(cells, size, action, colour) {
  let cell = action;
  if (action === size * size) {
    const stone = cells.indexOf(-colour);
    cells[stone] = 0;
    cell = mirrored(stone, size);
  }
  cells[cell] = colour;
  return cell;
}
