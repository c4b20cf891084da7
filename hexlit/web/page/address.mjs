/* The address: the position in the fragment, such as #11,swap,a3,swap-pieces,c5. */

import { LARGEST, SMALLEST, SWAP, replay } from "./rules.mjs";

/** The fragment of a game. */
export const formatFragment = ({ size, swap, moves }) => `#${[size, ...(swap ? ["swap"] : []), ...moves].join(",")}`;

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
  const moves = words.slice(swap ? 2 : 1).filter((word) => word !== "");
  const game = { size, swap: swap || moves[1] === SWAP, moves };
  replay(game);
  return game;
}
