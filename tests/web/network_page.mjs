// What the page of a network computes, for tests/web/test_network_page.py: JSON in, JSON out.

import { readFileSync } from "node:fs";

import { Network } from "../../hexlit/web/engine/network.mjs";
import { Search } from "../../hexlit/web/engine/search.mjs";

const given = JSON.parse(readFileSync(0, "utf-8"));
const { exported, plain = false, planes = [], size = 5, swap = false, positions = [], simulations = 48 } = given;
const net = new Network(exported, plain);

/** [...policy, value] of each position of each board in `planes`. */
const judged = planes.map((boards) =>
  boards.map((one) => {
    const side = Math.sqrt(one.length / 5);
    const { policy, value } = net.evaluate(one, side, side * side + 1);
    return [...policy, value];
  }),
);

/** The move of one tree in each of `positions` in turn, and [action, visits] of those that it has tried. */
const search = new Search((...one) => net.evaluate(...one), size, swap);
const searched = positions.map((position) => {
  search.position(...position);
  search.begin(simulations, 0);
  while (!search.planned) search.simulate();
  const tried = search.candidates().map(({ move, visits }) => [move, visits]);
  return [search.result().move, tried.sort((one, two) => one[0] - two[0])];
});

process.stdout.write(JSON.stringify({ judged, searched }));
