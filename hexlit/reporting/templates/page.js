"use strict";
(() => {
  // Tables: a click or Enter on a heading sorts by it, text typed above filters the rows.
  const keyOf = (row, place) => {
    const cell = row.cells[place];
    const text = (cell.dataset.sort ?? cell.textContent).trim();
    const number = Number(text.replaceAll(",", "").replace(/%$/, ""));
    return text !== "" && Number.isFinite(number) ? number : text.toLowerCase();
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1;
    if (typeof b === "number") return 1;
    return a.localeCompare(b);
  };
  const missing = (key) => key === "–" || key === "";

  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    if (body.rows.length > 1) {
      [...table.tHead.rows[0].cells].forEach((head, place) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = head.textContent;
        head.replaceChildren(button);
        button.addEventListener("click", () => {
          const down = head.getAttribute("aria-sort") === "ascending";
          for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
          head.setAttribute("aria-sort", down ? "descending" : "ascending");
          const rows = [...body.rows].map((row) => [keyOf(row, place), row]);
          rows.sort(([a], [b]) => missing(a) - missing(b) || (down ? compare(b, a) : compare(a, b)));
          body.append(...rows.map(([, row]) => row));
        });
      });
    }
    // The first columns stay in sight, each to the right of those before it, as long as they leave room.
    const keep = () => {
      for (const row of table.rows) {
        let left = 0;
        for (const cell of row.cells) {
          if (!cell.classList.contains("kept")) break;
          cell.style.left = `${left}px`;
          left += cell.offsetWidth;
        }
      }
    };
    keep();
    addEventListener("resize", keep);
  }

  for (const input of document.querySelectorAll("input[data-table]")) {
    const rows = document.getElementById(input.dataset.table).tBodies[0].rows;
    const told = input.closest("p").querySelector("output");
    input.closest("p").hidden = false;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      told.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    });
  }

  // Games: the stones of the moves so far, the last one with a ring.
  const SVG = "http://www.w3.org/2000/svg";
  const element = (name, attributes, text = "") => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };

  for (const viewer of document.querySelectorAll("[data-viewer]")) {
    const data = JSON.parse(document.getElementById(`${viewer.dataset.viewer}-data`).textContent);
    const stones = viewer.querySelector(".stones");
    const select = viewer.querySelector("select");
    const slider = viewer.querySelector("input[type=range]");
    const told = viewer.querySelector(".told");
    const moves = viewer.querySelector(".moves");

    const show = () => {
      const game = data.games[Number(select.value)];
      const ply = Number(slider.value);
      stones.replaceChildren();
      for (let number = 0; number < ply; number++) {
        if (number === 0 && game.swapped && ply > 1) continue;
        const cell = game.cells[number], row = Math.floor(cell / data.size), colour = number % 2;
        const x = data.margin + data.wide * ((cell % data.size) + row / 2 + 0.5);
        const y = data.margin + data.side * (1.5 * row + 1);
        stones.append(element("circle", { cx: x, cy: y, r: data.radius, fill: data.stones[colour], stroke: data.edge }));
        if (number === ply - 1) {
          const ring = { cx: x, cy: y, r: data.radius - 2.2, fill: "none", stroke: data.ring, "stroke-width": 2.6 };
          stones.append(element("circle", ring));
        }
        const text = { x, y: y + 4.6, "text-anchor": "middle", "font-size": number < 99 ? 13 : 11, fill: data.inks[colour] };
        stones.append(element("text", text, String(number + 1)));
      }
      const who = ply % 2 ? "Black" : "White";
      const last = ply ? `Move ${ply} of ${game.names.length}: ${who} ${game.names[ply - 1]}` : "The empty board";
      const end = ply === game.names.length ? `. ${game.result}` : "";
      told.textContent = last + (game.notes[ply] ? ` (${game.notes[ply]})` : "") + end;
      slider.setAttribute("aria-valuetext", last);
    };
    const choose = () => {
      const game = data.games[Number(select.value)];
      slider.max = game.names.length;
      slider.value = game.names.length;
      moves.textContent = game.names.map((name, place) => `${place + 1}.${name}`).join(" ");
      show();
    };
    select.addEventListener("change", choose);
    slider.addEventListener("input", show);
    for (const button of viewer.querySelectorAll("button[data-step]")) {
      button.addEventListener("click", () => {
        const step = button.dataset.step;
        if (step === "first") slider.value = 0;
        else if (step === "last") slider.value = slider.max;
        else slider.value = Number(slider.value) + Number(step);
        show();
      });
    }
    choose();
  }
})();
