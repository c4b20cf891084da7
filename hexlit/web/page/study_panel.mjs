/* What a search, the policy and the map of openings say beside the board. */

import { button, make, part } from "./elements.mjs";
import { BLACK } from "./rules.mjs";
import { capital, chance, lineText, moveText, percent, short } from "./words.mjs";

const MOST_ROWS = 10; // of a table of moves

export function showStudy(page) {
  const { study, game } = page;
  const mover = page.position.toMove;
  const visits = study ? `${short(study.visits)} visits${study.full ? ", as many as fit" : ""}` : "";
  part("study-visits").textContent = visits || (page.studying && !page.over ? "…" : "");
  const look = page.analyst.looks.get(page.key);
  const value = study?.value ?? (page.tab === "policy" ? look?.value : undefined);
  const balance = part("balance");
  balance.hidden = value === undefined;
  if (value !== undefined) {
    const black = mover === BLACK ? chance(value) : 1 - chance(value);
    const text = `Black ${percent(black)}%`;
    balance.style.setProperty("--black", `${(100 * black).toFixed(1)}%`);
    balance.setAttribute("aria-label", `Winning chances: ${text}, White ${percent(1 - black)}%`);
    balance.lastElementChild.textContent = text;
  }
  const line = study?.expected ?? [];
  part("expected").textContent = line.length ? `Expected: ${lineText(line.slice(0, 12), game.moves.length)}` : "";
  part("reply").textContent = line.length > 1 ? `Expected reply to ${moveText(line[0])}: ${moveText(line[1])}` : "";
  const most = study ? Math.max(...study.candidates.map(({ visits }) => visits), 1) : 1;
  fillRows(
    "candidates",
    study ? study.candidates.slice(0, MOST_ROWS) : [],
    ({ move, visits, value: worth, prior }) => ({
      move,
      cells: [short(visits), `${percent(chance(worth))}%`, `${(100 * prior).toFixed(1)}%`],
      share: visits / most,
    }),
  );
  part("study-empty").hidden = page.studying;
  for (const choice of part("heat").querySelectorAll("input")) choice.checked = choice.value === page.settings.heat;
}

/** The rows of a table of moves, changed in place, so that pointer and focus stay where they are. */
function fillRows(id, found, row) {
  const table = part(id);
  const body = table.tBodies[0];
  while (body.rows.length > found.length) body.lastElementChild.remove();
  found.forEach((one, place) => {
    const { move, cells, share } = row(one);
    let line = body.rows[place];
    if (!line) {
      line = make(
        "tr",
        {},
        make("td", {}, make("button", { type: "button", class: "small" })),
        ...cells.map(() => make("td", { class: "number" })),
      );
      body.append(line);
    }
    const button = line.firstElementChild.firstElementChild;
    if (line.dataset.move !== move) {
      line.dataset.move = move;
      button.textContent = moveText(move);
      button.setAttribute("aria-label", `Play ${moveText(move)}`);
    }
    line.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
    cells.forEach((text, column) => {
      if (line.cells[column + 1].textContent !== text) line.cells[column + 1].textContent = text;
    });
  });
  table.hidden = !found.length;
}

/** Moves of the impression without search, the likeliest first. */
export function impressionsOf(page) {
  const policy = page.over ? {} : (page.analyst.looks.get(page.key)?.policy ?? {});
  return Object.entries(policy)
    .map(([move, prior]) => ({ move, prior }))
    .sort((a, b) => b.prior - a.prior);
}

export function showPolicy(page) {
  const found = impressionsOf(page).slice(0, MOST_ROWS);
  const value = page.analyst.looks.get(page.key)?.value;
  const told = page.over
    ? "The game is over."
    : value === undefined
      ? ""
      : `${capital(page.position.toMove)} to move wins with ${percent(chance(value))}%`;
  part("look-told").textContent = told;
  fillRows("impressions", found, ({ move, prior }) => ({
    move,
    cells: [`${(100 * prior).toFixed(1)}%`],
    share: prior / found[0].prior,
  }));
}

export function showOpenings(page) {
  const { openings } = page.analyst;
  const { size, moves } = page.game;
  const there = openings?.size === size;
  let told = "Searching each first stone …";
  if (there && !openings.final) {
    told = `${Object.keys(openings.values).length} of ${size * size} first stones are searched.`;
  } else if (there && !moves.length) {
    const fair = Object.entries(openings.values).sort((a, b) => Math.abs(a[1]) - Math.abs(b[1]))[0];
    told = `The fairest opening: ${fair[0]}, with ${percent(chance(fair[1]))}% for Black. Searched, not proved.`;
  } else if (there) {
    told = "The map belongs to the empty board.";
  }
  part("openings-told").textContent = part("adviser").value
    ? told
    : "None of the players on offer can study positions.";
  button("first-board").hidden = moves.length === 0;
}
