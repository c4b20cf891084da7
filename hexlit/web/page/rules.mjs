/* The rules: cells, stones and who has won. Pure functions. */

export const BLACK = "black";
export const WHITE = "white";
export const SWAP = "swap-pieces";
export const SMALLEST = 2;
export const LARGEST = 19;

const AROUND = [
  [-1, 0],
  [1, 0],
  [0, -1],
  [0, 1],
  [-1, 1],
  [1, -1],
]; // rows down, columns right

export const other = (colour) => (colour === BLACK ? WHITE : BLACK);

/** The name of a cell such as `a1`: a letter for the column, a number for the row. */
export function cellName(cell, size) {
  return String.fromCharCode(97 + (cell % size)) + (Math.floor(cell / size) + 1);
}

/** The index of a cell, row * size + column, or -1 where the board has no such cell. */
export function cellIndex(name, size) {
  const found = /^([a-z])([1-9][0-9]?)$/.exec(name);
  if (!found) return -1;
  const column = found[1].charCodeAt(0) - 97;
  const row = Number(found[2]) - 1;
  return column < size && row < size ? row * size + column : -1;
}

/** The cell that a stone moves to when its colours are swapped. */
export const mirrored = (cell, size) => (cell % size) * size + Math.floor(cell / size);

/** The cells beside a cell, up to six. */
export function neighbours(cell, size) {
  const row = Math.floor(cell / size);
  const column = cell % size;
  const found = [];
  for (const [down, right] of AROUND) {
    const [r, c] = [row + down, column + right];
    if (r >= 0 && r < size && c >= 0 && c < size) found.push(r * size + c);
  }
  return found;
}

/** A shortest chain of stones of one colour from edge to edge, in its order; empty where there is none. */
export function chainOf(cells, size, colour) {
  const along = (cell) => (colour === BLACK ? Math.floor(cell / size) : cell % size);
  const before = new Map();
  for (let cell = 0; cell < size * size; cell++) {
    if (cells[cell] === colour && along(cell) === 0) before.set(cell, -1);
  }
  for (const cell of before.keys()) {
    // a Map is walked in the order of insertion, and may grow meanwhile
    if (along(cell) === size - 1) {
      const chain = [];
      for (let at = cell; at !== -1; at = before.get(at)) chain.unshift(at);
      return chain;
    }
    for (const beside of neighbours(cell, size)) {
      if (cells[beside] === colour && !before.has(beside)) before.set(beside, cell);
    }
  }
  return [];
}

/**
 * The position after the moves of `game` ({size, swap, moves}): cells ("black", "white" or "" each), toMove ("" at the
 * end), winner, chain, maySwap, and the cell of the last move (-1 on the empty board). Throws an Error with one line
 * for people at the first move that is not legal.
 */
export function replay({ size, swap, moves }) {
  const cells = new Array(size * size).fill("");
  let [winner, chain, last] = ["", [], -1];
  moves.forEach((move, ply) => {
    const colour = ply % 2 ? WHITE : BLACK;
    if (winner) throw new Error(`Move ${ply + 1}, ${move}: the game is over, ${winner} has won.`);
    if (move === SWAP) {
      if (!swap) throw new Error(`Move ${ply + 1}, swap: this game is played without the swap rule.`);
      if (ply !== 1) throw new Error(`Move ${ply + 1}, swap: only White's first move may be a swap.`);
      cells[last] = "";
      last = mirrored(last, size);
    } else {
      last = cellIndex(move, size);
      if (last < 0)
        throw new Error(`Move ${ply + 1}, ${move}: the board has the cells a1 to ${cellName(size * size - 1, size)}.`);
      if (cells[last]) throw new Error(`Move ${ply + 1}, ${move}: the cell is taken.`);
    }
    cells[last] = colour;
    if (ply >= 2 * size - 2 || size === SMALLEST) {
      chain = chainOf(cells, size, colour);
      if (chain.length) winner = colour;
    }
  });
  const toMove = winner ? "" : moves.length % 2 ? WHITE : BLACK;
  return { cells, toMove, winner, chain, maySwap: swap && moves.length === 1, last };
}

/** Stones of an expected line that do not stand yet: [{cell, colour, number}], for the position after `game`. */
export function ghosts(game, line) {
  const found = [];
  let ply = game.moves.length;
  for (const move of line) {
    const colour = ply % 2 ? WHITE : BLACK;
    const cell =
      move === SWAP && ply === 1
        ? mirrored(cellIndex(game.moves[0] ?? line[0], game.size), game.size)
        : cellIndex(move, game.size);
    if (cell >= 0) found.push({ cell, colour, number: ply - game.moves.length + 1 });
    ply += 1;
  }
  return found;
}
