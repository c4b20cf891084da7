/* Games from texts and files, and back. */

import { formatFragment } from "./address.mjs";
import { make, part } from "./elements.mjs";
import { HUMAN, RESIGNED } from "./game.mjs";
import { BLACK, SWAP, WHITE, other, replay } from "./rules.mjs";
import { findNode, goTo, lineThrough, nodesOf, treeFrom } from "./variations.mjs";
import { short } from "./words.mjs";

const MOST_NODES = 5000; // of a tree that is written; the server takes no more
const LONGEST_TEXT = 200000; // bytes of a game; the server takes no longer message

/** Open the game of a text in any format that the server reads; `told` hears what is wrong with it. */
export function readGame(page, text, told) {
  if (!text.trim()) return told("There is no text yet.");
  const length = new Blob([text]).size;
  if (length > LONGEST_TEXT) {
    return told(`The text has ${short(length)} bytes; one game of at most ${short(LONGEST_TEXT)} is taken.`);
  }
  const sent = page.connection.send({ do: "read", text }, (answer) => {
    if (answer.type !== "game") return told(answer.text);
    const unread = answer.unread.length;
    try {
      const { size, nodes, moves } = answer;
      const swap = answer.swap || nodes.some(({ move }) => move === SWAP);
      replay({ size, swap, moves });
      const tree = treeFrom({ size, swap, nodes });
      goTo(tree, findNode(tree, moves));
      page.begin(tree, { black: HUMAN, white: HUMAN });
      page.names = { black: answer.black, white: answer.white };
    } catch (error) {
      return told(error.message);
    }
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    told("");
    if (unread) page.complain(`${unread === 1 ? "1 variation" : `${unread} variations`} left out: ${answer.unread[0]}`);
    return undefined;
  });
  return sent ? undefined : told("There is no connection to the server.");
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

/** The line that is shown, with its names, as text in the chosen format. */
export function writeGame(page) {
  const [format, text, told] = ["save-format", "save-text", "save-told"].map(part);
  const game = page.wholeGame;
  const chosen = format.value;
  text.value = "";
  told.textContent = "";
  page.suffix = ".txt";
  if (chosen === "link") {
    text.value = location.href.replace(/#.*$/, "") + formatFragment(game);
    return;
  }
  const message = {
    do: "write",
    position: game,
    format: chosen,
    black: nameOf(page, BLACK),
    white: nameOf(page, WHITE),
  };
  const { end } = page.tree.nodes[lineThrough(page.tree, page.tree.at).at(-1)];
  if (chosen === "sgf") {
    const nodes = nodesOf(page.tree, lineThrough(page.tree, page.tree.at));
    if (nodes.length > game.moves.length + 1) message.nodes = nodes;
    if (nodes.length > MOST_NODES) {
      told.textContent = `The game has ${short(nodes.length)} moves with its variations; ${MOST_NODES} are written.`;
      return;
    }
  }
  if (end) message.given_up = { loser: other(end.winner), how: end.how === RESIGNED ? "resigned" : "time" };
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
  return (name === HUMAN ? (page.names?.[colour] ?? "") : name).slice(0, 100);
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
