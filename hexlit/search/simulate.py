"""One simulation in three verbs: select a leaf, expand it, back its value up.

Everything here works on one game `g` of many and allocates nothing. `advance` runs every game as far as possible
without the evaluator: until a leaf waits for it, or the budget of simulations is used up.
"""

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.encoding import OPPONENT, OWN, write_planes
from hexlit.hex.engine import Stones, copy_stones, play_action
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.search.algorithm import choose, prepare_root
from hexlit.search.cache import AnswerCache, recall
from hexlit.search.tree import NONE, SMALLEST_PRIOR, Params, Tree, clear_node


@uncounted_device_function
def select(tree: Tree, roots: Stones, walk: Stones, g: int, params: Params, table: Geometry) -> int:
    """Walk from the root to a node that has no value yet or ends the game; `walk` then holds its position."""
    copy_stones(roots, g, walk, g)
    node, colour = 0, int(tree.game[g].to_move)
    while tree.node[g, node].visits > 0 and not tree.node[g, node].lost:
        node = choose(tree, g, node, params)
        won = play_action(walk, g, int(tree.node[g, node].action), colour, table)
        tree.node[g, node].lost = won
        colour = -colour
    return node


@inline
def at_least(number: np.float32, least: np.float32) -> np.float32:
    """The larger of both, or NaN if `number` is NaN."""
    return least if number < least else number


@uncounted_device_function
def expand(
    tree: Tree, g: int, leaf: int, planes: NDArray[np.int8], policy: NDArray[np.float32], value: float, params: Params
) -> None:
    """Give `leaf` its priors, from the evaluator's row `policy` `[A]`: illegal actions dropped, the sum made 1.

    Marks the game as faulty if the answer holds NaN or infinity.
    """
    size = planes.shape[1]
    cells = size * size
    priors = tree.policy[g, leaf]
    total = np.float32(0.0)
    for row in range(size):
        for column in range(size):
            cell = row * size + column
            legal = planes[OWN, row, column] + planes[OPPONENT, row, column] == 0
            priors[cell] = at_least(policy[cell], SMALLEST_PRIOR) if legal else np.float32(0.0)
            total += priors[cell]
    if params.swap:
        legal = tree.game[g].ply + (0 if leaf == 0 else depth(tree, g, leaf)) == 1
        priors[cells] = at_least(policy[cells], SMALLEST_PRIOR) if legal else np.float32(0.0)
        total += priors[cells]
    if not abs(total + np.float32(value)) < np.inf:  # false for NaN, too
        tree.game[g].faulty = True
        return
    best, highest = NONE, np.float32(0.0)
    scale = np.float32(1.0) / total
    for action in range(priors.size):
        priors[action] *= scale
        if priors[action] > highest:
            best, highest = action, priors[action]
    tree.node[g, leaf].next_action = best
    tree.node[g, leaf].network_value = value
    if leaf == 0:
        prepare_root(tree, g, params)


@inline
def back_up(tree: Tree, g: int, leaf: int, value: float) -> None:
    """Add `value`, for the player to move at `leaf`, to every node up to the root; its sign changes with the player."""
    node = leaf
    while node != NONE:
        tree.node[g, node].visits += 1
        tree.node[g, node].value_sum += value
        value = -value
        node = tree.node[g, node].parent


@inline
def depth(tree: Tree, g: int, node: int) -> int:
    """Moves between the root and `node`."""
    moves = 0
    while node != 0:
        node = tree.node[g, node].parent
        moves += 1
    return moves


@inline
def write_leaf(
    tree: Tree, walk: Stones, g: int, leaf: int, planes: NDArray[np.int8], row: int, params: Params, table: Geometry
) -> None:
    """Write the position of `leaf`, which `walk` holds, into row `row` of `planes`."""
    moves = depth(tree, g, leaf)
    to_move = tree.game[g].to_move if moves % 2 == 0 else -tree.game[g].to_move
    may_swap = params.swap and tree.game[g].ply + moves == 1
    write_planes(planes, row, walk.cells[g], to_move, may_swap, table)


@inline
def begin(
    tree: Tree,
    g: int,
    to_move: int,
    ply: int,
    budget: int,
    schedule: int,
    noise: float,
    key: np.uint64,
) -> None:
    """Start a search in game `g`; its root is the position in `roots`, which must not be decided."""
    clear_node(tree, g, 0, NONE)
    game = tree.game[g]
    game.key = key
    game.nodes = 1
    game.leaf = NONE
    game.faulty = False
    game.budget = budget
    game.schedule = schedule
    game.kept = 0
    game.noise = noise
    game.ply = ply
    game.to_move = to_move


@inline
def finished(tree: Tree, g: int) -> bool:
    """Whether the search of game `g` has used its budget."""
    return bool(tree.node[g, 0].visits > tree.game[g].budget)


@uncounted_device_function
def receive(
    tree: Tree,
    g: int,
    planes: NDArray[np.int8],
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    params: Params,
) -> None:
    """Take in the evaluation of the leaf that game `g` waits for, if it waits."""
    leaf = int(tree.game[g].leaf)
    if leaf == NONE:
        return
    expand(tree, g, leaf, planes[g], policy[g], float(value[g]), params)
    if tree.game[g].faulty:
        return
    back_up(tree, g, leaf, float(value[g]))
    tree.game[g].leaf = NONE


@uncounted_device_function
def simulate(
    tree: Tree,
    roots: Stones,
    walk: Stones,
    g: int,
    planes: NDArray[np.int8],
    cache: AnswerCache,
    params: Params,
    table: Geometry,
) -> int:
    """Run simulations of game `g` until one needs the evaluator (its position is then in `planes`) or all are done.

    Returns how many of them found their answer in `cache`.
    """
    recalled = 0
    while not finished(tree, g):
        leaf = select(tree, roots, walk, g, params, table)
        if tree.node[g, leaf].lost:
            back_up(tree, g, leaf, -1.0)
            continue
        write_leaf(tree, walk, g, leaf, planes, g, params, table)
        place = recall(cache, planes[g])
        if place == NONE:
            tree.game[g].leaf = leaf
            break
        expand(tree, g, leaf, planes[g], cache.policy[place], float(cache.value[place]), params)
        if tree.game[g].faulty:
            tree.game[g].leaf = leaf
            break
        back_up(tree, g, leaf, float(cache.value[place]))
        recalled += 1
    return recalled


@uncounted_kernel
def advance(
    first: int,
    last: int,
    tree: Tree,
    roots: Stones,
    walk: Stones,
    planes: NDArray[np.int8],
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    cache: AnswerCache,
    params: Params,
    table: Geometry,
) -> int:
    """Carry the games `first` to `last` - 1 that have a search to their next leaf; returns how many then wait."""
    waiting = 0
    for g in range(first, last):
        if tree.game[g].nodes > 0:
            receive(tree, g, planes, policy, value, params)
            if tree.game[g].leaf == NONE:
                simulate(tree, roots, walk, g, planes, cache, params, table)
            waiting += tree.game[g].leaf != NONE
    return waiting


@uncounted_kernel
def begin_all(
    tree: Tree,
    to_move: NDArray[np.int8],
    ply: NDArray[np.int16],
    budget: int,
    noise: NDArray[np.float32],
    keys: NDArray[np.uint64],
) -> None:
    """Start a search in the first `to_move.size` games; the others are idle."""
    for g in range(tree.game.size):
        tree.game[g].nodes = 0
    for g in range(to_move.size):
        begin(tree, g, to_move[g], ply[g], budget, 0, noise[g], keys[g])
