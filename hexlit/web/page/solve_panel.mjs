/* The exact verdict. */

import { overlayOf } from "./board_panel.mjs";
import { button, part } from "./elements.mjs";
import { BLACK, WHITE } from "./rules.mjs";
import { capital, short } from "./words.mjs";

export function showSolve(page) {
  const { hello } = page;
  const { solving, solves } = page.analyst;
  const found = solves.get(page.key);
  const busy = solving !== null;
  const large = hello && page.tree.size > hello.solver_board;
  button("solve").disabled = busy || page.over || !hello || large;
  button("stop-solve").hidden = !busy;
  let [verdict, more] = ["", ""];
  if (page.over) verdict = "The game is over.";
  else if (large)
    verdict = `Positions are solved on boards of up to ${hello.solver_board} rows; this one has ${page.tree.size}.`;
  else if (busy) verdict = "Solving …";
  else if (found?.problem) verdict = capital(found.problem) + (/[.!?]$/.test(found.problem) ? "" : ".");
  else if (found) [verdict, more] = verdictOf(page, found);
  part("verdict").textContent = verdict;
  part("solve-more").textContent = more;
  const legend = part("solve-legend");
  const { link } = overlayOf(page);
  legend.hidden = !found || Boolean(found.problem) || busy;
  if (link) legend.dataset.side = link.colour;
  for (const entry of legend.querySelectorAll(".linked")) entry.hidden = !link;
  for (const entry of legend.querySelectorAll(".keyed")) entry.hidden = !(link?.key >= 0);
}

/** The exact verdict in words. */
function verdictOf(page, { winner, winning, links, nodes, seconds }) {
  const { toMove, maySwap } = page.position;
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
