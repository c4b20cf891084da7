/* A game with its variations, its players and its clocks; nothing of it is seen. */

import { afterThinking } from "./clocks.mjs";
import { moverAt, other, replay } from "./rules.mjs";
import { addMove, goTo, lineThrough, movesTo, nextOf, pathTo } from "./variations.mjs";

export const HUMAN = "human";
export const RESIGNED = "resigned";

/** The game at the current node of its tree. After each change it calls `refresh`. */
export class Game {
  constructor(tree) {
    this.tree = tree;
    this.players = { black: HUMAN, white: HUMAN };
    this.clock = null; // or {minutes, increment}, the increment in seconds
    this.paused = false;
    this.turn = null; // whose clock runs: {node, colour, since}
  }

  /** Everything that follows from a change. */
  refresh() {
    const { size, swap, setup, at } = this.tree;
    this.game = { size, swap, setup, moves: movesTo(this.tree, at) };
    this.position = replay(this.game);
    this.startClock();
  }

  get node() {
    return this.tree.nodes[this.tree.at];
  }

  /** Whether nobody moves any more. */
  get over() {
    return Boolean(this.position.winner || this.node.end);
  }

  /** The player, if a program, whose turn it is at the end of a line. */
  get engine() {
    const name = this.players[this.position.toMove];
    return !this.paused && !this.over && !this.node.children.length && name !== HUMAN ? name : "";
  }

  /** Whether there is something to pause. */
  get pausable() {
    return this.clock !== null || this.players.black !== HUMAN || this.players.white !== HUMAN;
  }

  /** The line that is shown, from the empty board to its end. */
  get wholeGame() {
    const moves = lineThrough(this.tree, this.tree.at)
      .slice(1)
      .map((id) => this.tree.nodes[id].move);
    const { size, swap, setup } = this.tree;
    return { size, swap, setup, moves };
  }

  /** Milliseconds that a colour has left at this moment. */
  leftOf(colour) {
    const left = this.node.left?.[colour];
    if (left === undefined || this.turn?.colour !== colour) return left;
    return Math.max(0, left - (performance.now() - this.turn.since));
  }

  /** Add a move to the tree, and go there; returns whether it was legal. */
  add(move) {
    const { game } = this;
    try {
      replay({ ...game, moves: [...game.moves, move] });
    } catch {
      return false; // such as a click on a stone
    }
    const { toMove } = this.position;
    const timed = this.turn !== null;
    this.settleClock();
    if (this.over) {
      this.refresh(); // too late
      return true;
    }
    const { left } = this.node;
    const known = this.tree.nodes.length;
    const id = addMove(this.tree, this.tree.at, move);
    if (id === known && left) {
      this.tree.nodes[id].left = timed ? afterThinking(left, toMove, 0, 1000 * this.clock.increment) : left;
    }
    goTo(this.tree, id);
    this.refresh();
    return true;
  }

  /** Go to a node of the tree. */
  visit(id) {
    if (id < 0 || id === this.tree.at || !this.tree.nodes[id]) return;
    this.settleClock();
    goTo(this.tree, id);
    this.refresh();
  }

  /** Whether the turn at a node is a program's, in a game of a program with a person. */
  ofProgram(id) {
    const colour = moverAt(this.tree.setup, pathTo(this.tree, id).length - 1);
    return this.players[colour] !== HUMAN && this.players[other(colour)] === HUMAN;
  }

  /** Take back a resignation, or moves up to the turn of the person; a lost clock stays lost. */
  undo() {
    if (this.node.end?.how === RESIGNED) {
      delete this.node.end;
      return this.refresh();
    }
    let target = this.node.parent;
    if (target > 0 && this.ofProgram(target)) target = this.tree.nodes[target].parent;
    return this.visit(target);
  }

  redo() {
    const target = nextOf(this.tree, this.tree.at);
    const after = target >= 0 && this.ofProgram(target) ? nextOf(this.tree, target) : -1;
    this.visit(after >= 0 ? after : target);
  }

  /** The player at the page gives up; where two of them are, the one to move. */
  resign() {
    if (this.over || this.node.children.length) return;
    const { toMove } = this.position;
    const loser = this.players[toMove] !== HUMAN && this.players[other(toMove)] === HUMAN ? other(toMove) : toMove;
    this.end(other(loser), RESIGNED);
  }

  end(winner, how) {
    this.settleClock();
    this.node.end = { winner, how };
    this.refresh();
  }

  pause() {
    this.settleClock();
    this.paused = !this.paused;
    this.refresh();
  }

  /** Stop the clock that runs, and write down what it shows; nobody moves after the flag has fallen. */
  settleClock() {
    if (!this.turn) return;
    const { node, colour, since } = this.turn;
    node.left = afterThinking(node.left, colour, performance.now() - since);
    this.turn = null;
    if (node.left[colour] === 0) node.end = { winner: other(colour), how: "lost on time" };
  }

  /** Clocks run after the first move, at the end of a line, while nobody has won or paused. */
  startClock() {
    const { node } = this;
    const runs =
      this.clock && node.left && !this.paused && !this.over && !node.children.length && this.game.moves.length > 0;
    if (runs && this.turn?.node !== node) this.turn = { node, colour: this.position.toMove, since: performance.now() };
    if (!runs) this.turn = null;
  }
}
