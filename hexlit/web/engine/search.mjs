/* Gumbel AlphaZero on one tree that is kept from move to move, as hexlit/search/algorithm.py and live.py do it.
 *
 * Actions are cells in the frame of the player who moves, and the swap after them. Values are in [-1, 1] for the player
 * to move. A node is {action, prior, visits, sum, parent, children, terminal}. Once it is judged it also has `untried`
 * (the priors of the actions not tried yet, 0 for the others), `next` (the likeliest of them, -1 for none) and `value`.
 */

import { mirrored } from "../page/rules.mjs";
import { connects, place, planesOf } from "./board.mjs";
import { FAR, potential } from "./distance.mjs";

const CONSIDERED = 16; // root moves that enter sequential halving
const VALUE_SCALE = 0.2; // c_scale of the paper
const VISIT_OFFSET = 50; // c_visit of the paper
const SMALLEST_PRIOR = 1e-6;
const MOST_NODES = 60000; // about 50 MB on 11x11
const DECIDED = 0.9; // from this value on a position counts as won, or lost
const EQUAL = 0.02; // values that differ no more are equal where the game is decided
const EQUAL_VISITS = 0.25; // share of the most visits that a move then needs

/** For each simulation the visits of the root action that sequential halving chooses next. */
export function halvingRow(considered, simulations) {
  if (considered <= 1) return [...Array(simulations).keys()];
  const rounds = Math.ceil(Math.log2(considered));
  const visits = new Array(considered).fill(0);
  const wanted = [];
  let left = considered;
  while (wanted.length < simulations) {
    for (let turn = Math.max(1, Math.floor(simulations / (rounds * left))); turn > 0; turn--) {
      for (let i = 0; i < left; i++) wanted.push(visits[i]++);
    }
    left = Math.max(2, Math.floor(left / 2));
  }
  return wanted.slice(0, simulations);
}

/** Value of a visited child for the player who moves at its parent. */
const childValue = (child) => -child.sum / child.visits;

/** The terms that turn the Q values of a node's actions into a bonus on their logits (appendix D of the paper). */
function completedQ(node) {
  let [visits, most, tried, weighted, high] = [0, 0, 0, 0, -Infinity];
  for (const child of node.children) {
    const q = childValue(child);
    visits += child.visits;
    most = Math.max(most, child.visits);
    tried += child.prior;
    weighted += child.prior * q;
    high = Math.max(high, q);
  }
  const mixed = visits > 0 ? (node.value + (visits * weighted) / tried) / (1 + visits) : node.value;
  return { mixed, high: Math.max(high, mixed), scale: ((VISIT_OFFSET + most) * VALUE_SCALE) / 2, tried, visits };
}

/** The child whose visits lag most behind the improved policy, null for the best untried action. */
function laggingChild(node) {
  if (!node.children.length) return null;
  const q = completedQ(node);
  const untried = Math.exp(q.scale * (q.mixed - q.high));
  const weights = node.children.map((child) => child.prior * Math.exp(q.scale * (childValue(child) - q.high)));
  const total = weights.reduce((sum, weight) => sum + weight, Math.max(0, 1 - q.tried) * untried);
  let [best, highest] = [null, -Infinity];
  node.children.forEach((child, i) => {
    const score = weights[i] / total - child.visits / (1 + q.visits);
    if (score > highest) [best, highest] = [child, score];
  });
  return node.next >= 0 && (node.untried[node.next] * untried) / total > highest ? null : best;
}

/** The likeliest untried action of a node, -1 for none. */
function likeliest(untried) {
  let [best, highest] = [-1, 0];
  for (let action = 0; action < untried.length; action++) {
    if (untried[action] > highest) [best, highest] = [action, untried[action]];
  }
  return best;
}

const fresh = (action, prior, parent) => ({ action, prior, parent, visits: 0, sum: 0, children: [], terminal: false });

/** Searches the positions of one game in turn, and keeps the part of the tree below the moves that were played. */
export class Search {
  /**
   * `evaluate(planes, size, actions)` judges a position, see `Network`; `swaps` says whether it knows the swap.
   * `random` draws numbers from 0 to 1.
   */
  constructor(evaluate, size, swaps, random = Math.random) {
    Object.assign(this, { evaluate, size, random, actions: size * size + (swaps ? 1 : 0), swaps });
    this.start(new Int8Array(size * size), 1, 0);
  }

  start(cells, toMove, ply) {
    Object.assign(this, { cells: Int8Array.from(cells), toMove, ply, root: fresh(-1, 1, null), nodes: 1, kept: 0 });
    this.plan = null;
  }

  /** Whether the tree has as many nodes as it may. */
  get full() {
    return this.nodes >= MOST_NODES;
  }

  /** Visits of the root's children. */
  get visits() {
    return Math.max(0, this.root.visits - 1);
  }

  /** The action of the mover's frame as a move on the board, and back. */
  framed(action, colour) {
    return colour > 0 || action === this.size ** 2 ? action : mirrored(action, this.size);
  }

  /** Go to an undecided position, `ply` moves after the empty board; its part of the tree is kept. */
  position(cells, toMove, ply) {
    const node = this.find(cells, toMove, ply);
    if (!node) {
      this.start(cells, toMove, ply);
      return;
    }
    if (node !== this.root) {
      node.parent = null;
      Object.assign(this, { cells: Int8Array.from(cells), toMove, ply, root: node, plan: null });
      this.nodes = 0;
      for (const waiting = [node]; waiting.length; this.nodes++) waiting.push(...waiting.pop().children);
    }
    this.kept = this.visits;
  }

  /** The most visited node of a position, at most two moves ahead; null where there is none. */
  find(cells, toMove, ply) {
    let level = [[this.root, this.cells]];
    let colour = this.toMove;
    if (ply < this.ply || ply > this.ply + 2) return null;
    for (let at = this.ply; at < ply; at++, colour = -colour) {
      level = level.flatMap(([node, board]) =>
        node.children.map((child) => {
          const after = Int8Array.from(board);
          place(after, this.size, this.framed(child.action, colour), colour);
          return [child, after];
        }),
      );
    }
    if (colour !== toMove) return null;
    const same = level.filter(([node, board]) => node.visits && board.every((stone, cell) => stone === cells[cell]));
    return same.reduce((best, [node]) => (best && best.visits >= node.visits ? best : node), null);
  }

  /**
   * Plan a move by sequential halving over `simulations`, less those that the tree has; `temperature` scales the noise
   * of its first choice.
   */
  begin(simulations, temperature) {
    if (!this.root.visits) this.simulate();
    const missing = Math.max(0, simulations - this.kept);
    const priors = this.rootPriors();
    const legal = priors.reduce((count, prior) => count + (prior > 0), 0);
    this.scores = Array.from(priors, (prior) => Math.log(prior) - temperature * Math.log(-Math.log(this.random())));
    this.before = new Map(this.root.children.map((child) => [child.action, child.visits]));
    this.plan = { row: halvingRow(Math.min(CONSIDERED, legal), missing), start: this.visits };
    this.kept = 0;
  }

  /** Whether the plan of `begin` is carried out. */
  get planned() {
    return !this.plan || this.visits >= this.plan.start + this.plan.row.length || this.full;
  }

  /** The priors of all root actions, 0 for illegal ones. */
  rootPriors() {
    const priors = Float64Array.from(this.root.untried);
    for (const child of this.root.children) priors[child.action] = child.prior;
    return priors;
  }

  /** One simulation: select, expand, back up. */
  simulate() {
    const { size } = this;
    const cells = Int8Array.from(this.cells);
    let [node, colour, ply] = [this.root, this.toMove, this.ply];
    while (node.visits > 0 && !node.terminal) {
      node = this.choose(node);
      const cell = place(cells, size, this.framed(node.action, colour), colour);
      node.terminal ||= node.visits === 0 && connects(cells, size, cell);
      colour = -colour;
      ply += 1;
    }
    let value = node.terminal ? -1 : this.expand(node, cells, colour, this.swaps && ply === 1);
    for (; node; node = node.parent) {
      node.visits += 1;
      node.sum += value;
      value = -value;
    }
  }

  choose(node) {
    if (node === this.root && this.plan && !this.planned) {
      const action = this.halvingAction();
      return node.children.find((child) => child.action === action) ?? this.addChild(node, action);
    }
    return laggingChild(node) ?? this.addChild(node, node.next);
  }

  addChild(node, action) {
    const child = fresh(action, node.untried[action], node);
    node.children.push(child);
    node.untried[action] = 0;
    if (node.next === action) node.next = likeliest(node.untried);
    this.nodes += 1;
    return child;
  }

  /** Let the network judge a leaf; returns its value. */
  expand(node, cells, colour, maySwap) {
    const { policy, value } = this.evaluate(planesOf(cells, this.size, colour, maySwap), this.size, this.actions);
    const legal = (action) => (action < cells.length ? cells[this.framed(action, colour)] === 0 : maySwap);
    node.untried = Float32Array.from(policy, (prior, action) => (legal(action) ? Math.max(prior, SMALLEST_PRIOR) : 0));
    const total = node.untried.reduce((sum, prior) => sum + prior, 0);
    node.untried.forEach((prior, action) => {
      node.untried[action] = prior / total;
    });
    node.next = likeliest(node.untried);
    node.value = value;
    return value;
  }

  /** Visits of a root move in the plan. */
  halvingVisits(child) {
    return child.visits - (this.before.get(child.action) ?? 0);
  }

  /** The root action that sequential halving visits next. */
  halvingAction() {
    const wanted = this.plan.row[this.visits - this.plan.start];
    if (wanted > 0) return this.halvingWinner(wanted);
    let [best, highest] = [-1, -Infinity];
    this.root.untried.forEach((prior, action) => {
      if (prior > 0 && this.scores[action] > highest) [best, highest] = [action, this.scores[action]];
    });
    const tried = this.halvingWinner(0); // by an earlier search
    if (best < 0 || tried < 0) return best < 0 ? tried : best;
    const q = completedQ(this.root);
    const child = this.root.children.find(({ action }) => action === tried);
    return this.scores[tried] + q.scale * childValue(child) > highest + q.scale * q.mixed ? tried : best;
  }

  /** The best root action of those with `wanted` visits in the plan, -1 for none. */
  halvingWinner(wanted) {
    const q = completedQ(this.root);
    let [best, highest] = [-1, -Infinity];
    for (const child of this.root.children) {
      if (this.halvingVisits(child) !== wanted) continue;
      const score = this.scores[child.action] + q.scale * (childValue(child) - q.high);
      if (score > highest) [best, highest] = [child.action, score];
    }
    return best;
  }

  /** The search's policy over the actions of the mover's frame: softmax(logits + bonus of the completed Q values). */
  improvedPolicy() {
    const q = completedQ(this.root);
    const untried = Math.exp(q.scale * (q.mixed - q.high));
    const policy = this.rootPriors().map((prior) => prior * untried);
    for (const child of this.root.children)
      policy[child.action] = child.prior * Math.exp(q.scale * (childValue(child) - q.high));
    const total = policy.reduce((sum, weight) => sum + weight, 0);
    return policy.map((weight) => weight / total);
  }

  /** The move that the search plays, on the board, and its value: {move, value}. */
  result() {
    const { root, toMove } = this;
    const most = Math.max(...root.children.map((child) => child.visits), 0);
    if (!most) return { move: this.framed(likeliest(root.untried), toMove), value: root.value };
    const halved = this.plan?.row.length > 0 && this.visits === this.plan.start + this.plan.row.length;
    let action = halved ? this.halvingWinner(Math.max(...root.children.map((child) => this.halvingVisits(child)))) : -1;
    if (!halved) {
      const policy = this.improvedPolicy();
      const racing = root.children.filter((child) => child.visits >= Math.max(1, most - 1));
      ({ action } = racing.reduce((best, child) => (policy[child.action] > policy[best.action] ? child : best)));
    }
    return this.shortest(
      root.children.find((child) => child.action === action),
      most,
    );
  }

  /**
   * The move that wins soonest, or loses latest, among those as good as `chosen` where its value decides the game: a
   * search does not tell the moves of a won position apart.
   */
  shortest(chosen, most) {
    const { cells, size, toMove } = this;
    const decided = childValue(chosen);
    const moveOf = (child) => this.framed(child.action, toMove);
    if (Math.abs(decided) < DECIDED || chosen.action === cells.length) return { move: moveOf(chosen), value: decided };
    const [ahead, winner] = decided > 0 ? [1, toMove] : [-1, -toMove];
    const length = (move) => {
      const after = Int8Array.from(cells);
      after[move] = toMove;
      if (connects(after, size, move)) return winner === toMove ? 0 : FAR;
      return potential(after, size, winner);
    };
    const least = Math.max(1, EQUAL_VISITS * most);
    const equal = this.root.children
      .filter((child) => child === chosen || (child.visits >= least && childValue(child) >= decided - EQUAL))
      .filter((child) => child.action < cells.length)
      .map((child) => ({
        move: moveOf(child),
        value: childValue(child),
        visits: child.visits,
        first: child === chosen,
      }))
      .map((one) => ({ ...one, length: ahead * length(one.move) }));
    equal.sort((one, two) => one.length - two.length || two.first - one.first || two.visits - one.visits);
    const [{ move, value }] = equal;
    return { move, value };
  }

  /** The moves tried, those visited most first, each with its expected line: [{move, visits, value, prior, line}]. */
  candidates(most = Infinity) {
    const byVisits = (one, two) => two.visits - one.visits || childValue(two) - childValue(one);
    const best = (node) => node.children.filter((child) => child.visits).sort(byVisits);
    return best(this.root)
      .slice(0, most)
      .map((child) => {
        const line = [];
        for (let [node, colour] = [child, this.toMove]; node; [node, colour] = [best(node)[0], -colour]) {
          line.push(this.framed(node.action, colour));
        }
        return { move: line[0], visits: child.visits, value: childValue(child), prior: child.prior, line };
      });
  }
}

/** Search by a plan; returns the move and its value. Without simulations it is the network's own choice. */
export function* searched(search, simulations, temperature) {
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
