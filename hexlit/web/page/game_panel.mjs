/* The status, the players with their clocks, and the controls of the game. */

import { formatClock } from "./clocks.mjs";
import { button, make, part } from "./elements.mjs";
import { HUMAN, RESIGNED } from "./game.mjs";
import { MY_LEVEL, isLevel, playerOf } from "./my_level.mjs";
import { BLACK, WHITE } from "./rules.mjs";
import { inMainLine, nextOf } from "./variations.mjs";
import { capital, chance, moveText, percent, short, statusText } from "./words.mjs";

export function showStatus(page) {
  const { toMove, winner } = page.position;
  const names = { black: page.titleOf(page.players.black), white: page.titleOf(page.players.white) };
  const busy = page.analyst.busy === "move";
  const paused = page.paused && page.pausable;
  const seconds = busy ? Math.floor((performance.now() - page.analyst.running.since) / 1000) : 0;
  const { length: ply } = page.game.moves;
  const { visits } = page.analyst.running ?? {};
  const text = statusText({ toMove, winner, end: page.node.end, names, busy, seconds, visits, paused, ply });
  button("hurry").hidden = seconds < 1;
  const shown = page.said || text;
  if (part("status").textContent !== shown) part("status").textContent = shown;
  part("status").classList.toggle("busy", busy);
  if (!page.recorded) document.title = `${text} – hexlit`;
  for (const colour of [BLACK, WHITE]) {
    const card = part(`card-${colour}`);
    card.classList.toggle("to-move", !page.over && toMove === colour);
    card.classList.toggle("winner", winner === colour || page.node.end?.winner === colour);
  }
}

export function showControls(page) {
  const { at } = page.tree;
  const [back, forward] = [at > 0, nextOf(page.tree, at) >= 0];
  button("first").disabled = !back;
  button("back").disabled = !back;
  button("undo").disabled = !back && page.node.end?.how !== RESIGNED;
  for (const what of ["forward", "last", "redo"]) button(what).disabled = !forward;
  button("swap").hidden = !page.position.maySwap || Boolean(page.engine) || page.over;
  button("pause").hidden = !page.pausable;
  button("pause").textContent = page.paused ? "Continue" : "Pause";
  button("resign").disabled = page.over || forward;
  button("delete").disabled = at === 0;
  button("promote").disabled = inMainLine(page.tree, at);
  part("player-black").value = page.players.black;
  part("player-white").value = page.players.white;
  part("study").checked = page.studying;
  const { hint, job } = page.analyst;
  const thinking = job !== null && job.message.do === "study";
  button("hint").disabled = page.over || thinking;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.dataset.tab === page.tab;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    part(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
  part("hint").hidden = !hint && !thinking;
  if (thinking) part("hint").textContent = `Looking for the best move, ${short(page.simulations)} simulations …`;
  if (hint)
    part("hint").textContent =
      `Best: ${hint.line.map(moveText).join(" ")} ` +
      `(${percent(chance(hint.value))}% for ${capital(page.position.toMove)})`;
}

export function showClocks(page) {
  for (const colour of [BLACK, WHITE]) {
    const shown = part(`clock-${colour}`);
    const left = page.leftOf(colour);
    const text = left === undefined ? "" : formatClock(left);
    if (shown.textContent !== text) shown.textContent = text;
    shown.classList.toggle("low", left !== undefined && left < 20000);
    shown.classList.toggle("runs", page.turn?.colour === colour);
  }
}

export function fillPlayers(page) {
  const offered = page.hello.players;
  const option = ({ name, title }) => make("option", { value: name }, page.titleOf(name) || title);
  const levels = offered.filter(({ name }) => isLevel(name)).map(option);
  const programs = offered.filter(({ name }) => !isLevel(name)).map(option);
  if (levels.length) levels.unshift(make("option", { value: MY_LEVEL }, `My level (${page.settings.level})`));
  const group = (label, options) => (options.length ? [make("optgroup", { label }, ...options)] : []);
  const options = () => [
    make("option", { value: HUMAN }, "Human"),
    ...group(
      "Levels",
      levels.map((one) => one.cloneNode(true)),
    ),
    ...group(
      "Programs",
      programs.map((one) => one.cloneNode(true)),
    ),
  ];
  for (const id of ["player-black", "player-white", "new-black", "new-white"]) part(id).replaceChildren(...options());
  const chosen = part("adviser").value;
  const advisers = offered.filter(({ studies }) => studies);
  showPlayers(page);
  part("adviser").replaceChildren(...advisers.map(({ name, title }) => make("option", { value: name }, title || name)));
  if (!advisers.length) part("adviser").append(make("option", { value: "" }, "none"));
  if (advisers.some(({ name }) => name === chosen)) part("adviser").value = chosen;
}

/** What the programs that play are, below their names. */
export function showPlayers(page) {
  const names = Object.values(page.players).filter((name) => name !== HUMAN);
  const playing = names.map((name) => playerOf(name, page.settings.level));
  const told = page.hello.players
    .filter(({ name }) => playing.includes(name))
    .map(({ name, about, largest_board: largest }) => {
      const warning = largest && page.tree.size > largest ? `; trained on boards of up to ${largest} rows` : "";
      return `${page.titleOf(name)}: ${about}${warning}.`;
    });
  for (const colour of [BLACK, WHITE]) {
    const [human] = part(`player-${colour}`).options;
    human.textContent = page.names?.[colour] || "Human";
  }
  part("players-told").textContent = told.join(" ");
}
