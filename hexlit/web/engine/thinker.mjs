/* Answers what the page asks of a network, in the messages of hexlit/web/messages.py.
 *
 * Each answer is a generator: it yields undefined after each step of some milliseconds, and answers in between, so its
 * caller can stop it at any time. A network that was not trained with the swap rule is told of it from outside: it
 * opens with the fairest stone, and swaps where the position is bad for the mover (hexlit/arena/thinker.py).
 */

import { BLACK, SWAP, WHITE, cellName, replay } from "../page/rules.mjs";
import { planesOf } from "./board.mjs";
import { Network } from "./network.mjs";
import { Search } from "./search.mjs";

const INTERVAL = 250; // milliseconds between two reports of a study
const MOST_SHOWN = 40; // candidates in a report
const MOST_EXPECTED = 16; // moves of a line
const COLOURS = { [BLACK]: 1, [WHITE]: -1, "": 0 };

/** The answers of one network, for one page. */
export class Thinker {
  /** `exported` is {config, tensors, data, swap, levels}, see `hexlit.web.network_page`. */
  constructor(exported) {
    this.network = new Network(exported);
    this.knowsSwap = exported.swap;
    this.levels = exported.levels;
    this.searches = new Map(); // those of moves and those of studies do not help one another
    this.openings = new Map();
  }

  /** The answers to a request, as a generator. */
  answers(request) {
    const kinds = { move: this.move, study: this.study, look: this.look, review: this.review, ready: this.ready };
    return (kinds[request.do] ?? this.mapOfOpenings).call(this, request, boardOf(request.position));
  }

  *ready() {
    yield { type: "ready", final: true };
  }

  /** The search of that name at the position of `board`. */
  search(name, board) {
    const key = `${name} ${board.size}`;
    if (!this.searches.has(key)) {
      const evaluate = (planes, size, actions) => this.network.evaluate(planes, size, actions);
      this.searches.set(key, new Search(evaluate, board.size, this.knowsSwap));
    }
    const search = this.searches.get(key);
    search.position(board.cells, board.colour, board.ply + (board.swap ? 0 : 2)); // two more: no swap is allowed
    return search;
  }

  *move({ player }, board) {
    const { simulations, temperature } = this.levels.find(({ name }) => name === player);
    if (this.opensFairly(board)) {
      const { values } = yield* this.openingValues(board.size);
      const cell = fairest(values);
      yield { type: "move", move: cellName(cell, board.size), value: -Math.abs(values[cell]), final: true };
      return;
    }
    const search = this.search(player, board);
    let { move, value } = yield* searched(search, simulations, temperature);
    if (this.wantsSwap(board, value)) [move, value] = [board.size ** 2, -value];
    yield { type: "move", move: nameOf(move, board.size), value, final: true };
  }

  *study({ simulations = Infinity }, board) {
    if (this.opensFairly(board)) {
      yield* this.fairOpenings(board.size);
      return;
    }
    const search = this.search("study", board);
    search.plan = null;
    for (let reported = -Infinity; ;) {
      search.simulate();
      const enough = search.visits >= simulations;
      const final = enough || search.full;
      if (final || (search.visits > 0 && performance.now() - reported > INTERVAL)) {
        reported = performance.now();
        yield this.report(search, board, final);
        if (final) return;
      } else yield undefined;
    }
  }

  /** What a study has found so far. */
  report(search, board, final) {
    let { move, value } = search.result();
    const candidates = search.candidates(MOST_SHOWN).map((one) => ({
      ...one,
      move: nameOf(one.move, board.size),
      line: one.line.slice(0, MOST_EXPECTED).map((step) => nameOf(step, board.size)),
    }));
    let expected = candidates.find((one) => one.move === nameOf(move, board.size))?.line ?? [nameOf(move, board.size)];
    if (board.maySwap && !this.knowsSwap) {
      const visits = Math.max(...candidates.map((one) => one.visits), 0);
      const swap = { move: SWAP, visits, value: -value, prior: 0, line: [SWAP] };
      if (value < 0) {
        candidates.unshift(swap);
        [expected, value] = [[SWAP], -value];
      } else candidates.push(swap);
    }
    return { type: "study", visits: search.visits, value, candidates, expected, full: search.full, final };
  }

  *look(_, board) {
    const { policy, value } = this.judge(board);
    const shares = {};
    for (let cell = 0; cell < board.cells.length; cell++) {
      if (!board.cells[cell]) shares[cellName(cell, board.size)] = policy[framed(cell, board)];
    }
    if (this.knowsSwap && board.maySwap) shares[SWAP] = policy[board.cells.length];
    yield { type: "look", value, policy: shares, final: true };
  }

  *mapOfOpenings(_, { size }) {
    const { values, doubt } = yield* this.openingValues(size);
    const named = Object.fromEntries(values.map((value, cell) => [cellName(cell, size), value]));
    yield { type: "openings", values: named, doubt, final: true };
  }

  *review({ simulations }, board) {
    let [before, opening] = [null, null];
    for (let ply = 0; ply <= board.moves.length; ply++) {
      const now = boardOf({ ...board, moves: board.moves.slice(0, ply) });
      let entry = { ply, value: COLOURS[now.winner], best: "", expected: [] };
      if (this.opensFairly(now)) {
        opening = (yield* this.openingValues(now.size)).values;
        const best = fairest(opening);
        entry = { ply, value: -Math.abs(opening[best]), best: cellName(best, now.size), expected: [] };
      } else if (!now.winner) {
        const search = this.search("study", now);
        yield* searched(search, simulations, 0);
        const { value, expected } = this.report(search, now, false);
        entry = { ply, value: value * now.colour, best: expected[0], expected };
      }
      if (before) {
        const first =
          opening && ply === 1 ? -Math.abs(opening[boardOf({ ...board, moves: board.moves.slice(0, 1) }).last]) : null;
        const after = first ?? entry.value;
        const cost = Math.max(0, ((before.value - after) / 2) * (before.ply % 2 ? -1 : 1));
        yield { type: "review", plies: board.moves.length, ...before, cost, final: false };
      }
      before = entry;
    }
    yield { type: "review", plies: board.moves.length, ...before, cost: 0, final: true };
  }

  /** The network's own answer for a position, in the mover's frame. */
  judge({ cells, size, colour, maySwap }) {
    const swaps = this.knowsSwap;
    return this.network.evaluate(planesOf(cells, size, colour, swaps && maySwap), size, size * size + (swaps ? 1 : 0));
  }

  /** Whether the first stone may be swapped, and the network does not know of that. */
  opensFairly({ swap, ply }) {
    return swap && ply === 0 && !this.knowsSwap;
  }

  wantsSwap({ maySwap }, value) {
    return maySwap && !this.knowsSwap && value < 0;
  }

  /** The value for Black of each first stone, those of a cell and of its rotation averaged; and how far they differ. */
  *openingValues(size) {
    if (!this.openings.has(size)) {
      const own = [];
      for (let cell = 0; cell < size * size; cell++) {
        const cells = new Int8Array(size * size);
        cells[cell] = 1;
        own.push(-this.judge({ cells, size, colour: -1, maySwap: false }).value);
        yield undefined;
      }
      const values = own.map((value, cell) => (value + own[own.length - 1 - cell]) / 2);
      const squares = own.map((value, cell) => (value - values[cell]) ** 2);
      this.openings.set(size, { values, doubt: Math.sqrt(squares.reduce((sum, one) => sum + one, 0) / own.length) });
    }
    return this.openings.get(size);
  }

  /** The study of the empty board under the swap rule: the fairer a first stone, the better. */
  *fairOpenings(size) {
    const { values } = yield* this.openingValues(size);
    const { policy } = this.judge({ cells: new Int8Array(size * size), size, colour: 1, maySwap: false });
    const fair = [...values.keys()]
      .sort((one, two) => Math.abs(values[one]) - Math.abs(values[two]))
      .slice(0, MOST_SHOWN);
    const candidates = fair.map((cell) => {
      const move = cellName(cell, size);
      return { move, visits: 1, value: -Math.abs(values[cell]), prior: policy[cell], line: [move] };
    });
    const { value, line } = candidates[0];
    yield { type: "study", visits: values.length, value, candidates, expected: line, full: false, final: true };
  }
}

/** A position of a request, with its stones as numbers: 1 for black, -1 for white. */
function boardOf({ size, swap, moves }) {
  const position = replay({ size, swap, moves });
  const cells = Int8Array.from(position.cells, (colour) => COLOURS[colour]);
  return { ...position, size, swap, moves, cells, colour: COLOURS[position.toMove], ply: moves.length };
}

const framed = (cell, { colour, size }) => (colour > 0 ? cell : (cell % size) * size + Math.floor(cell / size));
const nameOf = (move, size) => (move === size * size ? SWAP : cellName(move, size));

/** The cell whose value is the nearest to even. */
const fairest = (values) =>
  values.reduce((best, value, cell) => (Math.abs(value) < Math.abs(values[best]) ? cell : best), 0);

/** Search by a plan; returns the move and its value. Without simulations it is the network's own choice. */
function* searched(search, simulations, temperature) {
  search.begin(simulations, temperature);
  if (!simulations) {
    const best = search.scores.reduce((most, score, action) => (score > search.scores[most] ? action : most), 0);
    return { move: search.framed(best, search.toMove), value: search.root.value };
  }
  while (!search.planned) {
    search.simulate();
    yield undefined;
  }
  return search.result();
}
