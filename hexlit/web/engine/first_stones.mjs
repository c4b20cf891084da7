/* The worth of each first stone, for a network that never learned the swap rule, as hexlit/arena/first_stones.py. */

import { searched } from "./search.mjs";

const SIMULATIONS = 400; // for a first stone, and for its rotation

/** Values for Black of first stones, each the mean over a cell and its rotation. Generators, which search in steps. */
export class FirstStones {
  /** `shipped` has the values in hundredths by rows of the board; `searchOf(size)` makes a `Search`. */
  constructor(shipped, searchOf) {
    Object.assign(this, { shipped, searchOf, values: new Map(), search: null });
  }

  /** Cell -> value for Black, of all first stones that were judged. */
  found(size) {
    if (!this.values.has(size)) {
      const shipped = (this.shipped[size] ?? []).map((value, cell) => [cell, value / 100]);
      this.values.set(size, new Map(shipped));
    }
    return this.values.get(size);
  }

  *value(size, cell) {
    const found = this.found(size);
    if (!found.has(cell)) {
      const turned = size * size - 1 - cell;
      const one = yield* this.judge(size, cell, SIMULATIONS);
      const other = yield* this.judge(size, turned, SIMULATIONS);
      found.set(cell, (one + other) / 2);
      found.set(turned, (one + other) / 2);
    }
    return found.get(cell);
  }

  /** The first stone that is the nearest to even; bisection finds it where values have to be searched. */
  *fairest(size) {
    if (this.found(size).size < size * size) {
      const ordered = [];
      for (let cell = 0; cell < (size * size + 1) / 2; cell++) {
        ordered.push([cell, yield* this.judge(size, cell, 1)]);
      }
      ordered.sort((one, two) => one[1] - two[1]);
      let [low, high] = [0, ordered.length - 1];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if ((yield* this.value(size, ordered[middle][0])) < 0) low = middle;
        else high = middle;
      }
      yield* this.value(size, ordered[low][0]);
      yield* this.value(size, ordered[high][0]);
    }
    return this.byFairness(size)[0];
  }

  /** The judged first stones, the nearest to even first. */
  byFairness(size) {
    const worth = ([cell, value]) => [Math.abs(value), cell];
    const ordered = [...this.found(size)].map(worth).sort((one, two) => one[0] - two[0] || one[1] - two[1]);
    return ordered.map(([, cell]) => cell);
  }

  /** The first stone, or the swap as its answer, {move, value}; null where the game goes on as without the rule. */
  *answer({ size, swap, ply, maySwap, last }) {
    if (swap && ply === 0) {
      const cell = yield* this.fairest(size);
      return { move: cell, value: -Math.abs(yield* this.value(size, cell)) };
    }
    if (!maySwap) return null;
    const value = yield* this.value(size, last);
    return value > 0 ? { move: size * size, value } : null;
  }

  /** The value for Black by a search of its own. */
  *judge(size, cell, simulations) {
    if (this.search?.size !== size) this.search = this.searchOf(size);
    const cells = new Int8Array(size * size);
    cells[cell] = 1;
    this.search.start(cells, -1, 3); // the third ply: no swap is allowed
    return -(yield* searched(this.search, simulations, 0)).value;
  }
}
