"use strict";
/*
 * The page of `hexlit play`: a board to play and study Hex on.
 *
 * The page keeps the game with its variations. The server keeps none: every request holds the position that it is
 * about (see hexlit/web/requests.py). A page with a recorded game (see hexlit/web/recorded.py) has no server at all. The upper half of this file are pure functions, which node tests without a
 * browser; the lower half draws and acts:
 *
 *   1. cells and rules       4. clocks                  7. connection to the server
 *   2. the tree of a game    5. words and numbers       8. views: board, tree, graph
 *   3. the address           6. geometry of the board   9. the analyst, 10. the page
 */

// ---------------------------------------------------------------------------------------------------------------------
// 1. Cells and rules

const BLACK = "black";
const WHITE = "white";
const SWAP = "swap-pieces";
const SMALLEST = 2;
const LARGEST = 19;
const AROUND = [
  [-1, 0],
  [1, 0],
  [0, -1],
  [0, 1],
  [-1, 1],
  [1, -1],
]; // rows down, columns right

const other = (colour) => (colour === BLACK ? WHITE : BLACK);

/** The name of a cell such as `a1`: a letter for the column, a number for the row. */
function cellName(cell, size) {
  return String.fromCharCode(97 + (cell % size)) + (Math.floor(cell / size) + 1);
}

/** The index of a cell, row * size + column, or -1 where the board has no such cell. */
function cellIndex(name, size) {
  const found = /^([a-z])([1-9][0-9]?)$/.exec(name);
  if (!found) return -1;
  const column = found[1].charCodeAt(0) - 97;
  const row = Number(found[2]) - 1;
  return column < size && row < size ? row * size + column : -1;
}

/** The cell that a stone moves to when its colours are swapped. */
const mirrored = (cell, size) => (cell % size) * size + Math.floor(cell / size);

/** The cells beside a cell, up to six. */
function neighbours(cell, size) {
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
function chainOf(cells, size, colour) {
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
function replay({ size, swap, moves }) {
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
function ghosts(game, line) {
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

// ---------------------------------------------------------------------------------------------------------------------
// 2. The tree of a game: plain data, so that it can be stored as JSON

/**
 * A tree without moves. A node is {move, parent, children, follow, end, left}: `follow` is the child that was looked at
 * last, `end` is {winner, how} where somebody resigned or lost on time, `left` the milliseconds on both clocks.
 */
function newTree(size, swap) {
  return { size, swap, nodes: [{ move: "", parent: -1, children: [] }], at: 0 };
}

/** The tree of one game; stands at its end. */
function treeOf({ size, swap, moves }) {
  const tree = newTree(size, swap);
  for (const move of moves) tree.at = addMove(tree, tree.at, move);
  return tree;
}

/** The number of the child of `id` with this move, -1 where there is none. */
const childWith = (tree, id, move) => tree.nodes[id].children.find((child) => tree.nodes[child].move === move) ?? -1;

/** The number of the node after `move` at node `id`, which is new unless it was played before. */
function addMove(tree, id, move) {
  const known = childWith(tree, id, move);
  if (known >= 0) return known;
  tree.nodes.push({ move, parent: id, children: [] });
  tree.nodes[id].children.push(tree.nodes.length - 1);
  return tree.nodes.length - 1;
}

/** The tree of `nodes` ([{move, parent}], the empty board first); the first child of each is on the main line. */
function treeFrom({ size, swap, nodes }) {
  const tree = newTree(size, swap);
  const ids = [0];
  for (const { move, parent } of nodes.slice(1)) ids.push(addMove(tree, ids[parent], move));
  return tree;
}

/** The nodes of `tree` as `treeFrom` takes them, with the nodes of `line` as the main line. */
function nodesOf(tree, line) {
  const nodes = [];
  const on = new Set(line);
  const waiting = [{ id: 0, parent: -1 }];
  while (waiting.length) {
    const { id, parent } = waiting.pop();
    const { move, children } = tree.nodes[id];
    nodes.push({ move, parent });
    const number = nodes.length - 1;
    const sorted = [...children.filter((child) => on.has(child)), ...children.filter((child) => !on.has(child))];
    for (const child of sorted.reverse()) waiting.push({ id: child, parent: number });
  }
  return nodes;
}

/** The nodes from the empty board to `id`. */
function pathTo(tree, id) {
  const path = [];
  for (let at = id; at !== -1; at = tree.nodes[at].parent) path.unshift(at);
  return path;
}

/** The moves from the empty board to `id`. */
const movesTo = (tree, id) =>
  pathTo(tree, id)
    .slice(1)
    .map((node) => tree.nodes[node].move);

/** The node that comes next: the one looked at last, else the first; -1 at the end. */
function nextOf(tree, id) {
  const { children, follow } = tree.nodes[id];
  return children.includes(follow) ? follow : (children[0] ?? -1);
}

/** The nodes of the line that leads through `id` to its end. */
function lineThrough(tree, id) {
  const line = pathTo(tree, id);
  for (let at = nextOf(tree, id); at !== -1; at = nextOf(tree, at)) line.push(at);
  return line;
}

/** Make `id` the current node, and remember the way to it. */
function goTo(tree, id) {
  tree.at = id;
  for (let at = id; tree.nodes[at].parent !== -1; at = tree.nodes[at].parent) {
    tree.nodes[tree.nodes[at].parent].follow = at;
  }
}

/** The node after these moves, -1 where the tree does not have them. */
function findNode(tree, moves) {
  let at = 0;
  for (const move of moves) {
    at = childWith(tree, at, move);
    if (at < 0) return -1;
  }
  return at;
}

/** Delete `id` and all that follows; whoever stood there stands before it. The empty board stays. */
function removeVariation(tree, id) {
  if (id === 0) return;
  const { parent } = tree.nodes[id];
  if (pathTo(tree, tree.at).includes(id)) tree.at = parent;
  tree.nodes[parent].children = tree.nodes[parent].children.filter((child) => child !== id);
  const waiting = [id];
  while (waiting.length) {
    const gone = waiting.pop();
    waiting.push(...tree.nodes[gone].children);
    tree.nodes[gone] = null; // the numbers of the others stay
  }
}

/** Whether `id` is on the line of the first children. */
const inMainLine = (tree, id) =>
  pathTo(tree, id).every((node) => node === 0 || tree.nodes[tree.nodes[node].parent].children[0] === node);

/** Make the way to `id` the main line. */
function makeMainLine(tree, id) {
  for (const node of pathTo(tree, id).slice(1)) {
    const parent = tree.nodes[tree.nodes[node].parent];
    parent.children = [node, ...parent.children.filter((child) => child !== node)];
  }
}

/**
 * Places of the nodes in a drawing of the tree: [{id, column, row}]. The column is the number of moves before; the
 * main line has row 0, and a variation the first row below its parent where it meets no other.
 */
function layOut(tree) {
  const places = [];
  const lowest = []; // the lowest row in use, by column
  const waiting = [{ id: 0, column: 0, row: 0 }];
  while (waiting.length) {
    const start = waiting.pop();
    const line = [];
    for (let id = start.id; id !== undefined; id = tree.nodes[id].children[0]) line.push(id);
    let { row } = start;
    if (start.id !== 0) {
      for (let column = start.column - 1; column < start.column + line.length; column++) {
        row = Math.max(row, (lowest[column] ?? -1) + 1);
      }
    }
    line.forEach((id, step) => {
      const column = start.column + step;
      lowest[column] = Math.max(lowest[column] ?? 0, row);
      places.push({ id, column, row });
    });
    if (start.id !== 0) lowest[start.column - 1] = row; // the branch passes there
    // The last branch of a line comes first, so that branches do not cross; a stack takes them from its end.
    line.forEach((id, step) => {
      for (const child of tree.nodes[id].children.slice(1).reverse()) {
        waiting.push({ id: child, column: start.column + step + 1, row: row + 1 });
      }
    });
  }
  return places;
}

/** The node above (`step` -1) or below (+1) a node in the drawing of the tree, after as many moves; -1 for none. */
function beside(tree, id, step) {
  const places = layOut(tree);
  const { column } = places.find((place) => place.id === id);
  const same = places.filter((place) => place.column === column).sort((a, b) => a.row - b.row);
  const found = same[same.findIndex((place) => place.id === id) + step];
  return found ? found.id : -1;
}

// ---------------------------------------------------------------------------------------------------------------------
// 3. The address: the position in the fragment, such as #11,swap,a3,swap-pieces,c5

/** The fragment of a game. */
const formatFragment = ({ size, swap, moves }) => `#${[size, ...(swap ? ["swap"] : []), ...moves].join(",")}`;

/** The game of a fragment, null for an empty one; throws an Error with one line for people where it holds no game. */
function parseFragment(text) {
  const words = text.replace(/^#/, "").replace(/%2c/gi, ",").toLowerCase().split(",");
  if (words.length === 1 && words[0] === "") return null;
  const size = /^[0-9]{1,2}$/.test(words[0]) ? Number(words[0]) : 0;
  if (size < SMALLEST || size > LARGEST) {
    throw new Error(
      `The address ends with “${words[0].slice(0, 20)}”: ` +
        `a size from ${SMALLEST} to ${LARGEST} is needed, as in #11,swap,a3,b4.`,
    );
  }
  const swap = words[1] === "swap";
  const moves = words.slice(swap ? 2 : 1).filter((word) => word !== "");
  const game = { size, swap: swap || moves[1] === SWAP, moves };
  replay(game);
  return game;
}

// ---------------------------------------------------------------------------------------------------------------------
// 4. Clocks: milliseconds left, {black, white}

/** Clocks at the beginning of a game. */
const newClocks = (minutes) => ({ black: minutes * 60000, white: minutes * 60000 });

/** Clocks after `colour` has thought for `spent` milliseconds; a move made in time adds `increment`. */
const afterThinking = (left, colour, spent, increment = 0) => ({
  ...left,
  [colour]: Math.max(0, left[colour] - spent) + (left[colour] > spent ? increment : 0),
});

/** Seconds that a program should think: a thirtieth of what is left and most of the increment, and never all of it. */
function thinkingSeconds(left, increment) {
  const planned = left / 30 + 0.8 * increment;
  return Math.max(0.05, Math.min(planned, 0.5 * left)) / 1000;
}

/** A time on a clock: 1:05:00, 4:09, or 8.3 in the last ten seconds. */
function formatClock(milliseconds) {
  if (milliseconds < 10000) return (Math.ceil(Math.max(0, milliseconds) / 100) / 10).toFixed(1);
  const seconds = Math.ceil(milliseconds / 1000);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

// ---------------------------------------------------------------------------------------------------------------------
// 5. Words and numbers

const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** A move for people. */
const moveText = (move) => (move === SWAP ? "swap" : move);

/** The winning chance, 0 to 1, that a value in [-1, 1] stands for. */
const chance = (value) => Math.min(1, Math.max(0, (1 + value) / 2));

/** A share as a percentage: 0.374 is 37. */
const percent = (share) => String(Math.round(100 * share));

/** A count in few characters: 950, 12.3k, 1.20M. */
function short(count) {
  if (count < 10000) return String(Math.round(count));
  return count < 999950 ? `${(count / 1000).toFixed(count < 99950 ? 1 : 0)}k` : `${(count / 1e6).toFixed(2)}M`;
}

/** Moves as one line with their numbers; `ply` moves were played before. */
const lineText = (line, ply) => line.map((move, step) => `${ply + step + 1}.\u00a0${moveText(move)}`).join("  ");

/** The line above the board: who is to move, or how the game ended. `names` are those of programs that play. */
function statusText({ toMove, winner, end, names, busy, paused, ply }) {
  const who = (colour) => capital(colour) + (names[colour] ? ` (${names[colour]})` : "");
  if (winner) return `${who(winner)} wins after ${ply} moves`;
  if (end) return `${who(end.winner)} wins: ${capital(other(end.winner))} ${end.how}`;
  const mover = `${capital(toMove)} to move`;
  if (paused) return `${mover} · paused`;
  return busy ? `${mover} · ${names[toMove]} thinks` : mover;
}

/**
 * What a search says of the cells: Map cell -> {share, text, good}. `share` is how strong the shade is, 0 to 1; `good`
 * is null for a share, else whether the value is one for the player to move.
 */
function heatOf(candidates, kind, size) {
  const heat = new Map();
  if (kind === "none") return heat;
  const key = { visits: "visits", policy: "prior", value: "value" }[kind];
  const known = candidates.filter((one) => cellIndex(one.move, size) >= 0 && Number.isFinite(one[key]));
  if (kind === "value") {
    for (const one of known) heat.set(cellIndex(one.move, size), valueHeat(one.value));
    return heat;
  }
  const all = kind === "visits" ? candidates.reduce((sum, one) => sum + one.visits, 0) : 1;
  const most = Math.max(...known.map((one) => one[key]), 1e-9);
  for (const one of known) {
    const share = one[key] / Math.max(all, 1e-9);
    if (share >= 0.005)
      heat.set(cellIndex(one.move, size), { share: one[key] / most, text: percent(share), good: null });
  }
  return heat;
}

/** The shade of one value in [-1, 1], with the winning chance as its text. */
const valueHeat = (value) => ({ share: Math.min(1, Math.abs(value)), text: percent(chance(value)), good: value >= 0 });

/** Mistakes of a review: [{ply, cost, best}], those that cost most first. `least` is a share of the winning chance. */
function mistakesOf(reviews, moves, least = 0.05) {
  const found = [];
  for (const one of reviews) {
    if (!one || one.ply >= moves.length || !(one.cost >= least) || one.best === moves[one.ply]) continue;
    found.push({ ply: one.ply, cost: one.cost, best: one.best, move: moves[one.ply] });
  }
  return found.sort((a, b) => b.cost - a.cost || a.ply - b.ply);
}

/** Milliseconds to wait before the connection is tried again for the n-th time: doubled, at most 15 s. */
const patience = (attempt, random = 0.5) => Math.min(15000, 500 * 2 ** attempt) * (0.75 + 0.5 * random);

// ---------------------------------------------------------------------------------------------------------------------
// 6. Geometry of the board

const SIDE = 20; // of a hexagon
const WIDE = SIDE * Math.sqrt(3);
const BAND = 8; // of the coloured edges
const LARGEST_CELL = 2.2; // pixels for a unit at most, so that small boards do not fill the window
const TURNS = { flat: 0, diamond: -Math.PI / 6, upright: Math.PI / 3 };

const TIPS = { top: 0, right: 1, bottom: 3, left: 4 }; // the corner of a cell that points to an edge

/**
 * The drawing of a virtual connection: [{kind, points}] from its lines [[cell, cell or edge, kind]], the ways of a template
 * first, so that what is sure lies above them.
 */
function linkLines(plan, lines, size) {
  const order = ["way", "bridge", "stones"];
  const drawn = lines.map(([start, end, kind]) => {
    const cell = cellIndex(start, size);
    const last = end in TIPS ? plan.corners[cell][TIPS[end]] : plan.centres[cellIndex(end, size)];
    return { kind, points: [plan.centres[cell], last] };
  });
  return drawn.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/**
 * The picture of a board: box (x, y, width, height), centres and corners of the cells, bands along the edges
 * [{colour, points}], and labels [{text, x, y}]. The rhombus has its rows level, or is turned as `TURNS` says.
 */
function geometry(size, orientation) {
  const [cos, sin] = [Math.cos(TURNS[orientation]), Math.sin(TURNS[orientation])];
  const turned = ([x, y]) => [x * cos - y * sin, x * sin + y * cos];
  const plain = (row, column) => [WIDE * (column + row / 2), 1.5 * SIDE * row];
  const steps = [
    [0, -1],
    [0.5, -0.5],
    [0.5, 0.5],
    [0, 1],
    [-0.5, 0.5],
    [-0.5, -0.5],
  ]; // clockwise from the top
  const corner = (row, column, place) => {
    const [x, y] = plain(row, column);
    return turned([x + steps[place][0] * WIDE, y + steps[place][1] * SIDE]);
  };
  const middle = (one, two) => [(one[0] + two[0]) / 2, (one[1] + two[1]) / 2];
  const last = size - 1;
  const each = [...Array(size).keys()];
  const centres = [];
  const corners = [];
  for (const row of each) {
    for (const column of each) {
      centres.push(turned(plain(row, column)));
      corners.push(steps.map((_, place) => corner(row, column, place)));
    }
  }
  const right = middle(corner(0, last, 0), corner(0, last, 1)); // the colours meet in the sharp corners
  const left = middle(corner(last, 0, 3), corner(last, 0, 4));
  const bands = [
    { colour: WHITE, points: [...each.flatMap((row) => [corner(row, 0, 5), corner(row, 0, 4)]), left] },
    { colour: WHITE, points: [right, ...each.flatMap((row) => [corner(row, last, 1), corner(row, last, 2)])] },
    { colour: BLACK, points: [...each.flatMap((column) => [corner(0, column, 5), corner(0, column, 0)]), right] },
    {
      colour: BLACK,
      points: [
        left,
        ...each.flatMap((column) => [corner(last, column, 3 + 1), corner(last, column, 3)]).slice(1),
        corner(last, last, 2),
      ],
    },
  ];
  const labels = each.flatMap((number) => {
    const [top, side] = [turned(plain(-1.02, number)), turned(plain(number, -1.02))];
    return [
      { text: String.fromCharCode(97 + number), x: top[0], y: top[1] },
      { text: String(number + 1), x: side[0], y: side[1] },
    ];
  });
  const points = [...corners.flat(), ...labels.map(({ x, y }) => [x, y])];
  const low = [0, 1].map((axis) => Math.min(...points.map((point) => point[axis])) - 1.2 * BAND);
  const high = [0, 1].map((axis) => Math.max(...points.map((point) => point[axis])) + 1.2 * BAND);
  return { centres, corners, bands, labels, box: [low[0], low[1], high[0] - low[0], high[1] - low[1]] };
}

// ---------------------------------------------------------------------------------------------------------------------
// 7. Connection to the server

/** One WebSocket, opened again whenever it is lost. Answers go to whoever asked, by the number of the request. */
class Connection {
  /**
   * `told(open, seconds)` hears whenever the connection opens or is lost, with the seconds until the next attempt;
   * `failed(text)` hears of errors that belong to no request.
   */
  constructor(address, told, failed) {
    Object.assign(this, { address, told, failed, open: false, number: 0, attempt: 0 });
    this.waiting = new Map();
    this.connect();
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.hurry();
    });
  }

  connect() {
    clearTimeout(this.timer);
    this.timer = 0;
    const socket = new WebSocket(this.address);
    this.socket = socket;
    socket.onopen = () => {
      this.open = true; // `attempt` is reset by whoever is greeted: a server that is full takes nobody in
      this.told(true, 0);
    };
    socket.onmessage = (event) => this.take(event.data);
    socket.onclose = () => {
      this.open = false;
      this.waiting.clear(); // nobody will answer; the page asks again for what it still needs
      const wait = patience(this.attempt++, Math.random());
      this.timer = setTimeout(() => this.connect(), wait);
      this.told(false, wait / 1000);
    };
  }

  /** Try at once, where the next attempt would be later. */
  hurry() {
    if (!this.open && this.timer) this.connect();
  }

  /** Send a request; `hear(answer)` gets each answer. Returns its number, 0 where there is no connection. */
  send(message, hear = () => {}) {
    if (!this.open) return 0;
    const id = ++this.number;
    this.waiting.set(id, hear);
    this.socket.send(JSON.stringify({ id, ...message }));
    return id;
  }

  /** Ignore further answers to a request. */
  forget(id) {
    this.waiting.delete(id);
  }

  take(text) {
    let answer;
    try {
      answer = JSON.parse(text);
    } catch {
      this.failed("The server sent something that this page does not understand.");
      return;
    }
    const hear = this.waiting.get(answer.id);
    if (answer.final) this.waiting.delete(answer.id);
    if (hear) hear(answer);
    else if (answer.type === "error" && typeof answer.id !== "number") this.failed(answer.text);
  }
}

/** In the place of a connection on a page without a server: never open. */
class NoConnection {
  constructor() {
    this.open = false;
  }

  send() {
    return 0;
  }

  forget() {}
}

// ---------------------------------------------------------------------------------------------------------------------
// 8. Views: each draws what it is given, and knows nothing of the game or the server

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children; a string becomes text. */
function draw(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** An HTML element; see `draw`. */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const pointsText = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

/** The board: cells that are made once, and layers above them that are drawn for each position. */
class BoardView {
  constructor(svg, chosen) {
    this.svg = svg;
    this.shape = "";
    this.cursor = -1;
    svg.addEventListener("click", (event) => {
      const cell = event.target.closest("[data-cell]");
      if (cell) chosen(Number(cell.dataset.cell));
    });
  }

  /** Make the empty board, unless it is there. */
  prepare(size, orientation) {
    if (this.shape === `${size} ${orientation}`) return;
    this.shape = `${size} ${orientation}`;
    this.size = size;
    this.plan = geometry(size, orientation);
    this.svg.setAttribute("viewBox", this.plan.box.map((number) => number.toFixed(1)).join(" "));
    this.svg.style.maxWidth = `${Math.round(LARGEST_CELL * this.plan.box[2])}px`;
    this.svg.dataset.orientation = orientation;
    this.svg.classList.toggle("large", size > 13);
    this.cells = this.plan.corners.map((corners, cell) =>
      draw("polygon", {
        points: pointsText(corners),
        class: "cell",
        "data-cell": cell,
        "data-name": cellName(cell, size),
      }),
    );
    this.layers = Object.fromEntries(["shades", "links", "stones", "marks"].map((name) => [name, draw("g", { class: name })]));
    const band =
      (kind, width) =>
      ({ colour, points }) =>
        draw("polyline", { points: pointsText(points), class: `band ${kind} ${colour}`, "stroke-width": width });
    this.svg.replaceChildren(
      ...this.plan.bands.map(band("rim", 2 * BAND + 2.2)),
      ...this.plan.bands.map(band("edge", 2 * BAND)),
      draw("g", {}, ...this.cells),
      draw(
        "g",
        { class: "labels" },
        ...this.plan.labels.map(({ text, x, y }) => draw("text", { x: x.toFixed(1), y: y.toFixed(1) }, text)),
      ),
      ...Object.values(this.layers),
    );
  }

  /**
   * Draw a position. `seen` has `cells`, `last`, `chain`, `playable`, `swapped`, and what is laid over it: `heat`
   * (Map cell -> {share, text, good}), `rings` (cells), `regions` ([{kind, cells}]), `link` (a virtual connection,
   * {colour, lines, key} or null), and `ghosts` ([{cell, colour, number}]).
   */
  show(seen) {
    const { cells, last, chain, heat, rings, regions } = seen;
    this.seen = seen;
    this.svg.classList.toggle("playable", seen.playable);
    this.svg.dataset.turn = seen.toMove;
    this.cells.forEach((polygon, cell) => {
      polygon.classList.toggle("taken", cells[cell] !== "");
      const warm = heat.get(cell);
      const kind = !warm || cells[cell] ? "" : warm.good === null ? "share" : warm.good ? "good" : "bad";
      polygon.dataset.heat = kind;
      polygon.style.setProperty("--share", kind ? `${Math.round(12 + 78 * warm.share)}%` : "0%");
      polygon.classList.toggle("cursor", cell === this.cursor);
    });
    this.layers.shades.replaceChildren(
      ...regions.flatMap(({ kind, cells: inside }) => inside.map((cell) => this.hexagon(cell, kind))),
    );
    const stones = [];
    cells.forEach((colour, cell) => {
      if (colour) stones.push(this.circle(cell, 0.74 * SIDE, `stone ${colour}`, cell));
    });
    if (chain.length)
      stones.push(
        draw("polyline", { points: pointsText(chain.map((cell) => this.plan.centres[cell])), class: "chain" }),
      );
    if (last >= 0) {
      if (seen.swapped) stones.push(this.text(last, "S", `on ${cells[last]}`));
      else stones.push(this.circle(last, 0.24 * SIDE, "last"));
    }
    this.layers.stones.replaceChildren(...stones);
    this.layers.links.replaceChildren(...(seen.link ? this.link(seen.link) : []));
    const marks = [];
    for (const [cell, { text }] of heat) {
      if (!cells[cell]) marks.push(this.text(cell, text, "heat"));
    }
    for (const cell of rings) marks.push(this.circle(cell, 0.62 * SIDE, "ring"));
    for (const { cell, colour, number } of seen.ghosts) {
      marks.push(this.circle(cell, 0.66 * SIDE, `ghost ${colour}`), this.text(cell, String(number), `on ${colour}`));
    }
    if (this.cursor >= 0) marks.push(this.hexagon(this.cursor, "cursor"));
    this.layers.marks.replaceChildren(...marks);
  }

  /** Move the cursor of the keyboard; -1 takes it away. */
  moveCursor(cell) {
    this.cursor = cell;
    if (this.seen) this.show(this.seen);
  }

  circle(cell, radius, kind, name) {
    const [x, y] = this.plan.centres[cell];
    return draw("circle", {
      cx: x.toFixed(1),
      cy: y.toFixed(1),
      r: radius.toFixed(1),
      class: kind,
      "data-stone": name === undefined ? undefined : cellName(name, this.size),
    });
  }

  hexagon(cell, kind) {
    return draw("polygon", { points: pointsText(this.plan.corners[cell]), class: `over ${kind}` });
  }

  /** A virtual connection: each line twice, as a rim and in the side's colour, so that it shows on every ground. */
  link({ colour, lines, key }) {
    const found = linkLines(this.plan, lines, this.size);
    const layer = (part) =>
      found.map(({ kind, points }) =>
        draw("polyline", { points: pointsText(points), class: `link ${part} ${kind}` }),
      );
    const mark = key >= 0 ? [this.circle(key, 0.3 * SIDE, "pivot")] : [];
    return [draw("g", { "data-side": colour }, ...layer("rim"), ...layer("line"), ...mark)];
  }

  text(cell, words, kind) {
    const [x, y] = this.plan.centres[cell];
    return draw("text", { x: x.toFixed(1), y: y.toFixed(1), class: kind }, words);
  }
}

const STEP = 34; // between two moves in the drawing of the tree
const LANE = 32; // between two variations

/** The tree of variations: a stone with its cell for each move, variations below the line that they leave. */
class TreeView {
  constructor(box, chosen) {
    this.box = box;
    box.addEventListener("click", (event) => {
      const node = event.target.closest("[data-node]");
      if (node) chosen(Number(node.dataset.node));
    });
  }

  show(tree, marked) {
    const places = layOut(tree);
    const at = new Map(places.map(({ id, column, row }) => [id, [20 + STEP * column, 18 + LANE * row]]));
    const width = 40 + STEP * Math.max(...places.map(({ column }) => column));
    const height = 36 + LANE * Math.max(...places.map(({ row }) => row));
    const lines = [];
    const stones = [];
    const shown = new Set(pathTo(tree, tree.at));
    for (const { id, column } of places) {
      const node = tree.nodes[id];
      const [x, y] = at.get(id);
      if (id !== 0) {
        const [fromX, fromY] = at.get(node.parent);
        const way =
          fromY === y
            ? [
                [fromX, fromY],
                [x, y],
              ]
            : [
                [fromX, fromY],
                [fromX, y - 8],
                [fromX + 8, y],
                [x, y],
              ];
        lines.push(draw("polyline", { points: pointsText(way), class: shown.has(id) ? "way shown" : "way" }));
      }
      const colour = id === 0 ? "root" : column % 2 ? BLACK : WHITE;
      const name = id === 0 ? "Beginning" : `Move ${column}, ${capital(colour)} ${moveText(node.move)}`;
      const kind = `node ${colour}${id === tree.at ? " current" : ""}${marked.has(id) ? " mistake" : ""}`;
      stones.push(
        draw(
          "g",
          {
            class: kind,
            "data-node": id,
            role: "button",
            "aria-label": name,
            "aria-current": id === tree.at ? "true" : undefined,
          },
          draw("circle", { cx: x, cy: y, r: id === 0 ? 6 : 13 }),
          ...(id === 0 ? [] : [draw("text", { x, y }, node.move === SWAP ? "S" : node.move)]),
        ),
      );
    }
    this.box.replaceChildren(draw("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...lines, ...stones));
    const [x, y] = at.get(tree.at);
    const { box } = this;
    if (x < box.scrollLeft + 30 || x > box.scrollLeft + box.clientWidth - 50) box.scrollLeft = x - box.clientWidth / 2;
    if (y < box.scrollTop + 20 || y > box.scrollTop + box.clientHeight - 20) box.scrollTop = y - box.clientHeight / 2;
  }
}

/** Black's winning chance by move, with the mistakes; a click chooses a position. */
class GraphView {
  constructor(svg, chosen) {
    this.svg = svg;
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * 400;
      chosen(Math.round(Math.min(1, Math.max(0, (x - 30) / 360)) * this.plies));
    });
  }

  /** `reviews` by ply (holes where nothing is known yet), `plies` moves in all, `ply` the current one or -1. */
  show(reviews, plies, mistakes, ply) {
    this.plies = plies;
    const x = (at) => 30 + (360 * at) / Math.max(1, plies);
    const y = (value) => 8 + 112 * (1 - chance(value));
    const known = reviews.filter(Boolean).map((one) => [x(one.ply), y(one.value)]);
    const drawn = [
      draw("rect", { x: 30, y: 8, width: 360, height: 112, class: "paper" }),
      ...[0, 50, 100].flatMap((share) => {
        const level = y(share / 50 - 1);
        return [
          draw("line", { x1: 30, x2: 390, y1: level, y2: level, class: share === 50 ? "level half" : "level" }),
          draw("text", { x: 25, y: level, class: "tick" }, `${share}`),
        ];
      }),
    ];
    if (known.length) {
      const [first, last] = [known[0], known[known.length - 1]];
      drawn.push(draw("polygon", { points: pointsText([[first[0], 120], ...known, [last[0], 120]]), class: "area" }));
      drawn.push(draw("polyline", { points: pointsText(known), class: "curve" }));
    }
    for (const { ply: at, cost } of mistakes) {
      if (reviews[at])
        drawn.push(draw("circle", { cx: x(at), cy: y(reviews[at].value), r: cost >= 0.2 ? 4.5 : 3.5, class: "dot" }));
    }
    if (ply >= 0) drawn.push(draw("line", { x1: x(ply), x2: x(ply), y1: 8, y2: 120, class: "here" }));
    drawn.push(
      draw("text", { x: 30, y: 132, class: "tick start" }, "0"),
      draw("text", { x: 390, y: 132, class: "tick" }, `${plies} moves`),
    );
    this.svg.setAttribute("viewBox", "0 0 400 138");
    this.svg.replaceChildren(...drawn);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// 9. The analyst: what the server is asked, and what it has answered

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
 * A situation is {game, key, over, engine, seconds, tab, studying, adviser, simulations}: `key` names the position,
 * `engine` is the program whose turn it is ("" for none), with `seconds` to think where clocks run.
 */
class Analyst {
  /** `page` hears: `moved(answer)` of a program, `failed(text, wasMove)`, `changed(final)` whenever there is news. */
  constructor(connection, page) {
    Object.assign(this, { connection, page, situation: null, running: null, job: null, solving: null });
    this.failed = new Set(); // names of searches that the server could not carry out, until something is tried again
    this.finished = new Set(); // names of studies that have come to their end
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
    let wanted = this.connection.open ? (this.job ?? this.wanted()) : null;
    if (wanted && (this.failed.has(wanted.name) || this.finished.has(wanted.name))) wanted = null;
    if (wanted?.name === this.running?.name) return;
    if (this.running) {
      this.connection.forget(this.running.id);
      this.running = null;
      if (!wanted) this.stop();
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
    if (tab === "openings" && this.openings?.size !== game.size) {
      const message = { do: "openings", position: { ...game, moves: [] }, player };
      const hear = ({ values }) => {
        this.openings = { size: game.size, values };
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

  ask({ name, message, hear }) {
    const running = { name, message };
    running.id = this.connection.send(message, (answer) => {
      if (this.running !== running) return; // nobody waits for it any more
      if (answer.final) this.running = null;
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

  /** Stop whatever the server does for this page; the solver, which that stops too, begins again where it was. */
  stop() {
    this.connection.send({ do: "stop" });
    this.running = null;
    if (this.solving) {
      const { game, key } = this.solving;
      this.connection.forget(this.solving.id);
      this.solve(game, key);
    }
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

  /** Solve a position exactly. */
  solve(game, key) {
    this.solves.delete(key);
    const id = this.connection.send({ do: "solve", position: game }, (answer) => {
      this.solving = null;
      if (answer.type === "solve") this.solves.keep(key, answer);
      else if (answer.type === "error") this.solves.keep(key, { problem: answer.text });
      this.page.changed(false);
    });
    this.solving = id ? { id, key, game } : null;
    this.page.changed(false);
  }

  /** Stop the solver; the search, which that stops too, begins again. */
  stopSolving() {
    if (!this.solving) return;
    this.connection.forget(this.solving.id);
    this.solving = null;
    if (this.running) this.connection.forget(this.running.id);
    this.stop();
    this.page.changed(true);
  }

  /** Mistakes of the review, the worst first. */
  get mistakes() {
    return this.review ? mistakesOf(this.review.entries, this.review.moves) : [];
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// 10. The page

const HUMAN = "human";
const RESIGNED = "resigned";
const MOST_ROWS = 10; // of a table of moves
const MOST_NODES = 5000; // of a tree that is written; the server takes no more
const LONGEST_TEXT = 200000; // bytes of a game; the server takes no longer message
const STORED_GAME = "hexlit-game-1"; // the number changes with what is stored, so that nothing old is misread

const FAR = 40; // pixels that a finger moves to step through a recorded game
const NEED_SERVER = new Set(["study", "heat", "hint", "new", "open", "save", "pause", "undo", "redo"]);

/** Keys, what they do, and what the list of keys says. */
const KEYS = [
  [
    ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"],
    "",
    "← ↑ ↓ →",
    "on the board: over its cells; in the tree: over its moves",
  ],
  [["Enter", " "], "", "Enter", "play on the cell"],
  [["u"], "undo", "u", "undo, back to your turn"],
  [["r"], "redo", "r", "redo"],
  [["PageUp"], "back", "Page ↑", "one move back"],
  [["PageDown"], "forward", "Page ↓", "one move forward"],
  [["Home"], "first", "Home", "to the beginning"],
  [["End"], "last", "End", "to the end"],
  [["x"], "swap", "x", "swap, when it is allowed"],
  [["p"], "pause", "p", "pause and continue"],
  [["s"], "study", "s", "study this position, on and off"],
  [["h"], "heat", "h", "next heat map: visits, policy, value, off"],
  [["w"], "hint", "w", "what now? the best move and its line"],
  [["n"], "new", "n", "new game"],
  [["o"], "open", "o", "open a game"],
  [["e"], "save", "e", "save the game"],
  [["b"], "turn", "b", "turn the board"],
  [["?"], "help", "?", "these keys"],
];

/** Reads and writes JSON in a storage of the browser, which may be full or forbidden. */
const stored = {
  read(storage, name) {
    try {
      return JSON.parse(window[storage].getItem(name));
    } catch {
      return null;
    }
  },
  write(storage, name, value) {
    try {
      window[storage].setItem(name, JSON.stringify(value));
    } catch {
      /* The page works without; only a reload forgets more. */
    }
  },
};

class Page {
  constructor() {
    this.part = (id) => document.getElementById(id);
    const embedded = this.part("recorded");
    this.recorded = embedded ? JSON.parse(embedded.textContent) : null; // a game on a page without a server
    this.hello = null;
    this.players = { black: HUMAN, white: HUMAN };
    this.clock = null; // or {minutes, increment}, the increment in seconds
    this.paused = false;
    this.tab = "study";
    this.studying = false;
    this.settings = { orientation: "", theme: "auto", heat: "visits", ...stored.read("localStorage", "hexlit") };
    this.turn = null; // whose clock runs: {node, colour, since}
    this.pointed = null; // the line under the pointer
    this.board = new BoardView(this.part("board"), (cell) => this.choose(cell));
    this.treeView = new TreeView(this.part("tree"), (node) => this.visit(node));
    this.graph = new GraphView(this.part("graph"), (ply) => this.visit(this.analyst.review?.line[ply] ?? -1));
    this.connection = this.recorded
      ? new NoConnection()
      : new Connection(
          `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`,
          (open, seconds) => this.connected(open, seconds),
          (text) => this.complain(text),
        );
    this.analyst = new Analyst(this.connection, this);
    if (this.recorded) this.openRecorded();
    else this.restore();
    this.listen();
    this.refresh();
    setInterval(() => this.tick(), 100);
  }

  // --- the game ----------------------------------------------------------------------------------------------------

  /** The game of the address and of this tab before a reload; else an empty board, whose size the server tells. */
  restore() {
    const saved = stored.read("sessionStorage", STORED_GAME);
    let game = null;
    try {
      game = parseFragment(location.hash);
    } catch (error) {
      this.complain(error.message);
    }
    const node =
      saved && game && saved.tree.size === game.size && saved.tree.swap === game.swap
        ? findNode(saved.tree, game.moves)
        : -1;
    this.fresh = !game;
    if (node >= 0) {
      const { tree, players, simulations, clock, paused, tab, studying } = saved;
      Object.assign(this, { tree, players, clock, tab, studying, paused: paused || clock !== null });
      this.part("simulations").value = simulations;
      this.part("simulations").dataset.chosen = "yes";
      goTo(tree, node);
    } else {
      this.tree = game ? treeOf(game) : newTree(11, true);
    }
  }

  /** The recorded game, at the position of the address if the game has it, else at the one it was written for. */
  openRecorded() {
    const { size, swap, ply, names, about, end, review, version } = this.recorded;
    this.tree = treeFrom(this.recorded);
    this.fresh = false;
    this.names = names;
    const line = lineThrough(this.tree, 0);
    if (end) this.tree.nodes[line.at(-1)].end = end;
    let node = line[ply];
    try {
      const game = parseFragment(location.hash);
      const found = game && game.size === size && game.swap === swap ? findNode(this.tree, game.moves) : -1;
      if (found >= 0) node = found;
    } catch {
      // The address ends with something else than a game.
    }
    goTo(this.tree, node);
    this.tab = "review";
    if (review) {
      const entries = [];
      for (const one of review) entries[one.ply] = one;
      this.analyst.review = { line, moves: movesTo(this.tree, line.at(-1)), entries, done: true };
    }
    for (const part of document.querySelectorAll("[data-needs=server]")) part.hidden = true;
    this.part("study-part").hidden = !review;
    for (const colour of [BLACK, WHITE]) {
      this.part(`name-${colour}`).hidden = false;
      this.part(`name-${colour}`).textContent = names[colour] || capital(colour);
    }
    this.part("about").hidden = false;
    this.part("about").textContent = about;
    this.part("connection").textContent = `hexlit ${version}`;
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

  /** Begin another game; its tree may have moves. */
  begin(tree, players = this.players, clock = null, paused = false) {
    this.turn = null;
    this.fresh = false;
    Object.assign(this.analyst, { job: null, review: null, hint: null });
    this.analyst.stopSolving();
    Object.assign(this, { tree, players, clock, paused, pointed: null, names: null });
    if (clock) tree.nodes[0].left = newClocks(clock.minutes);
    this.board.moveCursor(-1);
    this.complain("");
    this.refresh();
  }

  /** A cell was chosen on the board. */
  choose(cell) {
    this.play(cellName(cell, this.tree.size));
  }

  /** A move of whoever sits at the page; refused with a word while a program thinks. */
  play(move) {
    if (this.over) return this.say("The game is over. Go back to try another move.");
    if (this.engine) return this.say(`${this.titleOf(this.engine)} is thinking. Pause to play for it.`);
    return this.add(move);
  }

  /** Add a move to the tree, and go there; returns whether it was legal. */
  add(move) {
    const { size, swap, moves } = this.game;
    try {
      replay({ size, swap, moves: [...moves, move] });
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
    this.complain("");
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
    const colour = (pathTo(this.tree, id).length - 1) % 2 ? WHITE : BLACK;
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
    this.analyst.retry();
    this.refresh();
  }

  // --- clocks ------------------------------------------------------------------------------------------------------

  /** Milliseconds that a colour has left at this moment. */
  leftOf(colour) {
    const left = this.node.left?.[colour];
    if (left === undefined || this.turn?.colour !== colour) return left;
    return Math.max(0, left - (performance.now() - this.turn.since));
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

  tick() {
    if (this.turn) {
      if (this.leftOf(this.turn.colour) === 0) {
        this.settleClock();
        this.refresh();
      }
      this.renderClocks();
    }
    if (this.retryAt) {
      const seconds = Math.ceil((this.retryAt - performance.now()) / 1000);
      this.part("connection").textContent =
        seconds > 0 ? `Connection lost. Next attempt in ${seconds} s …` : "Connection lost. Trying again …";
    }
  }

  // --- the server --------------------------------------------------------------------------------------------------

  connected(open, seconds) {
    this.retryAt = open ? 0 : performance.now() + 1000 * seconds;
    this.analyst.interrupted();
    document.body.classList.toggle("lost", !open);
    if (open) {
      this.part("connection").textContent = "Connected";
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
    this.part("connection").textContent = `Connected · hexlit ${answer.version}`;
    const names = answer.players.map(({ name }) => name);
    this.fillPlayers();
    if (first && !this.part("simulations").dataset.chosen) this.part("simulations").value = answer.simulations;
    if (first && this.fresh && this.tree.nodes.length === 1) {
      this.tree = newTree(answer.board, true);
      this.players = { black: HUMAN, white: names[0] ?? HUMAN };
    }
    for (const colour of [BLACK, WHITE]) {
      if (this.players[colour] !== HUMAN && !names.includes(this.players[colour])) this.players[colour] = HUMAN;
    }
    return this.refresh();
  }

  get simulations() {
    const number = Math.round(Number(this.part("simulations").value));
    return Math.min(1000000, Math.max(1, number || this.hello?.simulations || 1));
  }

  get adviser() {
    return this.part("adviser").value;
  }

  /** The situation for the analyst. */
  get situation() {
    const { game, key, over, tab, studying, adviser, simulations } = this;
    const engine = this.hello ? this.engine : "";
    const timed = engine && this.turn;
    const seconds = timed ? thinkingSeconds(this.leftOf(this.turn.colour), 1000 * this.clock.increment) : undefined;
    return { game, key, over, engine, seconds, tab, studying, adviser, simulations };
  }

  /** A program has moved. */
  moved({ move }) {
    const { toMove } = this.position;
    if (move === "resign") return this.end(other(toMove), RESIGNED);
    this.part("announce").textContent = `${capital(toMove)} plays ${moveText(move)}`;
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
    else if (!this.adviser) this.complain("None of the players on offer can study positions.");
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

  /** The line that is shown, from the empty board to its end. */
  get wholeGame() {
    const moves = lineThrough(this.tree, this.tree.at)
      .slice(1)
      .map((id) => this.tree.nodes[id].move);
    return { size: this.tree.size, swap: this.tree.swap, moves };
  }

  /** What the study has found for this position, null where it is off. */
  get study() {
    return this.studying && !this.over ? (this.analyst.studies.get(this.key) ?? null) : null;
  }

  // --- files -------------------------------------------------------------------------------------------------------

  /** Open the game of a text in any format that the server reads; `told` hears what is wrong with it. */
  read(text, told) {
    if (!text.trim()) return told("There is no text yet.");
    const length = new Blob([text]).size;
    if (length > LONGEST_TEXT) {
      return told(`The text has ${short(length)} bytes; one game of at most ${short(LONGEST_TEXT)} is taken.`);
    }
    const sent = this.connection.send({ do: "read", text }, (answer) => {
      if (answer.type !== "game") return told(answer.text);
      const unread = answer.unread.length;
      try {
        const { size, nodes, moves } = answer;
        const swap = answer.swap || nodes.some(({ move }) => move === SWAP);
        replay({ size, swap, moves });
        const tree = treeFrom({ size, swap, nodes });
        goTo(tree, findNode(tree, moves));
        this.begin(tree, { black: HUMAN, white: HUMAN });
        this.names = { black: answer.black, white: answer.white };
      } catch (error) {
        return told(error.message);
      }
      for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
      told("");
      if (unread) this.complain(`${unread === 1 ? "1 variation" : `${unread} variations`} left out: ${answer.unread[0]}`);
      return undefined;
    });
    return sent ? undefined : told("There is no connection to the server.");
  }

  /** The line that is shown, with its names, as text in the chosen format. */
  write() {
    const [format, text, told] = ["save-format", "save-text", "save-told"].map(this.part);
    const game = this.wholeGame;
    const chosen = format.value;
    text.value = "";
    told.textContent = "";
    this.suffix = ".txt";
    if (chosen === "link") {
      text.value = location.href.replace(/#.*$/, "") + formatFragment(game);
      return;
    }
    const message = {
      do: "write",
      position: game,
      format: chosen,
      black: this.nameOf(BLACK),
      white: this.nameOf(WHITE),
    };
    const { end } = this.tree.nodes[lineThrough(this.tree, this.tree.at).at(-1)];
    if (chosen === "sgf") {
      const nodes = nodesOf(this.tree, lineThrough(this.tree, this.tree.at));
      if (nodes.length > game.moves.length + 1) message.nodes = nodes;
      if (nodes.length > MOST_NODES) {
        told.textContent = `The game has ${short(nodes.length)} moves with its variations; ${MOST_NODES} are written.`;
        return;
      }
    }
    if (end) message.given_up = { loser: other(end.winner), how: end.how === RESIGNED ? "resigned" : "time" };
    const sent = this.connection.send(message, (answer) => {
      if (format.value !== chosen) return; // another one was chosen meanwhile
      if (answer.type === "text") {
        text.value = answer.text;
        this.suffix = answer.suffix ?? this.suffix;
      } else {
        told.textContent = answer.text;
      }
    });
    if (!sent) told.textContent = "There is no connection to the server.";
  }

  /** A player's name for a record. */
  nameOf(colour) {
    const name = this.players[colour];
    return (name === HUMAN ? (this.names?.[colour] ?? "") : name).slice(0, 100);
  }

  download() {
    const { value } = this.part("save-text");
    if (!value) return;
    const link = make("a", { download: `hex-${this.tree.size}x${this.tree.size}${this.suffix}` });
    link.href = URL.createObjectURL(new Blob([value], { type: "text/plain" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    this.part("save-told").textContent = `Saved as ${link.download}.`;
  }

  async copy() {
    const text = this.part("save-text");
    text.select();
    let done = false;
    try {
      await navigator.clipboard.writeText(text.value);
      done = true;
    } catch {
      // no permission, or no secure context
      done = document.execCommand("copy");
    }
    this.part("save-told").textContent = done ? "Copied." : "The browser forbids copying; the text is selected.";
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  /** The game has changed: everything that follows from it. */
  refresh() {
    const { tree } = this;
    this.game = { size: tree.size, swap: tree.swap, moves: movesTo(tree, tree.at) };
    this.position = replay(this.game);
    const key = formatFragment(this.game);
    if (key !== this.key) {
      this.key = key;
      this.pointed = null;
      this.say("");
    }
    if (!this.fresh || this.game.moves.length) {
      this.fresh = false;
      if (location.hash !== key) history.replaceState(null, "", key);
    }
    this.startClock();
    const { players, clock, paused, tab, studying, simulations } = this;
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
    this.renderStatus();
    this.renderControls();
    this.renderClocks();
    this.renderStudy();
    this.renderPolicy();
    this.renderOpenings();
    this.renderSolve();
    this.renderReview();
    this.renderBoard();
    if (this.treeChanged) this.renderTree();
    this.treeChanged = false;
  }

  titleOf(name) {
    if (name === HUMAN) return "";
    return this.hello?.players.find((one) => one.name === name)?.title || name;
  }

  renderStatus() {
    const { toMove, winner } = this.position;
    const names = { black: this.titleOf(this.players.black), white: this.titleOf(this.players.white) };
    const busy = this.analyst.busy === "move";
    const paused = this.paused && this.pausable;
    const text = statusText({ toMove, winner, end: this.node.end, names, busy, paused, ply: this.game.moves.length });
    const shown = this.said || text;
    if (this.part("status").textContent !== shown) this.part("status").textContent = shown;
    this.part("status").classList.toggle("busy", busy);
    if (!this.recorded) document.title = `${text} – hexlit`;
    for (const colour of [BLACK, WHITE]) {
      const card = this.part(`card-${colour}`);
      card.classList.toggle("to-move", !this.over && toMove === colour);
      card.classList.toggle("winner", winner === colour || this.node.end?.winner === colour);
    }
  }

  /** Whether there is something to pause. */
  get pausable() {
    return this.clock !== null || this.players.black !== HUMAN || this.players.white !== HUMAN;
  }

  button(what) {
    return document.querySelector(`[data-do="${what}"]`);
  }

  renderControls() {
    const { at } = this.tree;
    const [back, forward] = [at > 0, nextOf(this.tree, at) >= 0];
    this.button("first").disabled = !back;
    this.button("back").disabled = !back;
    this.button("undo").disabled = !back && this.node.end?.how !== RESIGNED;
    for (const what of ["forward", "last", "redo"]) this.button(what).disabled = !forward;
    this.button("swap").hidden = !this.position.maySwap || Boolean(this.engine) || this.over;
    this.button("pause").hidden = !this.pausable;
    this.button("pause").textContent = this.paused ? "Continue" : "Pause";
    this.button("resign").disabled = this.over || forward;
    this.button("delete").disabled = at === 0;
    this.button("promote").disabled = inMainLine(this.tree, at);
    this.part("player-black").value = this.players.black;
    this.part("player-white").value = this.players.white;
    this.part("study").checked = this.studying;
    const { hint, job } = this.analyst;
    const thinking = job !== null && job.message.do === "study";
    this.button("hint").disabled = this.over || thinking;
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const chosen = tab.dataset.tab === this.tab;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      this.part(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
    this.part("hint").hidden = !hint && !thinking;
    if (thinking) this.part("hint").textContent = `Looking for the best move, ${short(this.simulations)} simulations …`;
    if (hint)
      this.part("hint").textContent =
        `Best: ${hint.line.map(moveText).join(" ")} ` +
        `(${percent(chance(hint.value))}% for ${capital(this.position.toMove)})`;
  }

  renderClocks() {
    for (const colour of [BLACK, WHITE]) {
      const shown = this.part(`clock-${colour}`);
      const left = this.leftOf(colour);
      const text = left === undefined ? "" : formatClock(left);
      if (shown.textContent !== text) shown.textContent = text;
      shown.classList.toggle("low", left !== undefined && left < 20000);
      shown.classList.toggle("runs", this.turn?.colour === colour);
    }
  }

  renderStudy() {
    const { study, game } = this;
    const mover = this.position.toMove;
    const visits = study ? `${short(study.visits)} visits${study.full ? ", as many as fit" : ""}` : "";
    this.part("study-visits").textContent = visits || (this.studying && !this.over ? "…" : "");
    const look = this.analyst.looks.get(this.key);
    const value = study?.value ?? (this.tab === "policy" ? look?.value : undefined);
    const balance = this.part("balance");
    balance.hidden = value === undefined;
    if (value !== undefined) {
      const black = mover === BLACK ? chance(value) : 1 - chance(value);
      const text = `Black ${percent(black)}%`;
      balance.style.setProperty("--black", `${(100 * black).toFixed(1)}%`);
      balance.setAttribute("aria-label", `Winning chances: ${text}, White ${percent(1 - black)}%`);
      balance.lastElementChild.textContent = text;
    }
    const line = study?.expected ?? [];
    this.part("expected").textContent = line.length
      ? `Expected: ${lineText(line.slice(0, 12), game.moves.length)}`
      : "";
    this.part("reply").textContent =
      line.length > 1 ? `Expected reply to ${moveText(line[0])}: ${moveText(line[1])}` : "";
    const most = study ? Math.max(...study.candidates.map(({ visits }) => visits), 1) : 1;
    this.rows(
      "candidates",
      study ? study.candidates.slice(0, MOST_ROWS) : [],
      ({ move, visits, value: worth, prior }) => ({
        move,
        cells: [short(visits), `${percent(chance(worth))}%`, `${(100 * prior).toFixed(1)}%`],
        share: visits / most,
      }),
    );
    this.part("study-empty").hidden = this.studying;
    for (const choice of this.part("heat").querySelectorAll("input"))
      choice.checked = choice.value === this.settings.heat;
  }

  /** The rows of a table of moves, changed in place, so that pointer and focus stay where they are. */
  rows(id, found, row) {
    const table = this.part(id);
    const body = table.tBodies[0];
    while (body.rows.length > found.length) body.lastElementChild.remove();
    found.forEach((one, place) => {
      const { move, cells, share } = row(one);
      let line = body.rows[place];
      if (!line) {
        line = make(
          "tr",
          {},
          make("td", {}, make("button", { type: "button", class: "small" })),
          ...cells.map(() => make("td", { class: "number" })),
        );
        body.append(line);
      }
      const button = line.firstElementChild.firstElementChild;
      if (line.dataset.move !== move) {
        line.dataset.move = move;
        button.textContent = moveText(move);
        button.setAttribute("aria-label", `Play ${moveText(move)}`);
      }
      line.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
      cells.forEach((text, column) => {
        if (line.cells[column + 1].textContent !== text) line.cells[column + 1].textContent = text;
      });
    });
    table.hidden = !found.length;
  }

  /** Moves of the impression without search, the likeliest first. */
  get impressions() {
    const policy = this.over ? {} : (this.analyst.looks.get(this.key)?.policy ?? {});
    return Object.entries(policy)
      .map(([move, prior]) => ({ move, prior }))
      .sort((a, b) => b.prior - a.prior);
  }

  renderPolicy() {
    const found = this.impressions.slice(0, MOST_ROWS);
    const value = this.analyst.looks.get(this.key)?.value;
    const told = this.over
      ? "The game is over."
      : value === undefined
        ? ""
        : `${capital(this.position.toMove)} to move wins with ${percent(chance(value))}%`;
    this.part("look-told").textContent = told;
    this.rows("impressions", found, ({ move, prior }) => ({
      move,
      cells: [`${(100 * prior).toFixed(1)}%`],
      share: prior / found[0].prior,
    }));
  }

  renderOpenings() {
    const { openings } = this.analyst;
    const there = openings?.size === this.game.size;
    const empty = this.game.moves.length === 0;
    let told = there ? "" : "Looking at each cell …";
    if (there && empty) {
      const fair = Object.entries(openings.values).sort((a, b) => Math.abs(a[1]) - Math.abs(b[1]))[0];
      told = `The fairest opening: ${fair[0]}, with ${percent(chance(fair[1]))}% for Black.`;
    } else if (there) {
      told = "The map belongs to the empty board.";
    }
    this.part("openings-told").textContent = this.adviser ? told : "None of the players on offer can study positions.";
    this.button("first-board").hidden = empty;
  }

  renderSolve() {
    const { hello } = this;
    const { solving, solves } = this.analyst;
    const found = solves.get(this.key);
    const busy = solving !== null;
    const large = hello && this.tree.size > hello.solver_board;
    this.button("solve").disabled = busy || this.over || !hello || large;
    this.button("stop-solve").hidden = !busy;
    let [verdict, more] = ["", ""];
    if (this.over) verdict = "The game is over.";
    else if (large)
      verdict = `Positions are solved on boards of up to ${hello.solver_board} rows; this one has ${this.tree.size}.`;
    else if (busy) verdict = "Solving …";
    else if (found?.problem) verdict = capital(found.problem) + (/[.!?]$/.test(found.problem) ? "" : ".");
    else if (found) [verdict, more] = this.verdictOf(found);
    this.part("verdict").textContent = verdict;
    this.part("solve-more").textContent = more;
    const legend = this.part("solve-legend");
    const { link } = this.overlay;
    legend.hidden = !found || Boolean(found.problem) || busy;
    if (link) legend.dataset.side = link.colour;
    for (const entry of legend.querySelectorAll(".linked")) entry.hidden = !link;
    for (const entry of legend.querySelectorAll(".keyed")) entry.hidden = !(link?.key >= 0);
  }

  /** The exact verdict in words. */
  verdictOf({ winner, winning, links, nodes, seconds }) {
    const { toMove, maySwap } = this.position;
    const moves = winning.length === 1 ? "1 winning move" : `${winning.length} winning moves`;
    let verdict =
      winner === toMove
        ? `${capital(winner)} to move wins: ${moves}.`
        : `${capital(winner)} wins, whatever ${capital(toMove)} plays.`;
    if (maySwap) verdict += winner === toMove ? " No need to swap." : " The swap wins.";
    const strength = [BLACK, WHITE]
      .filter((colour) => links?.[colour]?.strength)
      .map((colour) =>
        links[colour].strength === "full"
          ? `${capital(colour)} is virtually connected.`
          : `${capital(colour)} connects by moving next.`,
      );
    const effort = `${short(nodes)} positions in ${seconds < 10 ? seconds.toFixed(2) : Math.round(seconds)}\u00a0s.`;
    return [verdict, [...strength, effort].join(" ")];
  }

  /** The number of moves before the current position in the line under review, -1 where it is not on it. */
  get reviewed() {
    const { review } = this.analyst;
    return review ? review.line.indexOf(this.tree.at) : -1;
  }

  renderReview() {
    const { review, mistakes, job } = this.analyst;
    const busy = job !== null && job.message.do === "review";
    this.button("review").disabled = busy || this.tree.nodes.length < 2;
    this.button("stop-review").hidden = !busy;
    this.part("graph").toggleAttribute("hidden", !review);
    const known = review ? review.entries.filter(Boolean).length : 0;
    let told = "";
    if (busy) told = `${known} of ${review.moves.length + 1} positions`;
    else if (review?.done)
      told = mistakes.length
        ? `${mistakes.length} ${mistakes.length === 1 ? "mistake" : "mistakes"}`
        : "No mistakes found";
    this.part("review-told").textContent = told;
    if (this.tab !== "review") return;
    const ply = this.reviewed;
    if (review) this.graph.show(review.entries, review.moves.length, mistakes, ply);
    this.part("review-here").textContent = this.aboutReview(ply);
    const list = this.part("mistakes");
    const wanted = mistakes.map(({ ply: at, cost, best, move }) => `${at} ${cost} ${best} ${move}`).join();
    if (list.dataset.shown === wanted) return;
    list.dataset.shown = wanted;
    list.replaceChildren(
      ...mistakes.map(({ ply: at, cost, best, move }) =>
        make(
          "li",
          {},
          make(
            "button",
            { type: "button", "data-ply": at + 1 },
            make("i", { class: `stone ${at % 2 ? WHITE : BLACK}` }),
            make("span", {}, `${at + 1}. ${moveText(move)}`),
            make("b", {}, `−${percent(cost)}%`),
            make("span", { class: "quiet" }, best ? `better ${moveText(best)}` : ""),
          ),
        ),
      ),
    );
  }

  /** The review of the move that led to this position, and what is best now. */
  aboutReview(ply) {
    const { review } = this.analyst;
    if (!review) return "";
    if (ply < 0) return "This position is not in the line under review.";
    const [before, now] = [review.entries[ply - 1], review.entries[ply]];
    const words = [];
    if (before && before.cost >= 0.01 && before.best !== review.moves[ply - 1]) {
      const better = (before.expected.length ? before.expected : [before.best]).slice(0, 6).map(moveText).join(" ");
      words.push(`${moveText(review.moves[ply - 1])} cost ${percent(before.cost)}%; better was ${better}.`);
    }
    if (now) words.push(`Black ${percent(chance(now.value))}%.`);
    if (now?.best) words.push(`Best now: ${moveText(now.best)}.`);
    return words.join(" ");
  }

  /** What is laid over the board: heat, rings, regions, a virtual connection and ghost stones. */
  get overlay() {
    const { game, position, tab, study } = this;
    const { openings, solves, review, hint } = this.analyst;
    const seen = { heat: new Map(), rings: [], regions: [], link: null, ghosts: [] };
    const cellsOf = (names) => names.map((name) => cellIndex(name, game.size)).filter((cell) => cell >= 0);
    if (tab === "openings" && !game.moves.length && openings?.size === game.size) {
      for (const [name, value] of Object.entries(openings.values))
        seen.heat.set(cellIndex(name, game.size), valueHeat(value));
    }
    if (tab === "study" && study) {
      seen.heat = heatOf(study.candidates, this.settings.heat, game.size);
      seen.rings = cellsOf(study.expected.slice(0, 1));
    }
    if (tab === "policy") seen.heat = heatOf(this.impressions, "policy", game.size);
    const solved = tab === "solve" && !this.over ? solves.get(this.key) : null;
    if (solved?.winner) {
      seen.rings = cellsOf(solved.winning);
      const linked = [solved.winner, other(solved.winner)].find((colour) => solved.links?.[colour]?.strength);
      if (linked) {
        const { carrier, lines, key } = solved.links[linked];
        seen.regions.push({ kind: "carrier", cells: cellsOf(carrier) });
        seen.link = { colour: linked, lines, key: cellIndex(key, game.size) };
      }
      seen.regions.push({ kind: "must", cells: cellsOf(solved.must_play) });
    }
    const before = tab === "review" && this.reviewed > 0 ? review.entries[this.reviewed - 1] : null;
    if (before && before.cost >= 0.05) seen.rings = cellsOf([before.best]).filter((cell) => !position.cells[cell]);
    const line = this.pointed ?? hint?.line;
    if (line) {
      seen.ghosts = ghosts(game, line).filter(({ cell }) => !position.cells[cell]);
      seen.rings = [];
      for (const { cell } of seen.ghosts) seen.heat.delete(cell);
    }
    return seen;
  }

  renderBoard() {
    const { position, settings } = this;
    this.board.prepare(this.tree.size, settings.orientation || (innerWidth < 600 ? "upright" : "flat"));
    this.part("orientation").value = this.part("board").dataset.orientation;
    const swapped = this.game.moves[this.game.moves.length - 1] === SWAP;
    this.board.show({ ...position, ...this.overlay, swapped, playable: !this.over && !this.engine });
    this.part("board").setAttribute(
      "aria-label",
      `Hex board, ${this.tree.size} by ${this.tree.size}. ${this.part("status").textContent}`,
    );
  }

  renderTree() {
    const marked = new Set(this.analyst.mistakes.map(({ ply }) => this.analyst.review.line[ply + 1]));
    this.treeView.show(this.tree, marked);
  }

  /** A word in the place of the status, until the position changes; "" takes it away. */
  say(text) {
    this.said = text;
    this.soon();
  }

  /** Tell what went wrong; "" takes it away. */
  complain(text) {
    const box = document.getElementById("message");
    box.firstElementChild.textContent = text;
    box.hidden = !text;
  }

  // --- controls ----------------------------------------------------------------------------------------------------

  fillPlayers() {
    const offered = this.hello.players;
    const options = () => [
      make("option", { value: HUMAN }, "Human"),
      ...offered.map(({ name, title }) => make("option", { value: name }, title || name)),
    ];
    for (const id of ["player-black", "player-white", "new-black", "new-white"])
      this.part(id).replaceChildren(...options());
    const chosen = this.adviser;
    const advisers = offered.filter(({ studies }) => studies);
    this.part("adviser").replaceChildren(
      ...advisers.map(({ name, title }) => make("option", { value: name }, title || name)),
    );
    if (!advisers.length) this.part("adviser").append(make("option", { value: "" }, "none"));
    if (advisers.some(({ name }) => name === chosen)) this.part("adviser").value = chosen;
  }

  /** What the buttons do, by their `data-do`; keys do the same. */
  get actions() {
    const show = (id) => this.part(id).showModal();
    return {
      new: () => this.askNew(),
      open: () => {
        this.part("open-told").textContent = "";
        show("open-dialog");
      },
      save: () => {
        show("save-dialog");
        this.write();
      },
      help: () => show("help-dialog"),
      close: (button) => button.closest("dialog").close(),
      dismiss: () => this.complain(""),
      first: () => this.visit(0),
      "first-board": () => this.visit(0),
      back: () => this.visit(this.node.parent),
      forward: () => this.visit(nextOf(this.tree, this.tree.at)),
      last: () => this.visit(lineThrough(this.tree, this.tree.at).pop()),
      undo: () => this.undo(),
      redo: () => this.redo(),
      swap: () => {
        if (this.position.maySwap) this.play(SWAP);
      },
      pause: () => {
        if (this.pausable) this.pause();
      },
      resign: () => this.resign(),
      promote: () => {
        makeMainLine(this.tree, this.tree.at);
        this.refresh();
      },
      delete: () => {
        this.settleClock();
        if (this.analyst.review?.line.includes(this.tree.at)) this.analyst.review = null;
        removeVariation(this.tree, this.tree.at);
        this.refresh();
      },
      study: () => this.switchStudy(!this.studying),
      heat: () => {
        const kinds = ["visits", "policy", "value", "none"];
        this.change({ heat: kinds[(kinds.indexOf(this.settings.heat) + 1) % kinds.length] });
      },
      turn: () => {
        const kinds = Object.keys(TURNS);
        this.change({ orientation: kinds[(kinds.indexOf(this.part("board").dataset.orientation) + 1) % kinds.length] });
      },
      hint: () => this.askHint(),
      solve: () => this.solve(),
      "stop-solve": () => this.analyst.stopSolving(),
      review: () => this.askReview(),
      "stop-review": () => this.analyst.stopJob(),
      read: () =>
        this.read(this.part("open-text").value, (text) => {
          this.part("open-told").textContent = text;
        }),
      copy: () => this.copy(),
      download: () => this.download(),
    };
  }

  switchStudy(on) {
    this.studying = on;
    this.analyst.retry();
    if (on) this.tab = "study";
    this.refresh();
  }

  /** Change settings that the browser keeps. */
  change(settings) {
    Object.assign(this.settings, settings);
    stored.write("localStorage", "hexlit", this.settings);
    document.documentElement.dataset.theme = this.settings.theme;
    this.soon();
  }

  askNew() {
    this.part("new-size").value = this.tree.size;
    this.part("new-swap").checked = this.tree.swap;
    this.part("new-black").value = this.players.black;
    this.part("new-white").value = this.players.white;
    this.part("new-simulations").value = this.simulations;
    this.part("new-dialog").showModal();
  }

  startNew() {
    const number = (id) => Number(this.part(id).value);
    const players = { black: this.part("new-black").value || HUMAN, white: this.part("new-white").value || HUMAN };
    const clock = this.part("new-clock").checked
      ? { minutes: number("new-minutes"), increment: number("new-increment") }
      : null;
    this.part("simulations").value = number("new-simulations") || this.simulations;
    this.begin(newTree(number("new-size"), this.part("new-swap").checked), players, clock);
  }

  listen() {
    const { part } = this;
    const { actions } = this;
    this.change({});
    part("theme").value = this.settings.theme;
    part("new-size").append(
      ...[...Array(LARGEST - SMALLEST + 1).keys()].map((step) =>
        make("option", { value: step + SMALLEST }, `${step + SMALLEST} × ${step + SMALLEST}`),
      ),
    );
    part("keys").append(
      ...this.keys.flatMap(([, , key, told]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, told)]),
    );
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-do]");
      if (button) actions[button.dataset.do](button);
    });
    document.addEventListener("keydown", (event) => this.press(event, actions));
    part("orientation").addEventListener("change", (event) => this.change({ orientation: event.target.value }));
    part("theme").addEventListener("change", (event) => this.change({ theme: event.target.value }));
    part("heat").addEventListener("change", (event) => this.change({ heat: event.target.value }));
    part("study").addEventListener("change", (event) => this.switchStudy(event.target.checked));
    part("adviser").addEventListener("change", () => {
      this.analyst.forget();
      this.refresh();
    });
    for (const colour of [BLACK, WHITE]) {
      part(`player-${colour}`).addEventListener("change", (event) => {
        this.players = { ...this.players, [colour]: event.target.value };
        this.analyst.retry();
        this.refresh();
      });
    }
    part("simulations").addEventListener("change", (event) => {
      event.target.dataset.chosen = "yes";
      event.target.value = this.simulations;
      this.refresh();
    });
    part("new-clock").addEventListener("change", (event) => {
      part("new-times").hidden = !event.target.checked;
    });
    part("new-dialog")
      .querySelector("form")
      .addEventListener("submit", () => this.startNew());
    part("save-format").addEventListener("change", () => this.write());
    part("open-file").addEventListener("change", async (event) => {
      const [file] = event.target.files;
      if (file) await this.readFile(file);
      event.target.value = "";
    });
    for (const tab of document.querySelectorAll("[role=tab]")) {
      tab.addEventListener("click", () => this.openTab(tab));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const tabs = [...document.querySelectorAll("[role=tab]")];
        this.openTab(tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]).focus();
      });
    }
    this.listenToLines();
    if (this.recorded) this.listenToFingers();
    else this.listenToDrops();
    part("board").addEventListener("blur", () => this.board.moveCursor(-1));
    part("mistakes").addEventListener("click", (event) => {
      const button = event.target.closest("[data-ply]");
      if (button) this.visit(this.analyst.review.line[Number(button.dataset.ply)]);
    });
    addEventListener("hashchange", () => this.follow());
    addEventListener("resize", () => this.soon());
  }

  openTab(tab) {
    this.tab = tab.dataset.tab;
    this.pointed = null;
    this.analyst.retry();
    this.refresh();
    return tab;
  }

  /** A line under the pointer or the focus is shown on the board as ghost stones. */
  listenToLines() {
    const point = (line) => {
      this.pointed = line;
      this.soon();
    };
    const lineOf = (event) => {
      const move = event.target.closest("tr")?.dataset.move;
      if (!move) return null;
      const { study } = this;
      const own = this.tab === "study" ? study?.candidates.find((one) => one.move === move)?.line : null;
      return own ?? (this.tab === "study" && study?.expected[0] === move ? study.expected : [move]);
    };
    for (const id of ["candidates", "impressions"]) {
      const body = this.part(id).tBodies[0];
      body.addEventListener("mouseover", (event) => point(lineOf(event)));
      body.addEventListener("focusin", (event) => point(lineOf(event)));
      body.addEventListener("mouseleave", () => point(null));
      body.addEventListener("focusout", () => point(null));
      body.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button) this.play(button.closest("tr").dataset.move);
        else point(lineOf(event));
      });
    }
    this.part("expected").addEventListener("mouseenter", () => point(this.study?.expected ?? null));
    this.part("expected").addEventListener("mouseleave", () => point(null));
  }

  /** A finger that moves over the board from side to side steps through the game. */
  listenToFingers() {
    let start = null;
    this.part("board").addEventListener(
      "touchstart",
      ({ touches }) => {
        start = touches.length === 1 ? [touches[0].clientX, touches[0].clientY] : null;
      },
      { passive: true },
    );
    this.part("board").addEventListener("touchend", ({ changedTouches }) => {
      if (!start) return;
      const [right, down] = [changedTouches[0].clientX - start[0], changedTouches[0].clientY - start[1]];
      start = null;
      if (Math.abs(right) < FAR || Math.abs(right) < 2 * Math.abs(down)) return;
      this.actions[right < 0 ? "forward" : "back"]();
    });
  }

  listenToDrops() {
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      const [file] = event.dataTransfer.files;
      if (file) this.readFile(file);
      else this.read(event.dataTransfer.getData("text"), (text) => this.complain(text));
    });
    addEventListener("paste", (event) => {
      if (event.target.closest?.("input, textarea") || document.querySelector("dialog[open]")) return;
      this.read(event.clipboardData.getData("text"), (text) => this.complain(text));
    });
  }

  async readFile(file) {
    const told = (text) => {
      if (this.part("open-dialog").open) this.part("open-told").textContent = text;
      else this.complain(text);
    };
    if (file.size > 4 * LONGEST_TEXT) return told(`${file.name} is too long for one game.`);
    return this.read(await file.text(), told);
  }

  /** Somebody changed the address. */
  follow() {
    if (location.hash === this.key) return;
    try {
      const game = parseFragment(location.hash);
      if (!game) return;
      const node = game.size === this.tree.size && game.swap === this.tree.swap ? findNode(this.tree, game.moves) : -1;
      if (node >= 0) this.visit(node);
      else if (this.recorded) history.replaceState(null, "", this.key);
      else this.begin(treeOf(game), { black: HUMAN, white: HUMAN });
    } catch (error) {
      this.complain(error.message);
      history.replaceState(null, "", this.key);
    }
  }

  /** The keys of this page, as in `KEYS`. */
  get keys() {
    if (!this.recorded) return KEYS;
    const [arrows, ...others] = KEYS.filter(([, what]) => !NEED_SERVER.has(what));
    const steps = [
      [["ArrowLeft"], "back", "←", "one move back"],
      [["ArrowRight"], "forward", "→", "one move forward"],
    ];
    const cells = [arrows[0], "", "↑ ↓", "on the board: a cursor, which all arrows move; in the tree: variations"];
    return [...steps, cells, ...others];
  }

  press(event, actions) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=checkbox], [type=radio]), select, textarea")) return;
    const onBoard = event.target.closest("#board") !== null;
    const steps = this.recorded && this.board.cursor < 0 && /^Arrow(Left|Right)$/.test(event.key);
    if (onBoard && !steps && this.walk(event)) return;
    if (event.target.closest("#tree") && this.climb(event)) return;
    const found = this.keys.find(([keys, what]) => what && keys.includes(event.key));
    if (!found) return;
    event.preventDefault();
    const button = this.button(found[1]);
    if (!button || (!button.disabled && !button.hidden)) actions[found[1]](button);
  }

  /** The arrow keys in the tree of variations; returns whether it was one. */
  climb(event) {
    const { at } = this.tree;
    const target = {
      ArrowLeft: () => this.node.parent,
      ArrowRight: () => nextOf(this.tree, at),
      ArrowUp: () => beside(this.tree, at, -1),
      ArrowDown: () => beside(this.tree, at, 1),
    }[event.key];
    if (!target) return false;
    event.preventDefault();
    this.visit(target());
    return true;
  }

  /** The keys of the board; returns whether it was one. */
  walk(event) {
    const { size } = this.tree;
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const at = this.board.cursor;
    if (step) {
      const middle = Math.floor(size / 2);
      const [row, column] = at < 0 ? [middle, middle] : [Math.floor(at / size) + step[0], (at % size) + step[1]];
      const inside = (number) => Math.min(size - 1, Math.max(0, number));
      const cell = inside(row) * size + inside(column);
      this.board.moveCursor(cell);
      this.part("announce").textContent = `${cellName(cell, size)}, ${this.position.cells[cell] || "empty"}`;
    } else if ((event.key === "Enter" || event.key === " ") && at >= 0) {
      this.choose(at);
      this.part("announce").textContent = `${cellName(at, size)}, ${this.position.cells[at] || "empty"}`;
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  }
}

if (typeof document !== "undefined") window.page = new Page();

if (typeof module !== "undefined") {
  module.exports = {
    cellName,
    cellIndex,
    neighbours,
    mirrored,
    chainOf,
    replay,
    ghosts,
    newTree,
    treeOf,
    treeFrom,
    nodesOf,
    addMove,
    childWith,
    pathTo,
    movesTo,
    nextOf,
    lineThrough,
    goTo,
    findNode,
    removeVariation,
    inMainLine,
    makeMainLine,
    layOut,
    beside,
    formatFragment,
    parseFragment,
    newClocks,
    afterThinking,
    thinkingSeconds,
    formatClock,
    Analyst,
    chance,
    percent,
    short,
    lineText,
    moveText,
    statusText,
    heatOf,
    valueHeat,
    mistakesOf,
    patience,
    geometry,
    linkLines,
  };
}
