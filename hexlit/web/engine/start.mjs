/* The script of a page of `hexlit export format=page`: the page of `hexlit play` with a network, without a server.
 *
 *   product, network   the network's policy and value, by WebAssembly that is made here
 *   board, distance    stones, planes, and the length of the rest of a game
 *   search, thinker    the tree search, and the answers to what the page asks
 *   worker             runs them beside the page
 *   local              stands for the server: messages to the worker
 *
 * All but local are in the script of the worker, which `hexlit.web.network_page` joins by itself.
 */

import { part } from "../page/elements.mjs";
import { Page } from "../page/page.mjs";
import { LocalConnection } from "./local.mjs";

for (const one of document.querySelectorAll("[data-only=server]")) {
  if (one.matches("label"))
    one.hidden = true; // its value is asked for
  else one.remove();
}
const exported = JSON.parse(part("network").textContent);
window.page = new Page((told, failed) => new LocalConnection(exported, told, failed));
