/* Games from texts: SGF, links to HexWorld, boards of HexWiki, and plain moves. Other formats need the server. */

import { BLACK, LARGEST, PASS, SMALLEST, SWAP, WHITE, cellIndex, mirrored, cellName, other, replay } from "./rules.mjs";

/**
 * The games of a text, [] where no reader here knows it. A game is {size, swap, setup, nodes, names, end, ply}: its tree
 * and result as `sgfOf` takes them, and the moves before the position that the text shows, or null. One of SGF that
 * cannot be read is {error}, with a line for people; for other texts that Error is thrown. `size` is that of the board,
 * for moves without one.
 */
export function readText(text, size) {
  const trimmed = text.replace(/^\uFEFF/, "").trim();
  if (/^\(\s*;/m.test(trimmed)) return sgfGames(trimmed);
  if (/^<hexboard/i.test(trimmed)) return [wikiBoard(trimmed)];
  const link = /(?:^|hexworld\S*)#(\d{1,2})(?:x\1)?(?:r\d{1,2}|[nm]|c\d)*,(\S*)$/i.exec(trimmed);
  if (link) return [linkedGame(Number(link[1]), link[2])];
  const words = trimmed
    .toLowerCase()
    .replace(/\d+\s*\.\s*/g, " ")
    .split(/[\s,;]+/)
    .filter(Boolean);
  const known = { swap: SWAP, [SWAP]: SWAP, [PASS]: PASS };
  const moves = words.map((word) => known[word] ?? (cellIndex(word, LARGEST) >= 0 ? word : null));
  if (!words.length || moves.includes(null)) return [];
  return [lineOf(size, moves, null)];
}

const NO_NAMES = { black: "", white: "", event: "", date: "" };

/** A game without variations. */
export function lineOf(size, moves, end, ply = null) {
  const nodes = [{ move: "", parent: -1 }, ...moves.map((move, parent) => ({ move, parent }))];
  return checked({ size, swap: moves[1] === SWAP, setup: null, nodes, names: NO_NAMES, end, ply });
}

/** The game, whose main line must be legal; an end that the board shows itself is left out. */
function checked(game) {
  const { size, setup, nodes, end } = game;
  if (!(size >= SMALLEST && size <= LARGEST))
    throw new Error(`A board of ${size} rows: ${SMALLEST} to ${LARGEST} are shown.`);
  const moves = [];
  for (let at = 0; at >= 0; at = nodes.findIndex(({ parent }) => parent === at)) if (at) moves.push(nodes[at].move);
  const { winner } = replay({ size, swap: true, moves, setup });
  return { ...game, nodes: legalNodes(game), end: winner ? null : end };
}

/** The nodes that legal moves lead to; variations are left out from their first wrong move on. */
function legalNodes({ size, setup, nodes }) {
  const lineTo = (id) => (id <= 0 ? [] : [...lineTo(nodes[id].parent), id]);
  const legal = (line) => {
    try {
      replay({ size, swap: true, setup, moves: line.map((id) => nodes[id].move) });
      return true;
    } catch {
      return false;
    }
  };
  const parents = new Set(nodes.map(({ parent }) => parent));
  const kept = new Set([0]);
  for (const end of nodes.keys()) {
    if (parents.has(end)) continue;
    const line = lineTo(end);
    while (line.length && !legal(line)) line.pop();
    for (const id of line) kept.add(id);
  }
  const numbers = new Map([...kept].sort((one, two) => one - two).map((id, number) => [id, number]));
  return [...numbers.keys()].map((id) => ({ ...nodes[id], parent: numbers.get(nodes[id].parent) ?? -1 }));
}

/** The game of a link of HexWorld: moves, a comma at the cursor, more moves. */
function linkedGame(size, text) {
  const moves = [];
  let [end, ply] = [null, null];
  for (const [word] of text.matchAll(/,|:[rf][bw]|:[spS]|[a-z]{1,2}\d{1,2}|./g)) {
    if (word === ",") ply = moves.length;
    else if (/^:[rf]/.test(word)) {
      const how = word[1] === "r" ? "resigned" : "forfeited";
      end = { winner: word[2] === "b" ? WHITE : BLACK, how };
    } else if (word === ":s") moves.push(SWAP);
    else if (word === ":p") moves.push(PASS);
    else if (word !== ":S") moves.push(word); // after swap-sides the stones stay
  }
  return lineOf(size, moves, end, ply);
}

/** The stones of a board of HexWiki, such as <hexboard size="5x5" contents="R a3 B d4" />: red is Black. */
function wikiBoard(text) {
  const value = (name) => new RegExp(`${name}\\s*=\\s*["']([^"']*)`, "i").exec(text)?.[1] ?? "";
  const size = Number(/^\d+/.exec(value("size"))?.[0] ?? 11);
  const setup = { black: [], white: [], first: BLACK };
  const marks = {};
  let colour = "";
  for (const word of value("contents").split(/\s+/).filter(Boolean)) {
    if (/^[A-Z]$/.test(word)) {
      colour = { R: BLACK, B: WHITE }[word] ?? "";
      continue;
    }
    const [label, cell] = word.includes(":") ? word.split(":") : ["", word];
    if (cellIndex(cell, size) < 0) continue; // a side, or another ornament
    if (colour) setup[colour].push(cell);
    if (label) marks[cell] = `LB:${label}`;
  }
  if (setup.black.length > setup.white.length) setup.first = WHITE;
  return checked({
    size,
    swap: false,
    setup,
    nodes: [{ move: "", parent: -1, marks }],
    names: NO_NAMES,
    end: null,
    ply: null,
  });
}

/** The nodes of each game of a collection: [{parent, values}], where values are the texts by property. */
function sgfTrees(text) {
  const games = [];
  let [nodes, at, brackets, values] = [null, -1, [], null];
  const token = /\(|\)|;|([A-Za-z]+)((?:\s*\[(?:[^\]\\]|\\[\s\S])*\])+)/g;
  for (const [sign, name, list] of text.matchAll(token)) {
    if (sign === "(") {
      if (!brackets.length) {
        nodes = [];
        at = -1;
        games.push(nodes);
      }
      brackets.push(at);
    } else if (sign === ")") {
      at = brackets.pop() ?? -1;
    } else if (sign === ";" && nodes) {
      values = {};
      nodes.push({ parent: at, values });
      at = nodes.length - 1;
    } else if (name && values) {
      const texts = [...list.matchAll(/\[((?:[^\]\\]|\\[\s\S])*)\]/g)].map(([, one]) => unescaped(one));
      const capitals = name.replace(/[a-z]/g, "");
      values[capitals] = [...(values[capitals] ?? []), ...texts];
    }
  }
  if (brackets.length) throw new Error("The last game is never closed by “)”.");
  return games.filter((game) => game.length);
}

const unescaped = (text) => text.replace(/\\(\r\n|\n\r|[\s\S])/g, (_, sign) => (/[\r\n]/.test(sign) ? "" : sign));

function sgfGames(text) {
  const trees = sgfTrees(text);
  // Little Golem writes cells as two letters; the server reads them.
  if (
    trees.some((nodes) =>
      nodes.some(({ values }) =>
        [...(values.B ?? []), ...(values.W ?? [])].some((one) => /^[a-z]{2}$/i.test(one.trim())),
      ),
    )
  )
    return [];
  return trees.map((nodes) => {
    try {
      return sgfGame(nodes);
    } catch (error) {
      return { error };
    }
  });
}

const WORDS = {
  "swap-pieces": SWAP,
  swap: SWAP,
  "swap-sides": "swap-sides",
  pass: PASS,
  "": PASS,
  resign: "resigned",
  forfeit: "forfeited",
};
const RESULTS = {
  r: "resigned",
  resign: "resigned",
  f: "forfeited",
  forfeit: "forfeited",
  t: "lost on time",
  time: "lost on time",
};

/** The cells of an entry of a list of points; a1:c3 is a rectangle. */
function pointsOf(text, size) {
  const corners = text
    .trim()
    .toLowerCase()
    .split(":")
    .map((name) => cellIndex(name, size));
  if (corners.some((cell) => cell < 0))
    throw new Error(`“${text.slice(0, 20)}” is no cell of a ${size}×${size} board.`);
  const [rows, columns] = [(cell) => Math.floor(cell / size), (cell) => cell % size].map((of) => corners.map(of));
  const found = [];
  for (let row = Math.min(...rows); row <= Math.max(...rows); row++) {
    for (let column = Math.min(...columns); column <= Math.max(...columns); column++)
      found.push(cellName(row * size + column, size));
  }
  return found;
}

function sgfGame(read) {
  const facts = {};
  for (const { values } of read) for (const [name, texts] of Object.entries(values)) facts[name] ??= texts[0];
  if ("GM" in facts && facts.GM.trim() !== "11")
    throw new Error(`GM[${facts.GM.slice(0, 20)}] is not a game of Hex, which is GM[11].`);
  const [, columns, rows = columns] = /^\s*(\d+)(?::(\d+))?/.exec(facts.SZ ?? "11") ?? [];
  if (rows !== columns) throw new Error(`A ${columns}×${rows} board: boards have as many rows as columns here.`);
  const size = Number(columns);
  const names = { black: facts.PB ?? "", white: facts.PW ?? "", event: facts.EV ?? "", date: facts.DT ?? "" };
  const stones = new Map();
  const firstColours = read.flatMap(({ values }) => ("B" in values ? [BLACK] : "W" in values ? [WHITE] : []));
  const game = { size, swap: false, setup: null, nodes: [{ move: "", parent: -1 }], names, end: null, ply: null };
  const places = []; // for each node read, that of `game.nodes` and whose turn is next
  read.forEach(({ parent, values }, number) => {
    const place = parent < 0 ? { id: 0, turn: null, moves: 0, main: true } : { ...places[parent] };
    place.main &&= read.findIndex((one) => one.parent === parent) === number;
    for (const [name, colour] of Object.entries({ AB: BLACK, AW: WHITE, AE: "" })) {
      for (const text of values[name] ?? []) {
        if (!text.trim()) continue;
        if (place.moves) throw new Error("Stones are set up after the first move, which this page cannot show.");
        for (const point of pointsOf(text, size)) stones.set(point, colour);
      }
    }
    for (const [name, colour] of Object.entries({ B: BLACK, W: WHITE })) {
      for (const word of values[name] ?? [])
        addWord(game, place, colour, word.trim().toLowerCase(), followed(read, number));
    }
    noteOn(game.nodes[place.id], values, size);
    places.push(place);
  });
  const cells = (colour) => [...stones].filter(([, one]) => one === colour).map(([point]) => point);
  const setup = { black: cells(BLACK), white: cells(WHITE), first: firstColours[0] ?? BLACK };
  const play = { B: BLACK, W: WHITE }[facts.PL?.trim().charAt(0).toUpperCase()];
  if (!firstColours.length) setup.first = play ?? (setup.black.length > setup.white.length ? WHITE : BLACK);
  if (stones.size || setup.first === WHITE) game.setup = setup;
  if (!stones.size && setup.first === WHITE) mirror(game);
  game.swap = game.nodes.some(({ move }) => move === SWAP);
  const result = /^\s*(b|w)(?:lack|hite)?\s*(?:\+\s*(.*?))?\s*$/i.exec(facts.RE ?? "");
  if (result)
    game.end ??= {
      winner: result[1].toLowerCase() === "b" ? BLACK : WHITE,
      how: RESULTS[(result[2] ?? "").toLowerCase()] ?? "",
    };
  return checked(game);
}

/** The colour of the first stone below a node, by first children. */
function followed(read, number) {
  for (let at = read.findIndex(({ parent }) => parent === number); at >= 0;) {
    if ("B" in read[at].values) return BLACK;
    if ("W" in read[at].values) return WHITE;
    const above = at;
    at = read.findIndex(({ parent }) => parent === above);
  }
  return "";
}

/** Add a move of SGF below `place`; a colour out of turn comes after a pass of the other one. */
function addWord(game, place, colour, word, next) {
  const move = WORDS[word] ?? word;
  if (move === "resigned" || move === "forfeited") {
    if (place.main) game.end = { winner: other(colour), how: move };
    return;
  }
  // Old programs wrote swap-pieces and meant swap-sides: then the swapper also puts the next stone.
  if (move === "swap-sides" || (move === SWAP && next === colour)) {
    const { black, white } = game.names;
    if (place.main) Object.assign(game.names, { black: white, white: black });
    return;
  }
  const add = (one) => {
    const known = game.nodes.findIndex(({ move: there, parent }, id) => id && parent === place.id && there === one);
    if (known < 0) game.nodes.push({ move: one, parent: place.id });
    place.id = known < 0 ? game.nodes.length - 1 : known;
    place.moves += 1;
  };
  if (place.turn && place.turn !== colour) add(PASS);
  if (move !== PASS && move !== SWAP && cellIndex(move, game.size) < 0)
    throw new Error(`“${word.slice(0, 20)}” is no cell of a ${game.size}×${game.size} board.`);
  add(move);
  place.turn = other(colour);
}

/** Comment, marks and labels of a node of SGF. */
function noteOn(node, values, size) {
  if (values.C) node.comment = [node.comment, ...values.C].filter(Boolean).join("\n");
  const marks = { ...node.marks };
  for (const name of ["TR", "CR", "SQ", "MA"]) {
    for (const text of values[name] ?? []) for (const cell of pointsOf(text, size)) marks[cell] = name;
  }
  for (const text of values.LB ?? []) {
    const [cell, ...label] = text.split(":");
    if (cellIndex(cell.trim().toLowerCase(), size) >= 0) marks[cell.trim().toLowerCase()] = `LB:${label.join(":")}`;
  }
  if (Object.keys(marks).length) node.marks = marks;
  if (values.TE) node.good = true;
  if (values.BM) node.good = false;
}

/** A game that White begins, as the same game with Black first: cells and people change places. */
function mirror(game) {
  const { size, names } = game;
  const turned = (cell) => cellName(mirrored(cellIndex(cell, size), size), size);
  for (const node of game.nodes) {
    if (cellIndex(node.move, size) >= 0) node.move = turned(node.move);
    if (node.marks)
      node.marks = Object.fromEntries(Object.entries(node.marks).map(([cell, mark]) => [turned(cell), mark]));
  }
  game.names = { ...names, black: names.white, white: names.black };
  if (game.end) game.end = { ...game.end, winner: other(game.end.winner) };
  game.setup = null;
}
