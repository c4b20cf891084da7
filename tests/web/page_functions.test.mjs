// The modules of the page that need no browser, for plain node: `node --test tests/web/page_functions.test.mjs`.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { connects, place } from "../../hexlit/web/engine/board.mjs";
import { moduleBytes } from "../../hexlit/web/engine/product.mjs";
import { halvingRow } from "../../hexlit/web/engine/search.mjs";
import { formatFragment, parseFragment } from "../../hexlit/web/page/address.mjs";
import { Analyst } from "../../hexlit/web/page/analyst.mjs";
import { afterThinking, formatClock, newClocks, thinkingSeconds } from "../../hexlit/web/page/clocks.mjs";
import { patience } from "../../hexlit/web/page/connection.mjs";
import { heatOf, mistakesOf } from "../../hexlit/web/page/findings.mjs";
import { Game } from "../../hexlit/web/page/game.mjs";
import { geometry, linkLines } from "../../hexlit/web/page/geometry.mjs";
import { MY_LEVEL, levelAfter, levelsAmong, playerOf, wonAgainstLevel } from "../../hexlit/web/page/my_level.mjs";
import { readText } from "../../hexlit/web/page/reading.mjs";
import { cellIndex, cellName, ghosts, inTurns, neighbours, replay } from "../../hexlit/web/page/rules.mjs";
import {
  addMove,
  beside,
  findNode,
  goTo,
  inMainLine,
  layOut,
  lineThrough,
  makeMainLine,
  movesTo,
  newTree,
  pathTo,
  removeVariation,
  treeOf,
} from "../../hexlit/web/page/variations.mjs";
import { chance, lineText, percent, short, statusText } from "../../hexlit/web/page/words.mjs";
import { hexworldOf, sgfOf } from "../../hexlit/web/page/writing.mjs";

const REAL = new URL("../../../shared/data/olympiad_sgf/", import.meta.url);

const game = (size, moves, swap = false) => ({ size, swap, moves: moves ? moves.split(" ") : [] });

test("the level of a person moves with the games against it", () => {
  assert.equal(levelsAmong([{ name: "level-1" }, { name: "network" }, { name: "level-10" }]), 2);
  assert.deepEqual([playerOf(MY_LEVEL, 4), playerOf("network", 4)], ["level-4", "network"]);
  const game = { black: "human", white: MY_LEVEL };
  assert.deepEqual([wonAgainstLevel(game, "black"), wonAgainstLevel(game, "white")], [true, false]);
  for (const white of ["human", "level-3"]) assert.equal(wonAgainstLevel({ ...game, white }, "black"), null);
  assert.deepEqual([levelAfter(4, true, 10), levelAfter(10, true, 10), levelAfter(1, false, 10)], [5, 10, 1]);
});

test("cells have names, and names have cells", () => {
  assert.equal(cellName(13, 11), "c2");
  for (let cell = 0; cell < 361; cell++) assert.equal(cellIndex(cellName(cell, 19), 19), cell);
  for (const wrong of ["l1", "a12", "a0", "a01", "11", "", "swap-pieces", "A1"]) assert.equal(cellIndex(wrong, 11), -1);
});

test("an inner cell has six neighbours, the sharp corners two, the blunt ones three", () => {
  const count = (name) => neighbours(cellIndex(name, 5), 5).length;
  assert.deepEqual(["c3", "a1", "e5", "e1", "a5"].map(count), [6, 2, 2, 3, 3]);
});

test("Black wins from top to bottom, White from left to right, by a shortest chain", () => {
  const black = replay(game(3, "b1 a1 b2 a2 c1 c2 b3"));
  assert.equal(black.winner, "black");
  assert.deepEqual(
    black.chain.map((cell) => cellName(cell, 3)),
    ["b1", "b2", "b3"],
  );
  assert.equal(black.toMove, "");
  const white = replay(game(3, "a1 a2 b1 b2 a3 c2"));
  assert.equal(white.winner, "white");
  assert.equal(white.chain.length, 3);
  assert.equal(replay(game(2, "a1 b1 a2")).winner, "black");
});

test("a swap moves the stone to the mirrored cell and makes it White's", () => {
  const { cells, toMove, last, maySwap } = replay(game(5, "d2 swap-pieces", true));
  assert.equal(cellName(last, 5), "b4");
  assert.deepEqual(cells.filter(Boolean), ["white"]);
  assert.equal(toMove, "black");
  assert.equal(maySwap, false);
  assert.equal(replay(game(5, "d2", true)).maySwap, true);
  assert.equal(replay(game(5, "d2")).maySwap, false);
});

test("a move that is not legal is refused with its number", () => {
  const refused = (one, said) => assert.throws(() => replay(one), said);
  refused(game(3, "a1 a1"), /Move 2, a1: the cell is taken/);
  refused(game(3, "a1 d1"), /Move 2, d1: the board has the cells a1 to c3/);
  refused(game(3, "a1 swap-pieces"), /without the swap rule/);
  refused(game(3, "swap-pieces", true), /Move 1, swap: only White/);
  refused(game(3, "a1 b1 swap-pieces", true), /Move 3, swap: only White/);
  refused(game(3, "b1 a1 b2 a2 b3 a3"), /Move 6, a3: the game is over, black has won/);
});

test("a tree keeps variations; a known move makes no second node", () => {
  const tree = treeOf(game(5, "a1 b1 c1"));
  const second = pathTo(tree, tree.at)[2];
  assert.equal(addMove(tree, second, "c1"), tree.at);
  const branch = addMove(tree, second, "d1");
  assert.deepEqual(movesTo(tree, branch), ["a1", "b1", "d1"]);
  assert.equal(findNode(tree, ["a1", "b1", "d1"]), branch);
  assert.equal(findNode(tree, ["a1", "d1"]), -1);
  assert.deepEqual(lineThrough(tree, 0).length, 4);
});

test("the line shown follows where one was last", () => {
  const tree = treeOf(game(5, "a1 b1 c1"));
  const branch = addMove(tree, 1, "d1");
  goTo(tree, branch);
  goTo(tree, 0);
  assert.deepEqual(lineThrough(tree, 0), [0, 1, branch]);
});

test("a variation becomes the main line, or is deleted with all that follows", () => {
  const tree = treeOf(game(5, "a1 b1 c1"));
  const branch = addMove(tree, 1, "d1");
  const deep = addMove(tree, branch, "e1");
  assert.equal(inMainLine(tree, deep), false);
  makeMainLine(tree, deep);
  assert.equal(inMainLine(tree, deep), true);
  assert.deepEqual(tree.nodes[1].children, [branch, 2]);
  goTo(tree, deep);
  removeVariation(tree, branch);
  assert.equal(tree.at, 1);
  assert.deepEqual(tree.nodes[1].children, [2]);
  assert.equal(tree.nodes[deep], null);
  removeVariation(tree, 0);
  assert.equal(findNode(tree, ["a1", "b1", "c1"]), 3);
  assert.deepEqual(JSON.parse(JSON.stringify(tree)), tree);
});

test("variations lie above and below one another", () => {
  const tree = treeOf(game(5, "a1 b1 c1"));
  const branch = addMove(tree, 1, "d1");
  assert.equal(beside(tree, 2, 1), branch);
  assert.equal(beside(tree, branch, -1), 2);
  assert.equal(beside(tree, branch, 1), -1);
  assert.equal(beside(tree, 3, 1), -1);
});

test("in the drawing of a tree no two moves share a place, and each stands right of its parent", () => {
  const tree = newTree(9, false);
  let seed = 1;
  const draw = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let step = 0; step < 300; step++) {
    const from = draw(tree.nodes.length);
    const depth = pathTo(tree, from).length;
    if (depth < 40) addMove(tree, from, cellName(draw(81), 9));
  }
  const places = layOut(tree);
  assert.equal(places.length, tree.nodes.length);
  assert.equal(new Set(places.map(({ column, row }) => `${column} ${row}`)).size, places.length);
  const at = new Map(places.map((place) => [place.id, place]));
  for (const { id, column, row } of places.filter((place) => place.id !== 0)) {
    const parent = at.get(tree.nodes[id].parent);
    assert.equal(column, parent.column + 1);
    assert.ok(row >= parent.row);
    if (tree.nodes[tree.nodes[id].parent].children[0] === id) assert.equal(row, parent.row);
  }
});

test("the address holds the game", () => {
  for (const one of [game(11, ""), game(11, "a3 b4", true), game(11, "a3 swap-pieces c5", true), game(2, "a1")]) {
    assert.deepEqual(parseFragment(formatFragment(one)), one);
  }
  assert.equal(formatFragment(game(11, "a3 b4", true)), "#11,swap,a3,b4");
  assert.equal(parseFragment(""), null);
  assert.equal(parseFragment("#"), null);
  assert.equal(parseFragment("#5,a1,swap-pieces").swap, true);
  for (const wrong of ["#1", "#20", "#x", "#11,a3,a3", "#11,z9", "#%"])
    assert.throws(() => parseFragment(wrong), Error);
});

test("a clock loses what was thought, gains the increment only in time, and never shows less than nothing", () => {
  const left = newClocks(1);
  assert.deepEqual(afterThinking(left, "black", 2000, 500), { black: 58500, white: 60000 });
  assert.deepEqual(afterThinking(left, "white", 61000, 500), { black: 60000, white: 0 });
  const shown = [3600000, 3661000, 249000, 10000, 9960, 8240, 40, 0, -5].map(formatClock);
  assert.deepEqual(shown, ["1:00:00", "1:01:01", "4:09", "0:10", "10.0", "8.3", "0.1", "0.0", "0.0"]);
});

test("a program never plans for more than half of its time", () => {
  assert.equal(thinkingSeconds(300000, 0), 10);
  assert.equal(thinkingSeconds(1000, 60000), 0.5);
  assert.ok(thinkingSeconds(0, 0) > 0);
});

test("numbers are short", () => {
  assert.deepEqual([950, 12345, 123456, 1200000].map(short), ["950", "12.3k", "123k", "1.20M"]);
  assert.equal(percent(chance(-0.26)), "37");
  assert.equal(lineText(["c5", "swap-pieces"], 4), "5.\u00a0c5  6.\u00a0swap");
});

test("the status says who is to move, who won and how", () => {
  const names = { black: "", white: "net" };
  const say = (more) => statusText({ toMove: "white", winner: "", names, ply: 7, ...more });
  assert.equal(say({}), "White to move");
  assert.equal(say({ busy: true }), "White to move · net thinks");
  assert.equal(say({ paused: true, busy: true }), "White to move · paused");
  assert.equal(say({ winner: "black", toMove: "" }), "Black wins after 7 moves");
  assert.equal(say({ end: { winner: "white", how: "lost on time" } }), "White (net) wins: Black lost on time");
});

test("heat shows visits and policy as shares, values as winning chances", () => {
  const found = [
    { move: "b2", visits: 75, prior: 0.5, value: 0.2 },
    { move: "a1", visits: 20, prior: 0.25, value: -0.5 },
    { move: "swap-pieces", visits: 5, prior: 0.25, value: 0 },
  ];
  const visits = heatOf(found, "visits", 3);
  assert.deepEqual([...visits.keys()], [4, 0]);
  assert.deepEqual(visits.get(4), { share: 1, text: "75", good: null });
  assert.equal(heatOf(found, "policy", 3).get(0).text, "25");
  assert.deepEqual(heatOf(found, "value", 3).get(0), { share: 0.5, text: "25", good: false });
  assert.equal(heatOf(found, "none", 3).size, 0);
  assert.equal(heatOf([], "visits", 3).size, 0);
});

test("ghost stones are numbered and alternate in colour; a swap stands on the mirrored cell", () => {
  assert.deepEqual(ghosts(game(5, "c3"), ["a1", "b1"]), [
    { cell: 0, colour: "white", number: 1 },
    { cell: 1, colour: "black", number: 2 },
  ]);
  assert.deepEqual(ghosts(game(5, "d2", true), ["swap-pieces"]), [{ cell: 16, colour: "white", number: 1 }]);
});

test("mistakes are what cost enough, and was not the best; the worst comes first", () => {
  const entry = (ply, cost, best) => ({ ply, cost, best, value: 0, expected: [] });
  const reviews = [entry(0, 0.06, "c3"), entry(1, 0.3, "a1"), entry(2, 0.2, "c1"), , entry(4, 0.5, "a1")];
  const found = mistakesOf(reviews, ["a3", "b1", "c1", "d1"]);
  assert.deepEqual(
    found.map(({ ply, move, best }) => [ply, move, best]),
    [
      [1, "b1", "a1"],
      [0, "a3", "c3"],
    ],
  );
});

test("the page waits longer and longer for the server, 15 seconds at most", () => {
  const waits = [0, 1, 2, 9].map((attempt) => patience(attempt));
  assert.deepEqual(waits, [500, 1000, 2000, 15000]);
  assert.ok(patience(0, 0) < patience(0, 1));
});

test("a board has its cells in its box, turned as it is wanted", () => {
  for (const orientation of ["flat", "diamond", "upright"]) {
    const { centres, corners, labels, bands, box } = geometry(5, orientation);
    assert.equal(centres.length, 25);
    assert.deepEqual(
      labels.map(({ text }) => text).filter((text) => /[a-z]/.test(text)),
      ["a", "b", "c", "d", "e"],
    );
    assert.equal(bands.length, 4);
    for (const [x, y] of [...corners.flat(), ...bands.flatMap(({ points }) => points)]) {
      assert.ok(x >= box[0] && x <= box[0] + box[2] && y >= box[1] && y <= box[1] + box[3]);
    }
  }
  const [first, ...rest] = geometry(5, "flat").centres;
  assert.ok(Math.abs(first[1] - rest[3][1]) < 1e-9, "a row is level");
  const turned = geometry(5, "diamond").centres;
  assert.ok(Math.abs(turned[0][1] - turned[24][1]) < 1e-9, "the sharp corners are level");
  const upright = geometry(5, "upright").centres;
  assert.ok(Math.abs(upright[0][0] - upright[24][0]) < 1e-9, "the sharp corners are one above the other");
});

test("a virtual connection is drawn from centre to centre and to its edge, what is sure above the ways", () => {
  for (const orientation of ["flat", "diamond", "upright"]) {
    const plan = geometry(5, orientation);
    const lines = [
      ["c3", "c2", "stones"],
      ["c1", "top", "bridge"],
      ["c5", "bottom", "way"],
      ["a3", "left", "bridge"],
      ["e3", "right", "way"],
    ];
    const drawn = linkLines(plan, lines, 5);
    assert.deepEqual(
      drawn.map(({ kind }) => kind),
      ["way", "way", "bridge", "bridge", "stones"],
    );
    assert.deepEqual(drawn.at(-1).points, [plan.centres[12], plan.centres[7]]);
    // A line to an edge leads away from the middle, and ends on the band of the edge.
    for (const [cell, edge] of [
      ["c1", "top"],
      ["c5", "bottom"],
      ["a3", "left"],
      ["e3", "right"],
    ]) {
      const [[x, y], [tipX, tipY]] = linkLines(plan, [[cell, edge, "way"]], 5)[0].points;
      const [middleX, middleY] = plan.centres[12];
      assert.ok(Math.hypot(tipX - middleX, tipY - middleY) > Math.hypot(x - middleX, y - middleY), `${cell} ${edge}`);
      const band = plan.bands.flatMap(({ points }) => points);
      assert.ok(
        band.some(([bandX, bandY]) => Math.hypot(tipX - bandX, tipY - bandY) < 1e-6),
        `${cell} meets ${edge}`,
      );
    }
  }
});

/** A game without a page, after its moves. */
function played(moves, swap = false) {
  const found = new Game(newTree(5, swap));
  found.refresh();
  for (const move of moves.split(" ")) assert.ok(found.add(move), move);
  return found;
}

test("a game knows whose turn it is, takes moves back up to the person's turn, and ends by resignation", () => {
  const found = played("a1 b1 c1 d1");
  found.players = { black: "human", white: "net" };
  assert.equal(found.add("a1"), false);
  assert.equal(found.engine, "");
  found.undo();
  assert.deepEqual(found.game.moves, ["a1", "b1"]);
  found.redo();
  assert.deepEqual(found.game.moves, ["a1", "b1", "c1", "d1"]);
  found.add("e1");
  assert.equal(found.engine, "net");
  found.pause();
  assert.equal(found.engine, "");
  found.resign(); // White is to move, and a program: the person gives up
  assert.deepEqual(found.node.end, { winner: "white", how: "resigned" });
  assert.ok(found.over);
  found.undo();
  assert.equal(found.over, false);
  assert.deepEqual(found.wholeGame.moves, ["a1", "b1", "c1", "d1", "e1"]);
});

test("clocks run from the second move on, while nobody has paused, and a fallen flag ends the game", () => {
  const found = new Game(newTree(5, false));
  found.clock = { minutes: 1, increment: 2 };
  found.node.left = newClocks(1);
  found.refresh();
  assert.equal(found.turn, null);
  found.add("a1");
  assert.equal(found.turn.colour, "white");
  found.turn.since -= 5000;
  assert.ok(Math.abs(found.leftOf("white") - 55000) < 500);
  found.add("b1");
  assert.ok(Math.abs(found.node.left.white - 57000) < 500);
  found.pause();
  assert.equal(found.turn, null);
  found.pause();
  found.turn.since -= 61000;
  found.add("c1");
  assert.deepEqual(found.node.end, { winner: "white", how: "lost on time" });
  assert.deepEqual(found.game.moves, ["a1", "b1"]);
});

/** An analyst whose connection is a list of what was sent; `answer` plays the server. */
function analystWithLog() {
  const sent = [];
  const hears = new Map();
  const connection = {
    open: true,
    send(message, hear) {
      sent.push(message);
      if (hear) hears.set(sent.length, hear);
      return sent.length;
    },
    forget: (id) => hears.delete(id),
  };
  const told = [];
  const host = {
    moved: (answer) => told.push(["moved", answer.move]),
    failed: (text, wasMove) => told.push(["failed", text, wasMove]),
    changed: () => {},
  };
  const analyst = new Analyst(connection, host);
  const answer = (id, more) => hears.get(id)?.({ id, final: true, ...more });
  const situation = (moves, more) => {
    const at = game(5, moves);
    const rest = {
      over: false,
      engine: "",
      programs: [],
      tab: "study",
      studying: false,
      adviser: "net",
      simulations: 16,
    };
    return { game: at, key: formatFragment(at), ...rest, ...more };
  };
  return { analyst, answer, situation, sent, told };
}

const kinds = (sent) => sent.map((message) => message.do);

test("the analyst asks once for what is wanted, stops what is not, and ignores late answers", () => {
  const { analyst, answer, situation, sent } = analystWithLog();
  analyst.think(situation("a1", { studying: true }));
  analyst.think(situation("a1", { studying: true }));
  assert.deepEqual(kinds(sent), ["study"]);
  answer(1, { type: "study", visits: 5, final: false });
  analyst.think(situation("a1 b1", { studying: true }));
  answer(1, { type: "study", visits: 9, final: false });
  assert.equal(analyst.studies.get("#5,a1").visits, 5);
  analyst.think(situation("a1 b1"));
  assert.deepEqual(kinds(sent), ["study", "study", "stop"]);
  answer(2, { type: "stopped" });
  assert.equal(analyst.busy, "");
});

test("the move of a program goes before a study, and a button before both", () => {
  const { analyst, answer, situation, sent, told } = analystWithLog();
  const now = situation("a1", { studying: true, engine: "net", seconds: 2 });
  analyst.think(now);
  assert.deepEqual([sent[0].do, sent[0].seconds, sent[0].player], ["move", 2, "net"]);
  answer(1, { type: "move", move: "c3" });
  assert.deepEqual(told, [["moved", "c3"]]);
  analyst.askHint();
  analyst.think(now);
  assert.deepEqual(kinds(sent), ["move", "study"]);
  answer(2, { type: "study", expected: ["b2", "c3"], candidates: [], value: 0.5 });
  assert.deepEqual(analyst.hint, { key: "#5,a1", line: ["b2", "c3"], value: 0.5 });
  analyst.think(now);
  assert.deepEqual(kinds(sent), ["move", "study", "move"]);
});

test("while nothing else is wanted, the programs of the game get ready, each once for a board", () => {
  const { analyst, answer, situation, sent } = analystWithLog();
  const programs = ["net", "other"];
  analyst.think(situation("", { programs }));
  assert.deepEqual(sent[0], { do: "ready", position: { size: 5, swap: false, moves: [] }, player: "net" });
  analyst.think(situation("a1", { programs, engine: "net" }));
  assert.deepEqual(kinds(sent), ["ready", "move"]); // at once: the move does not wait for the answer
  answer(2, { type: "move", move: "b1" });
  analyst.think(situation("a1 b1", { programs }));
  answer(3, { type: "ready" });
  analyst.think(situation("a1 b1", { programs }));
  answer(4, { type: "ready" });
  analyst.think(situation("a1 b1 c1", { programs }));
  assert.deepEqual(kinds(sent), ["ready", "move", "ready", "ready"]);
  assert.deepEqual([sent[2].player, sent[3].player], programs);
  analyst.interrupted(); // it may be another server
  analyst.think(situation("a1 b1 c1", { programs }));
  assert.equal(sent.at(-1).do, "ready");
});

test("a program that cannot get ready keeps no other from it, and a study that ended keeps none", () => {
  const { analyst, answer, situation, sent } = analystWithLog();
  const now = situation("a1", { programs: ["broken", "net"], studying: true });
  analyst.think(now);
  answer(1, { type: "study", visits: 100 });
  analyst.think(now);
  answer(2, { type: "error", text: "no" });
  analyst.think(now);
  answer(3, { type: "ready" });
  analyst.think(now);
  assert.deepEqual(kinds(sent), ["study", "ready", "ready"]);
  assert.equal(sent[2].player, "net");
});

test("a review is dropped with its work, another work is not", () => {
  const { analyst, answer, situation, sent } = analystWithLog();
  const now = situation("a1 b1", {});
  analyst.think(now);
  analyst.askReview(now.game, [0, 1, 2]);
  analyst.think(now);
  analyst.dropReview();
  analyst.think(now);
  answer(1, { type: "review", ply: 0, final: false });
  assert.deepEqual([analyst.review, analyst.job, ...kinds(sent)], [null, null, "review", "stop"]);
  analyst.askHint();
  analyst.dropReview();
  analyst.think(now);
  assert.equal(analyst.busy, "study");
});

test("what failed is not asked again until something is tried again", () => {
  const { analyst, answer, situation, sent, told } = analystWithLog();
  const now = situation("a1", { engine: "net" });
  analyst.think(now);
  answer(1, { type: "error", text: "no" });
  analyst.think(now);
  assert.equal(sent.length, 1);
  assert.deepEqual(told, [["failed", "no", true]]);
  analyst.retry();
  analyst.think(now);
  assert.equal(sent.length, 2);
});

test("a study that ended does not begin again, and solver and search go on when the other is stopped", () => {
  const { analyst, answer, situation, sent } = analystWithLog();
  const now = situation("a1", { studying: true });
  analyst.think(now);
  answer(1, { type: "study", visits: 100 });
  analyst.think(now);
  assert.deepEqual(kinds(sent), ["study"]);
  analyst.think(situation("a1 b1", { studying: true }));
  analyst.solve(now.game, now.key);
  analyst.think(situation("a1 b1"));
  assert.deepEqual(kinds(sent), ["study", "study", "solve", "stop"]);
  assert.equal(sent[3].work, "search");
  answer(3, { type: "error", text: "not solved" });
  assert.deepEqual(analyst.solves.get("#5,a1"), { problem: "not solved" });
  analyst.think(situation("a1 b1", { studying: true }));
  analyst.solve(now.game, now.key);
  analyst.stopSolving();
  analyst.think(situation("a1 b1", { studying: true }));
  assert.deepEqual(kinds(sent).slice(4), ["study", "solve", "stop"]);
  assert.equal(sent[6].work, "solve");
  assert.equal(analyst.busy, "study");
});

/** The games of a text, and those of what is written of them. */
function againOf(text) {
  const games = readText(text, 11);
  return [games, games.map((one) => ({ ...readText(sgfOf(one), 11)[0], ply: one.ply }))];
}

test("games keep result, names, comments, marks, setup and passes in a round trip", () => {
  const text =
    "(;GM[11]SZ[5]PB[a [b\\]\\\\]EV[cup]DT[2026]AB[a1:a3]AW[b1][c1]PL[W]C[Hi\\] you]TR[a1]LB[b2:A];W[d4]C[x]" +
    ";B[e5](;W[e4];B[resign])(;W[d3]SQ[d4];B[pass];W[a5]))\n(;GM[11]SZ[4]RE[B+Time];B[a1];W[swap-pieces])";
  const [games, again] = againOf(text);
  assert.deepEqual(again, games);
  const [one, two] = games;
  assert.deepEqual(one.setup, { black: ["a1", "a2", "a3"], white: ["b1", "c1"], first: "white" });
  assert.deepEqual(one.names, { black: "a [b]\\", white: "", event: "cup", date: "2026" });
  assert.deepEqual(one.end, { winner: "white", how: "resigned" });
  assert.deepEqual(one.nodes[0], { move: "", parent: -1, comment: "Hi] you", marks: { a1: "TR", b2: "LB:A" } });
  assert.deepEqual(
    one.nodes.slice(1).map(({ move }) => move),
    ["d4", "e5", "e4", "d3", "pass", "a5"],
  );
  assert.deepEqual([two.swap, two.end], [true, { winner: "black", how: "lost on time" }]);
});

test("links of HexWorld keep their cursor, and boards of HexWiki and moves are read", () => {
  for (const link of ["#11c1,a3:sf6,g7:rb", "#5c1,c3:pb2:fb", "#5c1,a1b2,c3", "#3c1,c3"]) {
    const [game] = readText(link, 11);
    const moves = game.nodes.slice(1).map(({ move }) => move);
    assert.equal(hexworldOf({ ...game, moves, ply: game.ply ?? undefined }), `https://hexworld.org/board/${link}\n`);
  }
  const [board] = readText('<hexboard size="5x5" contents="R a3 B d4 1:c3" />', 11);
  assert.deepEqual(board.setup, { black: ["a3"], white: ["d4", "c3"], first: "black" });
  assert.deepEqual(board.nodes[0].marks, { c3: "LB:1" });
  const movesOf = (text) =>
    readText(text, 11)[0]
      .nodes.slice(1)
      .map(({ move }) => move);
  assert.deepEqual(movesOf("1. a3 2. swap 3. c5"), ["a3", "swap-pieces", "c5"]);
  assert.deepEqual(readText("no game", 11), []);
  assert.throws(() => readText("#5,a1a1", 11), /the cell is taken/);
  const collection = "(;GM[11]SZ[5];B[a1])(;GM[11]SZ[5];B[z9])(;GM[1]SZ[9])(;GM[11]SZ[5:4])(;GM[11]SZ[4];B[b2])";
  const [first, cell, go, rows, last] = readText(collection, 11);
  assert.deepEqual([first.size, last.size], [5, 4]);
  assert.match(cell.error.message, /no cell of a 5×5 board/);
  assert.match(go.error.message, /not a game of Hex/);
  assert.match(rows.error.message, /as many rows/);
});

test("variations are left out from their first wrong move on", () => {
  const [game] = readText("(;GM[11]SZ[3];B[a1](;W[b2])(;W[a1];B[c1])(;W[swap-pieces];B[c1]))", 11);
  const moves = game.nodes.map(({ move, parent }) => `${move} ${parent}`);
  assert.deepEqual(moves, [" -1", "a1 0", "b2 1", "swap-pieces 1", "c1 3"]);
});

test("a game that White begins is mirrored, and an old swap of sides leaves the stones", () => {
  const [[white], [again]] = againOf("(;GM[11]SZ[5]PB[x]PW[y];W[a2];B[c3])");
  assert.deepEqual(again, white);
  assert.deepEqual([white.nodes[1].move, white.names.black], ["b1", "y"]);
  const [sides] = readText("(;GM[11]SZ[5]PB[x]PW[y];B[a1];W[swap-pieces];W[b2])", 11);
  assert.deepEqual([sides.nodes.length, sides.names.black], [3, "y"]);
});

test("stones that are set up have an address, and are moves in turns for a server", () => {
  const setup = { black: ["a1", "b2"], white: ["c3"], first: "white" };
  const start = { size: 4, swap: false, moves: ["d1"], setup };
  assert.equal(formatFragment(start), "#4,+a1,+b2,-c3,~,d1");
  assert.deepEqual(parseFragment(formatFragment(start)), start);
  const { cells, toMove } = replay(inTurns(start));
  assert.deepEqual([cells, toMove], [replay(start).cells, "black"]);
  assert.throws(() => inTurns({ ...start, moves: [], setup: { ...setup, first: "black" } }), /moves in turn/);
});

test(
  "recorded games of real tournaments keep all they have",
  { skip: !existsSync(REAL) && "no recorded games here" },
  () => {
    const files = readdirSync(REAL).filter((name) => name.endsWith(".sgf"));
    for (const name of files) {
      const [games, again] = againOf(readFileSync(new URL(name, REAL), "utf-8"));
      assert.equal(games.length > 0, true, name);
      assert.deepEqual(again, games, name);
    }
  },
);

test("the engine of the page has the rules", () => {
  const cells = new Int8Array(9);
  for (const cell of [1, 4]) cells[cell] = 1;
  assert.equal(connects(cells, 3, 4), false);
  assert.equal(connects(cells, 3, place(cells, 3, 6, 1)), true); // b1 b2 a3
  const opened = Int8Array.from([0, 0, 1, 0, 0, 0, 0, 0, 0]);
  assert.equal(place(opened, 3, 9, -1), 6);
  assert.deepEqual([...opened], [0, 0, 0, 0, 0, 0, -1, 0, 0]);
  assert.deepEqual(halvingRow(4, 8), [0, 0, 0, 0, 1, 1, 2, 2]);
  assert.equal(WebAssembly.validate(moduleBytes()), true);
});
