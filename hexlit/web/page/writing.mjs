/* Games as texts: SGF with variations, comments and marks, and links to HexWorld. */

import { BLACK, PASS, SWAP, moverAt } from "./rules.mjs";

const HEXWORLD = "https://hexworld.org/board/";
const ENDS = { resigned: "Resign", forfeited: "Forfeit", "lost on time": "Time" };

const escaped = (text) => text.replace(/\\/g, "\\\\").replace(/\]/g, "\\]");
const oneLine = (text) => escaped(text.replace(/\s+/g, " "));
const letterOf = (colour) => (colour === BLACK ? "B" : "W");

/** The properties of a node's comment and marks; a mark is the name of a property, or `LB:` and its text. */
function notesOf({ comment, marks = {}, good }) {
  const texts = comment ? [`C[${escaped(comment)}]`] : [];
  if (good !== undefined) texts.push(good ? "TE[1]" : "BM[1]");
  const cells = Object.entries(marks);
  for (const name of ["TR", "CR", "SQ", "MA"]) {
    const marked = cells.filter(([, mark]) => mark === name);
    if (marked.length) texts.push(name + marked.map(([cell]) => `[${cell}]`).join(""));
  }
  const labels = cells.filter(([, mark]) => mark.startsWith("LB:"));
  if (labels.length) texts.push(`LB${labels.map(([cell, mark]) => `[${cell}:${oneLine(mark.slice(3))}]`).join("")}`);
  return texts.join("");
}

/** Stones set up, and who moves first where that is not Black after an empty board. */
function setupOf(setup) {
  if (!setup) return "";
  const stones = (name, cells) => (cells.length ? name + cells.map((cell) => `[${cell}]`).join("") : "");
  return `${stones("AB", setup.black)}${stones("AW", setup.white)}PL[${letterOf(setup.first)}]`;
}

/**
 * A game as SGF. `nodes` is its tree from the first position on, [{move, parent, comment, marks, good}]; `end` is
 * {winner, how} or null, and stands after the line of first children.
 */
export function sgfOf({ size, setup, nodes, names, end }) {
  const children = nodes.map(() => []);
  nodes.forEach(({ parent }, id) => children[parent]?.push(id));
  const result = end ? `${letterOf(end.winner)}+${ENDS[end.how] ?? ""}` : "";
  const { black, white, event, date } = names;
  const facts = Object.entries({ PB: black, PW: white, EV: event, DT: date, RE: result }).filter(([, text]) => text);
  const texts = [
    `(;FF[4]GM[11]CA[UTF-8]AP[hexlit]SZ[${size}]`,
    ...facts.map(([name, text]) => `${name}[${oneLine(text)}]`),
    setupOf(setup),
    notesOf(nodes[0]),
  ];
  const waiting = []; // of the last to the first: [node, ply], and the brackets of variations
  const branch = (ids, ply) => {
    for (const id of [...ids].reverse()) {
      if (ids.length > 1) waiting.push(")");
      waiting.push([id, ply]);
      if (ids.length > 1) waiting.push("(");
    }
  };
  branch(children[0], 0);
  while (waiting.length) {
    const next = waiting.pop();
    if (typeof next === "string") {
      texts.push(next);
      continue;
    }
    const [id, ply] = next;
    texts.push(`;${letterOf(moverAt(setup, ply))}[${nodes[id].move}]${notesOf(nodes[id])}`);
    branch(children[id], ply + 1);
  }
  return `${texts.join("")})\n`;
}

/** A line of moves as a link to HexWorld, with its cursor after `ply` moves; `end` as in `sgfOf`. */
export function hexworldOf({ size, setup, moves, ply = moves.length, end }) {
  if (setup) throw new Error("A link to HexWorld has no stones that are set up.");
  const signs = { [SWAP]: ":s", [PASS]: ":p" };
  const texts = moves.map((move) => signs[move] ?? move);
  const how = { resigned: "r", forfeited: "f", "lost on time": "f" }[end?.how];
  const given = how ? `:${how}${end.winner === BLACK ? "w" : "b"}` : "";
  const [before, after] = [texts.slice(0, ply).join(""), texts.slice(ply).join("") + given];
  return `${HEXWORLD}#${size}c1,${before}${after && ply < moves.length ? "," : ""}${after}\n`;
}
