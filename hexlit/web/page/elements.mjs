/* Elements of the page: those that are there, and new ones. */

/** The element of the page with this id. */
export const part = (id) => document.getElementById(id);

/** The first button that does `what`. */
export const button = (what) => document.querySelector(`[data-do="${what}"]`);

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children; a string becomes text. */
export function draw(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** An HTML element; see `draw`. */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const pointsText = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
