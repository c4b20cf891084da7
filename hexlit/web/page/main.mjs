/* The script of the page of `hexlit play`: a board to play and study Hex on.
 *
 * The page keeps the game with its variations. The server keeps none: every request holds the position that it is
 * about (see hexlit/web/messages.py). A page with a recorded game (see hexlit/web/pages.py) has no server at all, and
 * one with a network in it (see hexlit/web/engine/start.mjs) answers for itself.
 *
 *   rules, variations, address, clocks, words, findings, geometry   pure functions
 *   game                                                            the game that is played, without anything seen
 *   connection, analyst                                             the server: what it is asked, what it answered
 *   elements, board_view, tree_view, graph_view                     drawings, which know nothing of the rest
 *   page                                                            the game with all that is seen and asked
 *   *_panel                                                         each shows one part of the page
 *   actions, keyboard, listening, files, recorded, storage          what people do, and what is kept
 */

import { Connection } from "./connection.mjs";
import { Page } from "./page.mjs";

const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
window.page = new Page((told, failed) => new Connection(address, told, failed));
