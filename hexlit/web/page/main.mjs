/* The script of the page of `hexlit play`: a board to play and study Hex on.
 *
 * The page keeps the game with its variations. The server keeps none: every request holds the position that it is
 * about (see hexlit/web/requests.py). A page with a recorded game (see hexlit/web/recorded.py) has no server at all.
 *
 *   rules, variations, address, clocks, words, findings, geometry   pure functions
 *   game                                                            the game that is played, without anything seen
 *   connection, analyst                                             the server: what it is asked, what it answered
 *   elements, board_view, tree_view, graph_view                     drawings, which know nothing of the rest
 *   page                                                            the game with all that is seen and asked
 *   *_panel                                                         each shows one part of the page
 *   actions, keyboard, listening, files, recorded, storage          what people do, and what is kept
 */

import { Page } from "./page.mjs";

window.page = new Page();
