/* What the browser keeps. */

export const STORED_GAME = "hexlit-game-1"; // the number changes with what is stored, so that nothing old is misread

/** Settings of the page, until somebody changes them. */
export const USUAL = {
  orientation: "",
  theme: "auto",
  heat: "visits",
  stones: "black",
  numbers: false,
  analyse: false,
};

/** Reads and writes JSON in a storage of the browser, which may be full or forbidden. */
export const stored = {
  read(storage, name) {
    try {
      return JSON.parse(window[storage].getItem(name));
    } catch {
      return null;
    }
  },
  write(storage, name, value) {
    try {
      window[storage].setItem(name, JSON.stringify(value));
    } catch {
      /* The page works without; only a reload forgets more. */
    }
  },
};
