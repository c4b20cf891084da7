/* The games that were played in this browser last. */

import { make, part } from "./elements.mjs";
import { HUMAN } from "./game.mjs";
import { replay } from "./rules.mjs";
import { stored } from "./storage.mjs";
import { lineThrough, nodesOf } from "./variations.mjs";
import { sgfOf } from "./writing.mjs";

const RECENT = "hexlit-recent-1";
const MOST_RECENT = 20;
const FEWEST_MOVES = 4; // of a game that is kept

/** Keep the game of the page, before another one begins. */
export function keepGame(page) {
  if (page.recorded || page.tree.nodes.length <= FEWEST_MOVES) return;
  const line = lineThrough(page.tree, page.tree.at);
  const game = page.wholeGame;
  const { winner } = replay(game);
  const end = winner ? { winner, how: "" } : (page.tree.nodes[line.at(-1)].end ?? null);
  const nameOf = (colour) => (page.players[colour] === HUMAN ? "" : page.titleOf(page.players[colour]));
  const own = { black: nameOf("black"), white: nameOf("white") };
  const names = { event: "", date: new Date().toISOString().slice(0, 10), ...own, ...page.names };
  const text = sgfOf({ ...game, nodes: nodesOf(page.tree, line), names, end });
  const people = `${names.black || "Human"} – ${names.white || "Human"}`;
  const label = `${names.date}, ${people}, ${game.size}×${game.size}, ${game.moves.length} moves`;
  const others = (stored.read("localStorage", RECENT) ?? []).filter((one) => one.text !== text);
  stored.write("localStorage", RECENT, [{ label, text }, ...others].slice(0, MOST_RECENT));
}

/** Fill the list of the dialog. */
export function listRecent() {
  const games = stored.read("localStorage", RECENT) ?? [];
  const options = games.map(({ label, text }) => make("option", { value: text }, label));
  part("open-recent").replaceChildren(make("option", { value: "" }, "choose …"), ...options);
  part("open-recent-part").hidden = !games.length;
}
