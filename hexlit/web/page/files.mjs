/* Games from texts and files, and back. */

import { formatFragment } from "./address.mjs";
import { make, part } from "./elements.mjs";
import { HUMAN, RESIGNED } from "./game.mjs";
import { lineOf, readText } from "./reading.mjs";
import { BLACK, SWAP, WHITE, inTurns, other, replay } from "./rules.mjs";
import { goTo, lineThrough, movesTo, nodesOf, treeFrom } from "./variations.mjs";
import { short } from "./words.mjs";
import { hexworldOf, sgfOf } from "./writing.mjs";

const LONGEST_TEXT = 200000; // bytes of a game; the server takes no longer message

/**
 * Open a game of a text: of a format that this page reads, else of one that the server reads. `told` hears what is wrong
 * with it. Where the text has several games and `number` is none of them, they are listed.
 */
export function readGame(page, text, told, number = -1) {
  if (!text.trim()) return told("There is no text yet.");
  let games = [];
  try {
    games = readText(text, page.tree.size);
  } catch (error) {
    if (page.connection.alone) return told(error.message);
    games = []; // the server may know better, and says what is wrong
  }
  if (games.length > 1 && number < 0) return listGames(page, text, games.map(labelOf));
  const game = games[Math.max(0, number)];
  if (game && !game.error) return openGame(page, game, told);
  if (page.connection.alone)
    return told(game?.error.message ?? "No game is found: SGF, a link of HexWorld, a <hexboard> or moves are read.");
  const length = new Blob([text]).size;
  if (length > LONGEST_TEXT) {
    return told(`The text has ${short(length)} bytes; one game of at most ${short(LONGEST_TEXT)} is taken.`);
  }
  const sent = page.connection.send({ do: "read", text, game: Math.max(0, number) }, (answer) => {
    if (answer.type !== "game") return told(answer.text);
    if (answer.games.length > 1 && number < 0) return listGames(page, text, answer.games);
    const { size, moves, black, white, event, date, end } = answer;
    return openGame(page, { ...lineOf(size, moves, end), names: { black, white, event, date } }, told);
  });
  return sent ? undefined : told("There is no connection to the server.");
}

/** A game of several in a few words, or what is wrong with it. */
function labelOf({ error, size, nodes, names }) {
  if (error) return error.message;
  const { black, white, event, date } = names;
  return [`${black || "Black"} – ${white || "White"}`, `${size}×${size}`, `${nodes.length - 1} moves`, event, date]
    .filter(Boolean)
    .join(", ");
}

/** Let the person choose among the games of a text. */
function listGames(page, text, labels) {
  const list = part("open-games");
  list.replaceChildren(...labels.map((label, value) => make("option", { value }, `${value + 1}. ${label}`)));
  list.parentElement.hidden = false;
  list.selectedIndex = 0;
  part("open-text").value = text;
  part("open-told").textContent = "";
  if (!part("open-dialog").open) part("open-dialog").showModal();
}

function openGame(page, game, told) {
  const { size, nodes, setup, names, end, ply } = game;
  try {
    const tree = treeFrom({ size, swap: game.swap || nodes.some(({ move }) => move === SWAP), nodes, setup });
    const line = lineThrough(tree, 0);
    replay({ size, swap: tree.swap, setup, moves: movesTo(tree, line.at(-1)) });
    if (end) tree.nodes[line.at(-1)].end = end;
    goTo(tree, line.at(-1));
    goTo(tree, line[ply ?? line.length - 1]);
    page.begin(tree, { black: HUMAN, white: HUMAN });
    page.names = names;
    page.refresh();
  } catch (error) {
    return told(error.message);
  }
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  return told("");
}

/** Open the game of a file. */
export async function readFile(page, file) {
  const told = (text) => {
    if (part("open-dialog").open) part("open-told").textContent = text;
    else page.complain(text);
  };
  if (file.size > 4 * LONGEST_TEXT) return told(`${file.name} is too long for one game.`);
  return readGame(page, await file.text(), told);
}

/** Games come by a dropped file, a dropped text and the clipboard, too. */
export function listenToDrops(page) {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) readFile(page, file);
    else readGame(page, event.dataTransfer.getData("text"), (text) => page.complain(text));
  });
  addEventListener("paste", (event) => {
    if (event.target.closest?.("input, textarea") || document.querySelector("dialog[open]")) return;
    readGame(page, event.clipboardData.getData("text"), (text) => page.complain(text));
  });
}

/** The game as text in the chosen format; the line that is shown is its main line. */
export function writeGame(page) {
  const [format, text, told] = ["save-format", "save-text", "save-told"].map(part);
  const chosen = format.value;
  text.value = "";
  told.textContent = "";
  page.suffix = ".txt";
  const line = lineThrough(page.tree, page.tree.at);
  const game = page.wholeGame;
  const { end = null } = page.tree.nodes[line.at(-1)];
  const { winner } = replay(game);
  const result = winner ? { winner, how: "" } : end;
  const names = { ...page.names, black: nameOf(page, BLACK), white: nameOf(page, WHITE) };
  try {
    if (chosen === "link") {
      text.value = location.href.replace(/#.*$/, "") + formatFragment(game);
      return;
    }
    if (chosen === "sgf") {
      page.suffix = ".sgf";
      text.value = sgfOf({ ...game, nodes: nodesOf(page.tree, line), names, end: result });
      return;
    }
    if (chosen === "hexworld") {
      text.value = hexworldOf({ ...game, ply: page.game.moves.length, end: result });
      return;
    }
    inTurns(game);
  } catch (error) {
    told.textContent = error.message;
    return;
  }
  const { black, white } = names;
  const message = { do: "write", position: game, format: chosen, black, white };
  if (end?.how) message.given_up = { loser: other(end.winner), how: end.how === RESIGNED ? "resigned" : "time" };
  const sent = page.connection.send(message, (answer) => {
    if (format.value !== chosen) return; // another one was chosen meanwhile
    if (answer.type === "text") {
      text.value = answer.text;
      page.suffix = answer.suffix ?? page.suffix;
    } else {
      told.textContent = answer.text;
    }
  });
  if (!sent) told.textContent = "There is no connection to the server.";
}

/** A player's name for a record. */
function nameOf(page, colour) {
  const name = page.players[colour];
  return name === HUMAN ? (page.names?.[colour] ?? "") : page.titleOf(name);
}

/** Save the text of the dialog as a file. */
export function download(page) {
  const { value } = part("save-text");
  if (!value) return;
  const link = make("a", { download: `hex-${page.tree.size}x${page.tree.size}${page.suffix}` });
  link.href = URL.createObjectURL(new Blob([value], { type: "text/plain" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  part("save-told").textContent = `Saved as ${link.download}.`;
}

/** Copy the text of the dialog. */
export async function copy() {
  const text = part("save-text");
  text.select();
  let done = false;
  try {
    await navigator.clipboard.writeText(text.value);
    done = true;
  } catch {
    // no permission, or no secure context
    done = document.execCommand("copy");
  }
  part("save-told").textContent = done ? "Copied." : "The browser forbids copying; the text is selected.";
}
