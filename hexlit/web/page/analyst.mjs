/* The analyst: what the server is asked, and what it has answered. */

import { formatFragment } from "./address.mjs";
import { mistakesOf } from "./findings.mjs";

const MOST_KEPT = 300; // positions whose analysis is remembered

/** Results by position, the oldest dropped. */
class Memory extends Map {
  keep(key, value) {
    this.delete(key);
    this.set(key, value);
    if (this.size > MOST_KEPT) this.delete(this.keys().next().value);
  }
}

/**
 * Keeps the server at work on what the page wants to know, and remembers the answers.
 *
 * The server searches for one request at a time, so there is one search that is wanted now: `think` derives it from the
 * situation, and leaves a search alone that is under way already. Answers to anything else are ignored. The solver
 * works beside the search.
 *
 * A situation is {game, key, over, engine, seconds, programs, tab, studying, adviser, simulations}: `key` names the
 * position, `engine` is the program whose turn it is ("" for none), with `seconds` to think where clocks run, and
 * `programs` are all programs in the game that search.
 */
export class Analyst {
  /** `page` hears: `moved(answer)` of a program, `failed(text, wasMove)`, `changed(final)` whenever there is news. */
  constructor(connection, page) {
    Object.assign(this, { connection, page, situation: null, running: null, job: null, solving: null });
    this.failed = new Set(); // names of searches that the server could not carry out, until something is tried again
    this.finished = new Set(); // names of studies that have come to their end
    this.ready = new Set(); // players that the server has got ready, with their boards
    this.solves = new Memory();
    this.forget();
  }

  /** Forget what an adviser has said, because another one is asked from now on; solutions stay. */
  forget() {
    Object.assign(this, {
      studies: new Memory(),
      looks: new Memory(),
      openings: null,
      review: null,
      hint: null,
      job: null,
    });
    this.retry();
  }

  /** Try again what has failed, and go on with what has ended. */
  retry() {
    this.failed.clear();
    this.finished.clear();
  }

  /** The connection is new, or lost: nothing is under way. */
  interrupted() {
    this.running = null;
    this.solving = null;
    this.ready.clear();
    this.retry();
  }

  /** What the server searches for: "move", "study", ..., "" for nothing. */
  get busy() {
    return this.running ? this.running.message.do : "";
  }

  /** Have the server search for what the situation asks for, and for nothing else. */
  think(situation) {
    this.situation = situation;
    if (this.job && this.job.key && this.job.key !== situation.key) this.job = null;
    if (this.hint && this.hint.key !== situation.key) this.hint = null;
    const { open } = this.connection;
    let wanted = open ? (this.job ?? this.wanted()) : null;
    if (open && (!wanted || this.finished.has(wanted.name))) wanted = this.preparation();
    if (wanted && this.failed.has(wanted.name)) wanted = null;
    if (wanted?.name === this.running?.name) return;
    if (this.running) {
      this.connection.forget(this.running.id);
      this.running = null;
      if (!wanted) this.connection.send({ do: "stop", work: "search" });
    }
    if (wanted) this.ask(wanted);
  }

  /** The search that the situation asks for, null for none: {name, message, hear}. The first that applies. */
  wanted() {
    const { game, key, over, engine, seconds, tab, studying, adviser: player, simulations } = this.situation;
    if (engine) {
      const message = { do: "move", position: game, player: engine, simulations };
      if (seconds !== undefined) message.seconds = seconds;
      return { name: `move ${engine} ${simulations} ${key}`, message, hear: (answer) => this.page.moved(answer) };
    }
    if (!player) return null;
    if (tab === "openings" && !(this.openings?.size === game.size && this.openings.final)) {
      const message = { do: "openings", position: { ...game, moves: [] }, player };
      const hear = ({ values, final }) => {
        this.openings = { size: game.size, values, final };
      };
      return { name: `openings ${player} ${game.size}`, message, hear };
    }
    if (over) return null;
    if (tab === "policy" && !this.looks.has(key)) {
      const hear = (answer) => this.looks.keep(key, answer);
      return { name: `look ${player} ${key}`, message: { do: "look", position: game, player }, hear };
    }
    if (studying) {
      const name = `study ${player} ${key}`;
      const hear = (answer) => {
        if (answer.visits >= (this.studies.get(key)?.visits ?? 0)) this.studies.keep(key, answer);
        if (answer.final) this.finished.add(name);
      };
      return { name, message: { do: "study", position: game, player }, hear };
    }
    return null;
  }

  /** Where nothing else is wanted: get a program ready that may move soon. */
  preparation() {
    const { game, programs } = this.situation;
    const position = { ...game, moves: [] };
    const nameOf = (player) => `ready ${player} ${formatFragment(position)}`;
    const player = programs.find((one) => !this.ready.has(nameOf(one)) && !this.failed.has(nameOf(one)));
    if (!player) return null;
    const name = nameOf(player);
    return { name, message: { do: "ready", position, player }, hear: () => this.ready.add(name) };
  }

  ask({ name, message, hear }) {
    const running = { name, message, since: performance.now() };
    running.id = this.connection.send(message, (answer) => {
      if (this.running !== running) return; // nobody waits for it any more
      if (answer.final) this.running = null;
      if (answer.type === "thinking") {
        const second = Math.floor((performance.now() - running.since) / 1000);
        if (second !== running.second) Object.assign(running, { second, visits: answer.visits }); // it is read aloud
        return;
      }
      if (answer.type === message.do) {
        hear(answer);
      } else {
        this.failed.add(name);
        if (this.job?.name === name) this.job = null;
        this.page.failed(answer.type === "error" ? answer.text : "", message.do === "move");
      }
      this.page.changed(answer.final);
    });
    this.running = running.id ? running : null;
  }

  /** Do the search of a button, which goes before all others, until it has ended. */
  begin(name, message, key, hear) {
    this.job = { name, message, key, hear };
    this.failed.delete(name);
    this.page.changed(true);
  }

  /** What now? The best move of this position and its line. */
  askHint() {
    const { game, key, adviser: player, simulations } = this.situation;
    this.hint = null;
    this.begin(
      `hint ${player} ${simulations} ${key}`,
      { do: "study", position: game, player, simulations },
      key,
      (answer) => {
        if (!answer.final) return;
        this.job = null;
        const line = answer.expected.length ? answer.expected : answer.candidates.slice(0, 1).map(({ move }) => move);
        this.hint = { key, line, value: answer.value };
      },
    );
  }

  /** Judge every position of a game; `line` are the nodes of the tree that it leads through. */
  askReview(game, line) {
    const { adviser: player, simulations } = this.situation;
    const review = { line, moves: game.moves, entries: [], done: false };
    this.review = review;
    const name = `review ${player} ${simulations} ${formatFragment(game)}`;
    this.begin(name, { do: "review", position: game, player, simulations }, "", (answer) => {
      review.entries[answer.ply] = answer;
      review.done = answer.final;
      if (answer.final) this.job = null;
    });
  }

  /** Give up the search of a button. */
  stopJob() {
    this.job = null;
    this.page.changed(true);
  }

  /** Forget the review, one under way too. */
  dropReview() {
    this.review = null;
    if (this.job?.message.do === "review") this.job = null;
  }

  /** Solve a position exactly. */
  solve(game, key) {
    this.solves.delete(key);
    const id = this.connection.send({ do: "solve", position: game }, (answer) => {
      this.solving = null;
      if (answer.type === "solve") this.solves.keep(key, answer);
      else if (answer.type === "error") this.solves.keep(key, { problem: answer.text });
      this.page.changed(false);
    });
    this.solving = id ? { id } : null;
    this.page.changed(false);
  }

  /** Stop the solver. */
  stopSolving() {
    if (!this.solving) return;
    this.connection.forget(this.solving.id);
    this.solving = null;
    this.connection.send({ do: "stop", work: "solve" });
    this.page.changed(true);
  }

  /** Mistakes of the review, the worst first. */
  get mistakes() {
    return this.review ? mistakesOf(this.review.entries, this.review.moves) : [];
  }
}
