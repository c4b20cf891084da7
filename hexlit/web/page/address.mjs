/* The address: the position in the fragment, such as #11,swap,a3,swap-pieces,c5. */

import { BLACK, LARGEST, SMALLEST, SWAP, WHITE, replay } from "./rules.mjs";

/** The fragment of a game; stones set up are +a1 (Black) and -a1 (White), and ~ says that White begins. */
export function formatFragment({ size, swap, moves, setup }) {
  const stones = setup
    ? [
        ...setup.black.map((cell) => `+${cell}`),
        ...setup.white.map((cell) => `-${cell}`),
        ...(setup.first === WHITE ? ["~"] : []),
      ]
    : [];
  return `#${[size, ...(swap ? ["swap"] : []), ...stones, ...moves].join(",")}`;
}

/** The game of a fragment, null for an empty one; throws an Error with one line for people where it holds no game. */
export function parseFragment(text) {
  const words = text.replace(/^#/, "").replace(/%2c/gi, ",").toLowerCase().split(",");
  if (words.length === 1 && words[0] === "") return null;
  const size = /^[0-9]{1,2}$/.test(words[0]) ? Number(words[0]) : 0;
  if (size < SMALLEST || size > LARGEST) {
    throw new Error(
      `The address ends with “${words[0].slice(0, 20)}”: ` +
        `a size from ${SMALLEST} to ${LARGEST} is needed, as in #11,swap,a3,b4.`,
    );
  }
  const swap = words[1] === "swap";
  const rest = words.slice(swap ? 2 : 1).filter((word) => word !== "");
  const moves = rest.filter((word) => !/^[+~-]/.test(word));
  const stones = (sign) => rest.filter((word) => word.startsWith(sign)).map((word) => word.slice(1));
  const setup = { black: stones("+"), white: stones("-"), first: rest.includes("~") ? WHITE : BLACK };
  const game = { size, swap: swap || moves[1] === SWAP, moves };
  if (rest.length > moves.length) game.setup = setup;
  replay(game);
  return game;
}
