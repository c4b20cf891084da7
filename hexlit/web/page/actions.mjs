/* What the buttons do. */

import { part } from "./elements.mjs";
import { copy, download, readGame, writeGame } from "./files.mjs";
import { HUMAN } from "./game.mjs";
import { TURNS } from "./geometry.mjs";
import { otherSide } from "./notes.mjs";
import { nextPuzzle } from "./puzzles.mjs";
import { keepGame, listRecent } from "./recent.mjs";
import { PASS, SWAP } from "./rules.mjs";
import { lineThrough, makeMainLine, newTree, nextOf, removeVariation } from "./variations.mjs";

/** What the buttons do, by their `data-do`; keys do the same. */
export function actionsOf(page) {
  const show = (id) => part(id).showModal();
  return {
    new: () => askNew(page),
    open: () => {
      part("open-told").textContent = "";
      part("open-games").parentElement.hidden = true;
      keepGame(page);
      listRecent();
      show("open-dialog");
    },
    puzzle: () => nextPuzzle(page),
    save: () => {
      show("save-dialog");
      writeGame(page);
    },
    help: () => show("help-dialog"),
    close: (control) => control.closest("dialog").close(),
    dismiss: () => page.complain(""),
    first: () => page.visit(0),
    "first-board": () => page.visit(0),
    back: () => page.visit(page.node.parent),
    forward: () => page.visit(nextOf(page.tree, page.tree.at)),
    last: () => page.visit(lineThrough(page.tree, page.tree.at).pop()),
    undo: () => page.undo(),
    redo: () => page.redo(),
    swap: () => {
      if (page.position.maySwap) page.play(SWAP);
    },
    analyse: () => page.change({ analyse: !page.settings.analyse }),
    hurry: () => page.connection.send({ do: "hurry" }),
    pause: () => {
      if (page.pausable) page.pause();
    },
    resign: () => page.resign(),
    pass: () => page.play(PASS),
    side: () => otherSide(page),
    promote: () => {
      makeMainLine(page.tree, page.tree.at);
      page.refresh();
    },
    delete: () => {
      page.settleClock();
      if (page.analyst.review?.line.includes(page.tree.at)) page.analyst.dropReview();
      removeVariation(page.tree, page.tree.at);
      page.refresh();
    },
    study: () => page.switchStudy(!page.studying),
    heat: () => {
      const kinds = ["visits", "policy", "value", "none"];
      page.change({ heat: kinds[(kinds.indexOf(page.settings.heat) + 1) % kinds.length] });
    },
    turn: () => {
      const kinds = Object.keys(TURNS);
      page.change({ orientation: kinds[(kinds.indexOf(part("board").dataset.orientation) + 1) % kinds.length] });
    },
    hint: () => page.askHint(),
    solve: () => page.solve(),
    "stop-solve": () => page.analyst.stopSolving(),
    review: () => page.askReview(),
    "stop-review": () => page.analyst.stopJob(),
    read: () => {
      const list = part("open-games");
      const number = list.parentElement.hidden ? -1 : list.selectedIndex;
      readGame(
        page,
        part("open-text").value,
        (text) => {
          part("open-told").textContent = text;
        },
        number,
      );
    },
    copy,
    download: () => download(page),
  };
}

/** Open the dialog of a new game, filled with what is played now. */
function askNew(page) {
  part("new-size").value = page.tree.size;
  part("new-swap").checked = page.tree.swap;
  part("new-black").value = page.players.black;
  part("new-white").value = page.players.white;
  part("new-simulations").value = page.simulations;
  part("new-dialog").showModal();
}

/** Begin the game of the dialog. */
export function startNew(page) {
  const number = (id) => Number(part(id).value);
  const players = { black: part("new-black").value || HUMAN, white: part("new-white").value || HUMAN };
  const clock = part("new-clock").checked
    ? { minutes: number("new-minutes"), increment: number("new-increment") }
    : null;
  part("simulations").value = number("new-simulations") || page.simulations;
  page.begin(newTree(number("new-size"), part("new-swap").checked), players, clock);
}
