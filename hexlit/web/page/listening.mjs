/* Whatever people do on the page leads here. */

import { actionsOf, startNew } from "./actions.mjs";
import { make, part } from "./elements.mjs";
import { listenToDrops, readFile, writeGame } from "./files.mjs";
import { fillPlayers } from "./game_panel.mjs";
import { keysOf, press } from "./keyboard.mjs";
import { listenToFingers } from "./recorded.mjs";
import { writeComment } from "./notes.mjs";
import { BLACK, LARGEST, SMALLEST, WHITE } from "./rules.mjs";
import { nextOf } from "./variations.mjs";

/** Fill what is chosen from, and listen to all controls. */
export function listen(page) {
  const actions = actionsOf(page);
  page.change({});
  part("theme").value = page.settings.theme;
  const [smallest, largest] = page.connection.sizes ?? [SMALLEST, LARGEST];
  for (let size = smallest; size <= largest; size++) {
    part("new-size").append(make("option", { value: size }, `${size} × ${size}`));
  }
  part("keys").append(
    ...keysOf(page).flatMap(([, , key, told]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, told)]),
  );
  document.addEventListener("click", (event) => {
    const control = event.target.closest("[data-do]");
    if (control) actions[control.dataset.do](control);
  });
  document.addEventListener("keydown", (event) => press(page, event, actions));
  part("orientation").addEventListener("change", (event) => page.change({ orientation: event.target.value }));
  part("stones").value = page.settings.stones;
  part("numbers").checked = page.settings.numbers;
  part("stones").addEventListener("change", (event) => page.change({ stones: event.target.value }));
  part("numbers").addEventListener("change", (event) => page.change({ numbers: event.target.checked }));
  part("comment").addEventListener("change", () => writeComment(page));
  part("open-recent").addEventListener("change", (event) => {
    part("open-text").value = event.target.value;
  });
  part("board").addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || !event.deltaY) return; // a pinch zooms
      event.preventDefault();
      page.visit(event.deltaY < 0 ? page.node.parent : nextOf(page.tree, page.tree.at));
    },
    { passive: false },
  );
  part("theme").addEventListener("change", (event) => page.change({ theme: event.target.value }));
  part("heat").addEventListener("change", (event) => page.change({ heat: event.target.value }));
  part("study").addEventListener("change", (event) => page.switchStudy(event.target.checked));
  part("adviser").addEventListener("change", () => {
    page.analyst.forget();
    page.refresh();
  });
  for (const colour of [BLACK, WHITE]) {
    part(`player-${colour}`).addEventListener("change", (event) => {
      page.players = { ...page.players, [colour]: event.target.value };
      page.analyst.retry();
      page.refresh();
    });
  }
  part("simulations").addEventListener("change", (event) => {
    event.target.dataset.chosen = "yes";
    event.target.value = page.simulations;
    if (page.hello) fillPlayers(page);
    page.refresh();
  });
  part("new-clock").addEventListener("change", (event) => {
    part("new-times").hidden = !event.target.checked;
  });
  part("new-dialog")
    .querySelector("form")
    .addEventListener("submit", () => startNew(page));
  part("save-format").addEventListener("change", () => writeGame(page));
  part("open-file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) await readFile(page, file);
    event.target.value = "";
  });
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => openTab(page, tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const tabs = [...document.querySelectorAll("[role=tab]")];
      openTab(page, tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]).focus();
    });
  }
  listenToLines(page);
  if (page.recorded) listenToFingers(page);
  else listenToDrops(page);
  part("board").addEventListener("blur", () => page.board.moveCursor(-1));
  part("mistakes").addEventListener("click", (event) => {
    const button = event.target.closest("[data-ply]");
    if (button) page.visit(page.analyst.review.line[Number(button.dataset.ply)]);
  });
  addEventListener("hashchange", () => page.follow());
  addEventListener("resize", () => page.soon());
}

function openTab(page, tab) {
  page.tab = tab.dataset.tab;
  page.pointed = null;
  page.analyst.retry();
  page.refresh();
  return tab;
}

/** A line under the pointer or the focus is shown on the board as ghost stones. */
function listenToLines(page) {
  const point = (line) => {
    page.pointed = line;
    page.soon();
  };
  const lineOf = (event) => {
    const move = event.target.closest("tr")?.dataset.move;
    if (!move) return null;
    const { study } = page;
    const own = page.tab === "study" ? study?.candidates.find((one) => one.move === move)?.line : null;
    return own ?? (page.tab === "study" && study?.expected[0] === move ? study.expected : [move]);
  };
  for (const id of ["candidates", "impressions"]) {
    const body = part(id).tBodies[0];
    body.addEventListener("mouseover", (event) => point(lineOf(event)));
    body.addEventListener("focusin", (event) => point(lineOf(event)));
    body.addEventListener("mouseleave", () => point(null));
    body.addEventListener("focusout", () => point(null));
    body.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) page.play(button.closest("tr").dataset.move);
      else point(lineOf(event));
    });
  }
  part("expected").addEventListener("mouseenter", () => point(page.study?.expected ?? null));
  part("expected").addEventListener("mouseleave", () => point(null));
}
