/* The page: what it shows, and what follows from each change. */

import { formatFragment, parseFragment } from "./address.mjs";
import { Analyst } from "./analyst.mjs";
import { showBoard, showTree } from "./board_panel.mjs";
import { BoardView } from "./board_view.mjs";
import { newClocks, thinkingSeconds } from "./clocks.mjs";
import { NoConnection } from "./connection.mjs";
import { part } from "./elements.mjs";
import { Game, HUMAN, RESIGNED } from "./game.mjs";
import { fillPlayers, showClocks, showControls, showPlayers, showStatus } from "./game_panel.mjs";
import { GraphView } from "./graph_view.mjs";
import { listen } from "./listening.mjs";
import { FIRST_LEVEL, isLevel, levelsAmong, playerOf, rate } from "./my_level.mjs";
import { tryPuzzle } from "./puzzles.mjs";
import { openRecorded } from "./recorded.mjs";
import { showReview } from "./review_panel.mjs";
import { BLACK, WHITE, cellName, other } from "./rules.mjs";
import { showSolve } from "./solve_panel.mjs";
import { keepGame } from "./recent.mjs";
import { STORED_GAME, USUAL, stored } from "./storage.mjs";
import { showOpenings, showPolicy, showStudy } from "./study_panel.mjs";
import { showNotes, useTool } from "./notes.mjs";
import { TreeView } from "./tree_view.mjs";
import { findNode, goTo, lineThrough, newTree, nextOf, sameStart, treeOf } from "./variations.mjs";
import { capital, moveText } from "./words.mjs";

export class Page extends Game {
  /** `connect(told, failed)` makes the connection, see `Connection`; a recorded game has none. */
  constructor(connect) {
    super(newTree(11, true)); // until the game of the address, or the server, says otherwise
    const embedded = part("recorded");
    this.recorded = embedded ? JSON.parse(embedded.textContent) : null; // a game on a page without a server
    this.hello = null;
    this.tab = "study";
    this.studying = false;
    this.settings = { ...USUAL, level: FIRST_LEVEL, ...stored.read("localStorage", "hexlit") };
    this.pointed = null; // the line under the pointer
    this.board = new BoardView(part("board"), (cell) => this.choose(cell));
    this.treeView = new TreeView(part("tree"), (node) => this.visit(node));
    this.graph = new GraphView(part("graph"), (ply) => this.visit(this.analyst.review?.line[ply] ?? -1));
    this.connection = this.recorded
      ? new NoConnection()
      : connect(
          (open, seconds) => this.connected(open, seconds),
          (text) => this.complain(text),
        );
    this.analyst = new Analyst(this.connection, this);
    if (this.recorded) openRecorded(this);
    else this.restore();
    listen(this);
    this.refresh();
    setInterval(() => this.tick(), 100);
  }

  /** The game of the address and of this tab before a reload; else an empty board, whose size the server tells. */
  restore() {
    const saved = stored.read("sessionStorage", STORED_GAME);
    let game = null;
    try {
      game = parseFragment(location.hash);
    } catch (error) {
      this.complain(error.message);
    }
    const node = saved && game && sameStart(saved.tree, game) ? findNode(saved.tree, game.moves) : -1;
    this.fresh = !game;
    if (node >= 0) {
      const { tree, players, simulations, clock, paused, tab, studying } = saved;
      Object.assign(this, { tree, players, clock, tab, studying, paused: paused || clock !== null });
      part("simulations").value = simulations;
      part("simulations").dataset.chosen = "yes";
      goTo(tree, node);
    } else {
      this.tree = game ? treeOf(game) : newTree(11, true);
    }
  }

  /** Begin another game; its tree may have moves. */
  begin(tree, players = this.players, clock = null, paused = false) {
    keepGame(this);
    this.turn = null;
    this.fresh = false;
    Object.assign(this.analyst, { job: null, review: null, hint: null });
    this.analyst.stopSolving();
    Object.assign(this, { tree, players, clock, paused, pointed: null, names: null, puzzle: null });
    if (clock) tree.nodes[0].left = newClocks(clock.minutes);
    this.board.moveCursor(-1);
    this.complain("");
    this.refresh();
  }

  /** A cell was chosen on the board: it is played, or changed by the tool. */
  choose(cell) {
    const name = cellName(cell, this.tree.size);
    const tool = part("tool").value;
    if (tool) useTool(this, name, tool);
    else this.play(name);
  }

  /** A move of whoever sits at the page; refused with a word while a program thinks. */
  play(move) {
    if (this.over) return this.say("The game is over. Go back to try another move.");
    if (this.engine) return this.say(`${this.titleOf(this.engine)} is thinking. Pause to play for it.`);
    if (tryPuzzle(this, move)) return true;
    const known = this.tree.nodes.length;
    const legal = this.add(move);
    const again = legal && this.tree.nodes.length === known && this.ofProgram(this.tree.at);
    if (again) this.visit(nextOf(this.tree, this.tree.at)); // the program has answered it before
    return legal;
  }

  /** Add a move, and go there; returns whether it was legal. */
  add(move) {
    const legal = super.add(move);
    if (legal) this.complain("");
    return legal;
  }

  pause() {
    this.analyst.retry();
    super.pause();
  }

  tick() {
    if (this.turn) {
      if (this.leftOf(this.turn.colour) === 0) {
        this.settleClock();
        this.refresh();
      }
      showClocks(this);
    }
    if (this.analyst.busy === "move") this.soon();
    if (this.retryAt) {
      const seconds = Math.ceil((this.retryAt - performance.now()) / 1000);
      part("connection").textContent =
        seconds > 0 ? `Connection lost. Next attempt in ${seconds} s …` : "Connection lost. Trying again …";
    }
  }

  connected(open, seconds) {
    this.retryAt = open ? 0 : performance.now() + 1000 * seconds;
    this.analyst.interrupted();
    document.body.classList.toggle("lost", !open);
    if (open) {
      part("connection").textContent = "Connected";
      this.connection.send({ do: "hello" }, (answer) => this.greet(answer));
    } else {
      this.tick();
      this.soon();
    }
  }

  greet(answer) {
    if (answer.type !== "hello") return this.complain(answer.text ?? "The server does not answer.");
    const first = this.hello === null;
    this.connection.attempt = 0;
    this.hello = answer;
    part("connection").textContent = `${answer.about ?? "Connected"} · hexlit ${answer.version}`;
    const names = answer.players.map(({ name }) => name);
    this.levels = levelsAmong(answer.players);
    fillPlayers(this);
    if (first && !part("simulations").dataset.chosen) part("simulations").value = answer.simulations;
    if (first && this.fresh && this.tree.nodes.length === 1) {
      this.tree = newTree(answer.board, true);
      this.players = { black: HUMAN, white: answer.opponent ?? names[0] ?? HUMAN };
    }
    for (const colour of [BLACK, WHITE]) {
      if (!names.includes(playerOf(this.players[colour], this.settings.level))) this.players[colour] = HUMAN;
    }
    return this.refresh();
  }

  get engine() {
    return playerOf(super.engine, this.settings.level);
  }

  get simulations() {
    const number = Math.round(Number(part("simulations").value));
    return Math.min(1000000, Math.max(1, number || this.hello?.simulations || 1));
  }

  /** The situation for the analyst. */
  get situation() {
    const { game, key, over, tab, studying, simulations } = this;
    const adviser = part("adviser").value;
    const engine = this.hello ? this.engine : "";
    const timed = engine && this.turn;
    const seconds = timed ? thinkingSeconds(this.leftOf(this.turn.colour), 1000 * this.clock.increment) : undefined;
    const searches = (name) => this.hello?.players.some((one) => one.name === name && one.studies);
    const programs = Object.values(this.players)
      .map((name) => playerOf(name, this.settings.level))
      .filter(searches);
    return { game, key, over, engine, seconds, programs, tab, studying, adviser, simulations };
  }

  /** A program has moved. */
  moved({ move }) {
    const { toMove } = this.position;
    if (move === "resign") return this.end(other(toMove), RESIGNED);
    part("announce").textContent = `${capital(toMove)} plays ${moveText(move)}`;
    if (!this.add(move)) this.failed(`${this.titleOf(this.players[toMove])} plays ${move}, which is not legal.`, true);
    return undefined;
  }

  /** The server could not carry out a search; a program that does not move pauses the game. */
  failed(text, wasMove) {
    if (text) this.complain(text);
    if (wasMove) this.paused = true;
  }

  /** The analyst has news; `final` where another search may be wanted now. */
  changed(final) {
    if (final) this.refresh();
    else this.soon();
  }

  /** Whether somebody can give advice; says so where not. */
  able() {
    if (!this.connection.open) this.complain("There is no connection to the server.");
    else if (!part("adviser").value) this.complain("None of the players on offer can study positions.");
    else return true;
    return false;
  }

  askHint() {
    if (!this.over && this.able()) this.analyst.askHint();
  }

  askReview() {
    if (this.able()) this.analyst.askReview(this.wholeGame, lineThrough(this.tree, this.tree.at));
  }

  solve() {
    if (this.connection.open) this.analyst.solve(this.game, this.key);
    else this.complain("There is no connection to the server.");
  }

  /** What the study has found for this position, null where it is off. */
  get study() {
    return this.studying && !this.over ? (this.analyst.studies.get(this.key) ?? null) : null;
  }

  /** The number of moves before the current position in the line under review, -1 where it is not on it. */
  get reviewed() {
    const { review } = this.analyst;
    return review ? review.line.indexOf(this.tree.at) : -1;
  }

  switchStudy(on) {
    this.studying = on;
    this.analyst.retry();
    if (on) this.tab = "study";
    if (on) this.change({ analyse: true });
    this.refresh();
  }

  /** Change settings that the browser keeps. */
  change(settings) {
    Object.assign(this.settings, settings);
    stored.write("localStorage", "hexlit", this.settings);
    document.documentElement.dataset.theme = this.settings.theme;
    document.documentElement.dataset.stones = this.settings.stones;
    document.body.classList.toggle("analyse", this.settings.analyse || this.recorded !== null);
    this.soon();
  }

  /** Somebody changed the address. */
  follow() {
    if (location.hash === this.key) return;
    try {
      const game = parseFragment(location.hash);
      if (!game) return;
      const node = sameStart(this.tree, game) ? findNode(this.tree, game.moves) : -1;
      if (node >= 0) this.visit(node);
      else if (this.recorded) history.replaceState(null, "", this.key);
      else this.begin(treeOf(game), { black: HUMAN, white: HUMAN });
    } catch (error) {
      this.complain(error.message);
      history.replaceState(null, "", this.key);
    }
  }

  /** The game has changed: everything that follows from it. */
  refresh() {
    super.refresh();
    const key = formatFragment(this.game);
    if (key !== this.key) {
      this.key = key;
      this.pointed = null;
      this.say("");
    }
    if (this.over && this.hello && rate(this)) fillPlayers(this);
    if (!this.fresh || this.game.moves.length) {
      this.fresh = false;
      if (location.hash !== key) history.replaceState(null, "", key);
    }
    const { tree, players, clock, paused, tab, studying, simulations } = this;
    if (!this.recorded)
      stored.write("sessionStorage", STORED_GAME, { tree, players, clock, paused, tab, studying, simulations });
    this.analyst.think(this.situation);
    this.treeChanged = true;
    this.soon();
  }

  /** Draw soon, once. */
  soon() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.render();
    });
  }

  render() {
    showStatus(this);
    showControls(this);
    showClocks(this);
    if (this.hello) showPlayers(this);
    showStudy(this);
    showPolicy(this);
    showOpenings(this);
    showSolve(this);
    showReview(this);
    showNotes(this);
    showBoard(this);
    if (this.treeChanged) showTree(this);
    this.treeChanged = false;
  }

  titleOf(name) {
    if (name === HUMAN) return "";
    const player = playerOf(name, this.settings.level);
    const offer = this.hello?.players.find((one) => one.name === player);
    const searches = offer?.studies && !isLevel(player);
    return searches ? `${offer.title} (${this.simulations})` : offer?.title || player;
  }

  /** A word in the place of the status, until the position changes; "" takes it away. */
  say(text) {
    this.said = text;
    this.soon();
  }

  complain(text) {
    const box = part("message");
    box.firstElementChild.textContent = text;
    box.hidden = !text;
  }
}
