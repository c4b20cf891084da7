/* The tree of a game: plain data, so that it can be stored as JSON. */

/**
 * A tree without moves. A node is {move, parent, children, follow, end, left}: `follow` is the child that was looked at
 * last, `end` is {winner, how} where somebody resigned or lost on time, `left` the milliseconds on both clocks. `comment`
 * is a text, `marks` the marks of cells by their names, `good` whether SGF calls the move good or bad. `setup` are the stones before the first move, see `replay`.
 */
export function newTree(size, swap, setup = null) {
  return { size, swap, setup, nodes: [{ move: "", parent: -1, children: [] }], at: 0 };
}

/** Whether two trees, or a tree and a game, have the same board, rule and first position. */
export const sameStart = (one, two) =>
  one.size === two.size &&
  one.swap === two.swap &&
  JSON.stringify(one.setup ?? null) === JSON.stringify(two.setup ?? null);

/** The tree of one game; stands at its end. */
export function treeOf({ size, swap, moves, setup = null }) {
  const tree = newTree(size, swap, setup);
  for (const move of moves) tree.at = addMove(tree, tree.at, move);
  return tree;
}

/** The number of the child of `id` with this move, -1 where there is none. */
export const childWith = (tree, id, move) =>
  tree.nodes[id].children.find((child) => tree.nodes[child].move === move) ?? -1;

/** The number of the node after `move` at node `id`, which is new unless it was played before. */
export function addMove(tree, id, move) {
  const known = childWith(tree, id, move);
  if (known >= 0) return known;
  tree.nodes.push({ move, parent: id, children: [] });
  tree.nodes[id].children.push(tree.nodes.length - 1);
  return tree.nodes.length - 1;
}

/** The tree of `nodes` ([{move, parent, comment, marks}], the first position first); first children are the main line. */
export function treeFrom({ size, swap, nodes, setup = null }) {
  const tree = newTree(size, swap, setup);
  const ids = [0];
  for (const { move, parent } of nodes.slice(1)) ids.push(addMove(tree, ids[parent], move));
  nodes.forEach(({ comment, marks, good }, number) => Object.assign(tree.nodes[ids[number]], { comment, marks, good }));
  return tree;
}

/** The nodes of `tree` as `treeFrom` takes them, with the nodes of `line` as the main line. */
export function nodesOf(tree, line) {
  const nodes = [];
  const on = new Set(line);
  const waiting = [{ id: 0, parent: -1 }];
  while (waiting.length) {
    const { id, parent } = waiting.pop();
    const { move, children, comment, marks, good } = tree.nodes[id];
    nodes.push({ move, parent, comment, marks, good });
    const number = nodes.length - 1;
    const sorted = [...children.filter((child) => on.has(child)), ...children.filter((child) => !on.has(child))];
    for (const child of sorted.reverse()) waiting.push({ id: child, parent: number });
  }
  return nodes;
}

/** The nodes from the empty board to `id`. */
export function pathTo(tree, id) {
  const path = [];
  for (let at = id; at !== -1; at = tree.nodes[at].parent) path.unshift(at);
  return path;
}

/** The moves from the empty board to `id`. */
export const movesTo = (tree, id) =>
  pathTo(tree, id)
    .slice(1)
    .map((node) => tree.nodes[node].move);

/** The node that comes next: the one looked at last, else the first; -1 at the end. */
export function nextOf(tree, id) {
  const { children, follow } = tree.nodes[id];
  return children.includes(follow) ? follow : (children[0] ?? -1);
}

/** The nodes of the line that leads through `id` to its end. */
export function lineThrough(tree, id) {
  const line = pathTo(tree, id);
  for (let at = nextOf(tree, id); at !== -1; at = nextOf(tree, at)) line.push(at);
  return line;
}

/** Make `id` the current node, and remember the way to it. */
export function goTo(tree, id) {
  tree.at = id;
  for (let at = id; tree.nodes[at].parent !== -1; at = tree.nodes[at].parent) {
    tree.nodes[tree.nodes[at].parent].follow = at;
  }
}

/** The node after these moves, -1 where the tree does not have them. */
export function findNode(tree, moves) {
  let at = 0;
  for (const move of moves) {
    at = childWith(tree, at, move);
    if (at < 0) return -1;
  }
  return at;
}

/** Delete `id` and all that follows; whoever stood there stands before it. The empty board stays. */
export function removeVariation(tree, id) {
  if (id === 0) return;
  const { parent } = tree.nodes[id];
  if (pathTo(tree, tree.at).includes(id)) tree.at = parent;
  tree.nodes[parent].children = tree.nodes[parent].children.filter((child) => child !== id);
  const waiting = [id];
  while (waiting.length) {
    const gone = waiting.pop();
    waiting.push(...tree.nodes[gone].children);
    tree.nodes[gone] = null; // the numbers of the others stay
  }
}

/** Whether `id` is on the line of the first children. */
export const inMainLine = (tree, id) =>
  pathTo(tree, id).every((node) => node === 0 || tree.nodes[tree.nodes[node].parent].children[0] === node);

/** Make the way to `id` the main line. */
export function makeMainLine(tree, id) {
  for (const node of pathTo(tree, id).slice(1)) {
    const parent = tree.nodes[tree.nodes[node].parent];
    parent.children = [node, ...parent.children.filter((child) => child !== node)];
  }
}

/**
 * Places of the nodes in a drawing of the tree: [{id, column, row}]. The column is the number of moves before; the
 * main line has row 0, and a variation the first row below its parent where it meets no other.
 */
export function layOut(tree) {
  const places = [];
  const lowest = []; // the lowest row in use, by column
  const waiting = [{ id: 0, column: 0, row: 0 }];
  while (waiting.length) {
    const start = waiting.pop();
    const line = [];
    for (let id = start.id; id !== undefined; id = tree.nodes[id].children[0]) line.push(id);
    let { row } = start;
    if (start.id !== 0) {
      for (let column = start.column - 1; column < start.column + line.length; column++) {
        row = Math.max(row, (lowest[column] ?? -1) + 1);
      }
    }
    line.forEach((id, step) => {
      const column = start.column + step;
      lowest[column] = Math.max(lowest[column] ?? 0, row);
      places.push({ id, column, row });
    });
    if (start.id !== 0) lowest[start.column - 1] = row; // the branch passes there
    // The last branch of a line comes first, so that branches do not cross; a stack takes them from its end.
    line.forEach((id, step) => {
      for (const child of tree.nodes[id].children.slice(1).reverse()) {
        waiting.push({ id: child, column: start.column + step + 1, row: row + 1 });
      }
    });
  }
  return places;
}

/** The node above (`step` -1) or below (+1) a node in the drawing of the tree, after as many moves; -1 for none. */
export function beside(tree, id, step) {
  const places = layOut(tree);
  const { column } = places.find((place) => place.id === id);
  const same = places.filter((place) => place.column === column).sort((a, b) => a.row - b.row);
  const found = same[same.findIndex((place) => place.id === id) + step];
  return found ? found.id : -1;
}
