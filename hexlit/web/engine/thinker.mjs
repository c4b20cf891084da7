/* Answers what the page asks of a network, in the messages of hexlit/web/messages.py.
 *
 * Each answer is a generator: it yields undefined after each step of some milliseconds, and answers in between, so its
 * caller can stop it at any time. A network that was not trained with the swap rule opens and swaps by `FirstStones`.
 */

import { BLACK, SWAP, WHITE, cellName, replay } from "../page/rules.mjs";
import { planesOf } from "./board.mjs";
import { FirstStones } from "./first_stones.mjs";
import { Network } from "./network.mjs";
import { Search, searched } from "./search.mjs";

const INTERVAL = 250; // milliseconds between two reports of a study
const MOST_SHOWN = 40; // candidates in a report
const MOST_EXPECTED = 16; // moves of a line
const COLOURS = { [BLACK]: 1, [WHITE]: -1, "": 0 };

/** The answers of one network, for one page. */
export class Thinker {
  /** `exported` is {config, tensors, data, swap, levels, first_stones}, see `hexlit.web.network_page`. */
  constructor(exported) {
    this.network = new Network(exported);
    this.knowsSwap = exported.swap;
    this.levels = exported.levels;
    this.searches = new Map(); // those of moves and those of studies do not help one another
    this.firstStones = new FirstStones(exported.first_stones, (size) => this.newSearch(size));
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
    if (!this.searches.has(key)) this.searches.set(key, this.newSearch(board.size));
    const search = this.searches.get(key);
    search.position(board.cells, board.colour, board.ply + (board.swap ? 0 : 2)); // two more: no swap is allowed
    return search;
  }

  /** Let a search for a move end with what it has found so far. */
  hurry() {
    for (const { plan, visits } of this.searches.values()) {
      if (plan && visits > plan.start) plan.row.length = Math.min(plan.row.length, visits - plan.start);
    }
  }

  newSearch(size) {
    const evaluate = (planes, rows, actions) => this.network.evaluate(planes, rows, actions);
    return new Search(evaluate, size, this.knowsSwap);
  }

  /** The move that the swap rule asks for, where the network does not know it; null: search. */
  *settled(board) {
    return this.knowsSwap ? null : yield* this.firstStones.answer(board);
  }

  *move({ player }, board) {
    const { simulations, temperature } = this.levels.find(({ name }) => name === player);
    const settled = yield* this.settled(board);
    const { move, value } = settled ?? (yield* this.reported(this.search(player, board), simulations, temperature));
    yield { type: "move", move: nameOf(move, board.size), value, final: true };
  }

  /** As `searched`, and tells the visits from time to time. */
  *reported(search, simulations, temperature) {
    const steps = searched(search, simulations, temperature);
    for (let told = performance.now(); ;) {
      const { value, done } = steps.next();
      if (done) return value;
      const due = performance.now() - told > INTERVAL;
      if (due) told = performance.now();
      yield due ? { type: "thinking", visits: search.visits, final: false } : undefined;
    }
  }

  *study({ simulations = Infinity }, board) {
    if (!board.ply && (yield* this.settled(board))) {
      yield* this.fairOpenings(board.size);
      return;
    }
    const asked = board.maySwap && !this.knowsSwap;
    const worth = asked ? yield* this.firstStones.value(board.size, board.last) : null;
    const search = this.search("study", board);
    search.plan = null;
    for (let reported = -Infinity; ;) {
      search.simulate();
      const enough = search.visits >= simulations;
      const final = enough || search.full;
      if (final || (search.visits > 0 && performance.now() - reported > INTERVAL)) {
        reported = performance.now();
        yield this.report(search, board, final, worth);
        if (final) return;
      } else yield undefined;
    }
  }

  /** What a study has found so far; `worth` is that of the swap for the mover, null where there is none. */
  report(search, board, final, worth = null) {
    let { move, value } = search.result();
    const candidates = search.candidates(MOST_SHOWN).map((one) => ({
      ...one,
      move: nameOf(one.move, board.size),
      line: one.line.slice(0, MOST_EXPECTED).map((step) => nameOf(step, board.size)),
    }));
    let expected = candidates.find((one) => one.move === nameOf(move, board.size))?.line ?? [nameOf(move, board.size)];
    if (worth !== null) {
      const swap = { move: SWAP, visits: 0, value: worth, prior: 0, line: [SWAP] };
      if (worth > 0) {
        candidates.unshift(swap);
        [expected, value] = [[SWAP], worth];
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
    for (let cell = 0; cell < (size * size + 1) / 2; cell++) {
      yield* this.firstStones.value(size, cell);
      const found = this.firstStones.found(size);
      const values = Object.fromEntries([...found].map(([place, value]) => [cellName(place, size), value]));
      const final = found.size === size * size;
      yield { type: "openings", values, final };
      if (final) return;
    }
  }

  *review({ simulations }, board) {
    let before = null;
    for (let ply = 0; ply <= board.moves.length; ply++) {
      const now = boardOf({ ...board, moves: board.moves.slice(0, ply) });
      let entry = { ply, value: COLOURS[now.winner], best: "", expected: [] };
      const settled = now.winner ? null : yield* this.settled(now);
      if (settled) {
        const best = nameOf(settled.move, now.size);
        entry = { ply, value: settled.value * now.colour, best, expected: [best] };
      } else if (!now.winner) {
        const search = this.search("study", now);
        yield* searched(search, simulations, 0);
        const { value, expected } = this.report(search, now, false);
        entry = { ply, value: value * now.colour, best: expected[0], expected };
      }
      if (before) {
        const opened = ply === 1 && now.swap && !this.knowsSwap;
        const after = opened ? -Math.abs(yield* this.firstStones.value(now.size, now.last)) : entry.value;
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

  /** The study of the empty board under the swap rule: the fairer a first stone, the better. */
  *fairOpenings(size) {
    const values = this.firstStones.found(size);
    const { policy } = this.judge({ cells: new Int8Array(size * size), size, colour: 1, maySwap: false });
    const candidates = this.firstStones
      .byFairness(size)
      .slice(0, MOST_SHOWN)
      .map((cell) => {
        const move = cellName(cell, size);
        return { move, visits: 0, value: -Math.abs(values.get(cell)), prior: policy[cell], line: [move] };
      });
    const { value, line } = candidates[0];
    yield { type: "study", visits: 0, value, candidates, expected: line, full: false, final: true };
  }
}

/** A position of a request, with its stones as numbers: 1 for black, -1 for white. */
function boardOf({ size, swap, moves, setup }) {
  const position = replay({ size, swap, moves, setup });
  const cells = Int8Array.from(position.cells, (colour) => COLOURS[colour]);
  return { ...position, size, swap, moves, setup, cells, colour: COLOURS[position.toMove], ply: moves.length };
}

const framed = (cell, { colour, size }) => (colour > 0 ? cell : (cell % size) * size + Math.floor(cell / size));
const nameOf = (move, size) => (move === size * size ? SWAP : cellName(move, size));
