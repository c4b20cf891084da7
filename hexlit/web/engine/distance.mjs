/* Two-distance (van Rijswijck 2002), as hexlit/hex/distance.py computes it: how many moves a player still needs. */

import { adjacent } from "./board.mjs";

export const FAR = 1000;

/** The groups of a colour: the number of each stone's group; of each group its liberties and the edges it touches. */
function groupsOf(cells, size, colour, touches) {
  const number = new Int16Array(cells.length).fill(-1);
  const groups = [];
  cells.forEach((stone, first) => {
    if (stone !== colour || number[first] >= 0) return;
    const group = { liberties: new Set(), touches: 0 };
    const waiting = [first];
    number[first] = groups.length;
    while (waiting.length) {
      const cell = waiting.pop();
      group.touches |= touches(cell);
      for (const other of adjacent(cell, size)) {
        if (!cells[other]) group.liberties.add(other);
        else if (cells[other] === colour && number[other] < 0) {
          number[other] = groups.length;
          waiting.push(other);
        }
      }
    }
    groups.push(group);
  });
  return { number, groups };
}

/** The potential of `colour` in an undecided position: the least sum of an empty cell's distances to both its edges. */
export function potential(cells, size, colour) {
  const along = (cell) => (colour > 0 ? Math.floor(cell / size) : cell % size);
  const touches = (cell) => (along(cell) === 0 ? 1 : 0) | (along(cell) === size - 1 ? 2 : 0);
  const { number, groups } = groupsOf(cells, size, colour, touches);
  const own = (cell) => adjacent(cell, size).filter((other) => number[other] >= 0);
  const sums = new Int16Array(cells.length);
  for (const edge of [1, 2]) {
    const distance = new Int16Array(cells.length).fill(FAR);
    const met = new Map(); // of a cell or a group: the cells that lead to it
    const queue = [];
    cells.forEach((stone, cell) => {
      if (stone) return;
      const reach = own(cell).reduce((edges, other) => edges | groups[number[other]].touches, touches(cell));
      if (!(reach & edge)) return;
      distance[cell] = 1;
      queue.push(cell);
    });
    for (const cell of queue) {
      const around = new Set(adjacent(cell, size).filter((other) => !cells[other]));
      for (const group of new Set(own(cell).map((other) => groups[number[other]]))) {
        for (const liberty of group.liberties) around.add(liberty);
      }
      for (const other of around) {
        if (other === cell || distance[other] !== FAR) continue;
        met.set(other, (met.get(other) ?? 0) + 1);
        if (met.get(other) < 2) continue; // the opponent takes the best way
        distance[other] = distance[cell] + 1;
        queue.push(other);
      }
    }
    distance.forEach((steps, cell) => {
      sums[cell] += cells[cell] ? FAR : steps;
    });
  }
  return sums.reduce((least, sum) => Math.min(least, sum), FAR);
}
