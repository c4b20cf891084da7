/* Games as texts: SGF with variations, and links to HexWorld, as hexlit/hex/records writes them. */

import { BLACK, SWAP } from "../page/rules.mjs";

const HEXWORLD = "https://hexworld.org/board/";

const escaped = (text) => text.replace(/\s+/g, " ").replace(/[\\\]]/g, "\\$&");

/**
 * A tree of variations, [{move, parent}] from the empty board on, as SGF; `end` is {winner, how} with
 * how it was given up (resigned, time, or ""), or null.
 */
export function sgfOf({ size, nodes, names, end }) {
  const children = nodes.map(() => []);
  nodes.forEach(({ parent }, id) => children[parent]?.push(id));
  const result = end
    ? `${end.winner === BLACK ? "B" : "W"}+${{ resigned: "Resign", time: "Forfeit" }[end.how] ?? ""}`
    : "";
  const facts = Object.entries({ PB: names.black, PW: names.white, RE: result }).filter(([, text]) => text);
  const texts = [
    `(;FF[4]GM[11]CA[UTF-8]AP[hexlit]SZ[${size}]`,
    ...facts.map(([name, text]) => `${name}[${escaped(text)}]`),
  ];
  const waiting = []; // of the last to the first: [node, ply], and the brackets of variations
  const branch = (ids, ply) => {
    for (const id of [...ids].reverse()) {
      if (ids.length > 1) waiting.push(")");
      waiting.push([id, ply]);
      if (ids.length > 1) waiting.push("(");
    }
  };
  branch(children[0], 1);
  while (waiting.length) {
    const next = waiting.pop();
    if (typeof next === "string") {
      texts.push(next);
      continue;
    }
    const [id, ply] = next;
    texts.push(`;${ply % 2 ? "B" : "W"}[${nodes[id].move}]`);
    branch(children[id], ply + 1);
  }
  return `${texts.join("")})\n`;
}

/** A line of moves as a link to HexWorld; `end` as in `sgfOf`. */
export function hexworldOf({ size, moves, end }) {
  const given = end?.how ? `:${end.how === "resigned" ? "r" : "f"}${end.winner === BLACK ? "w" : "b"}` : "";
  return `${HEXWORLD}#${size}c1,${moves.map((move) => (move === SWAP ? ":s" : move)).join("")}${given}\n`;
}
