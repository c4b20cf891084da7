/* The rules: cells, stones and who has won. Pure functions. */

export const BLACK = "black";
export const WHITE = "white";
export const SWAP = "swap-pieces";
export const PASS = "pass";
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

/** Whose move comes after `ply` moves; `setup` are the stones before the first one, or null. */
export function moverAt(setup, ply) {
  const first = setup?.first ?? BLACK;
  return ply % 2 ? other(first) : first;
}

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
 * The position after the moves of `game` ({size, swap, moves, setup}), where `setup` is {black, white, first} (cells and
 * the colour that begins) or null: cells ("black", "white" or "" each), toMove ("" at the
 * end), winner, chain, maySwap, and the cell of the last move (-1 on the empty board). Throws an Error with one line
 * for people at the first move that is not legal.
 */
export function replay({ size, swap, moves, setup = null }) {
  const cells = new Array(size * size).fill("");
  let [winner, chain, last] = ["", [], -1];
  const connect = (colour) => {
    chain = chainOf(cells, size, colour);
    if (chain.length) winner = colour;
  };
  for (const colour of setup ? [BLACK, WHITE] : []) {
    for (const name of setup[colour]) {
      if (cellIndex(name, size) < 0)
        throw new Error(`${name}: the board has the cells a1 to ${cellName(size * size - 1, size)}.`);
      cells[cellIndex(name, size)] = colour;
    }
    connect(colour);
  }
  moves.forEach((move, ply) => {
    const colour = moverAt(setup, ply);
    if (winner) throw new Error(`Move ${ply + 1}, ${move}: the game is over, ${winner} has won.`);
    if (move === PASS) {
      last = -1;
      return;
    }
    if (move === SWAP) {
      if (!swap) throw new Error(`Move ${ply + 1}, swap: this game is played without the swap rule.`);
      if (ply !== 1 || last < 0 || setup)
        throw new Error(`Move ${ply + 1}, swap: only White's first move may be a swap.`);
      cells[last] = "";
      last = mirrored(last, size);
    } else {
      last = cellIndex(move, size);
      if (last < 0)
        throw new Error(`Move ${ply + 1}, ${move}: the board has the cells a1 to ${cellName(size * size - 1, size)}.`);
      if (cells[last]) throw new Error(`Move ${ply + 1}, ${move}: the cell is taken.`);
    }
    cells[last] = colour;
    if (setup || ply >= 2 * size - 2 || size === SMALLEST) connect(colour);
  });
  const toMove = winner ? "" : moverAt(setup, moves.length);
  return { cells, toMove, winner, chain, maySwap: swap && !setup && moves.length === 1 && last >= 0, last };
}

/**
 * The game for a server, which knows moves in turns alone: stones that are set up and passes become moves in some order.
 * Throws an Error with one line for people where no order of moves gives the position.
 */
export function inTurns(game) {
  const { size, swap, moves, setup } = game;
  if (!setup && !moves.includes(PASS)) return { size, swap, moves };
  const { cells, toMove } = replay(game);
  const names = (colour) =>
    [...cells.keys()].filter((cell) => cells[cell] === colour).map((cell) => cellName(cell, size));
  const [black, white] = [names(BLACK), names(WHITE)];
  if (black.length - white.length !== (toMove === WHITE ? 1 : 0)) {
    throw new Error("Only positions with as many stones of either side as moves in turn give are searched.");
  }
  return { size, swap: false, moves: black.flatMap((cell, number) => [cell, ...white.slice(number, number + 1)]) };
}

/** The numbers of the moves on the stones that stand: Map cell -> number. */
export function numbersOf({ size, moves }) {
  const numbers = new Map();
  moves.forEach((move, ply) => {
    if (move === SWAP) {
      numbers.clear();
      numbers.set(mirrored(cellIndex(moves[0], size), size), ply + 1);
    } else if (move !== PASS) numbers.set(cellIndex(move, size), ply + 1);
  });
  return numbers;
}

/** Stones of an expected line that do not stand yet: [{cell, colour, number}], for the position after `game`. */
export function ghosts(game, line) {
  const found = [];
  let ply = game.moves.length;
  for (const move of line) {
    const colour = moverAt(game.setup, ply);
    const cell =
      move === SWAP && ply === 1
        ? mirrored(cellIndex(game.moves[0] ?? line[0], game.size), game.size)
        : cellIndex(move, game.size);
    if (cell >= 0) found.push({ cell, colour, number: ply - game.moves.length + 1 });
    ply += 1;
  }
  return found;
}
