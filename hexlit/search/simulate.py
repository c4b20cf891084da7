"""One simulation in three verbs: select a leaf, expand it, back its value up.

Everything here works on one game `g` of many and allocates nothing. `advance` runs every game as
far as possible without the evaluator: until a leaf waits for it, or the budget of simulations is
used up. `advance_leaves` does the same with several leaves of one tree for one call of the
evaluator: see `LeafQueue`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import FloatArray, Int8Array, Int16Array
from hexlit.hex.encoding import OPPONENT, OWN, write_planes
from hexlit.hex.engine import Stones, copy_stones, play_action
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.search.evaluator import AnswerCache, Batch, position_key, recall
from hexlit.search.rule import chosen_child, needs_all_values, store_root
from hexlit.search.tree import NONE, SMALLEST_PRIOR, Params, Tree, clear_node


@uncounted_device_function
def select(tree: Tree, roots: Stones, walk: Stones, g: int, params: Params, table: Geometry) -> int:
    """Walk from the root to a node that has no value yet or ends the game; `walk` then holds its
    position.
    """
    copy_stones(roots, g, walk, g)
    node, colour = 0, int(tree.game[g].to_move)
    while tree.node[g, node].visits > 0 and not tree.node[g, node].terminal:
        node = chosen_child(tree, g, node, params)
        won = play_action(walk, g, int(tree.node[g, node].action), colour, table)
        tree.node[g, node].terminal = won
        colour = -colour
    return node


@inline
def at_least(number: np.float32, least: np.float32) -> np.float32:
    """The larger of both, or NaN if `number` is NaN."""
    return least if number < least else number


@uncounted_device_function
def expand(
    tree: Tree,
    g: int,
    leaf: int,
    planes: Int8Array,
    policy: FloatArray,
    value: float,
    params: Params,
) -> None:
    """Give `leaf` its priors, from the evaluator's row `policy` `[A]`: illegal actions dropped, the
    sum made 1.

    Marks the game as faulty if the answer holds NaN or infinity, or the value is outside [-1, 1].
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
    sound = total < np.inf and abs(value) <= 1.0  # false for NaN, too
    if not sound:
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
        store_root(tree, g, params)


@inline
def back_up(tree: Tree, g: int, leaf: int, value: float) -> None:
    """Add `value`, for the player to move at `leaf`, to every node up to the root; its sign changes
    with the player.
    """
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
    tree: Tree,
    walk: Stones,
    g: int,
    leaf: int,
    planes: Int8Array,
    row: int,
    params: Params,
    table: Geometry,
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
def receive(tree: Tree, g: int, batch: Batch, params: Params) -> None:
    """Take in the evaluation of the leaf that game `g` waits for, if it waits."""
    leaf = int(tree.game[g].leaf)
    if leaf == NONE:
        return
    value = float(batch.value[g])
    expand(tree, g, leaf, batch.planes[g], batch.policy[g], value, params)
    if tree.game[g].faulty:
        return
    back_up(tree, g, leaf, value)
    tree.game[g].leaf = NONE


@uncounted_device_function
def simulate(
    tree: Tree,
    roots: Stones,
    walk: Stones,
    g: int,
    batch: Batch,
    cache: AnswerCache,
    params: Params,
    table: Geometry,
) -> int:
    """Run simulations of game `g` until one needs the evaluator (its position is then in `batch`)
    or all are done.

    Returns how many of them found their answer in `cache`.
    """
    recalled = 0
    while not finished(tree, g):
        leaf = select(tree, roots, walk, g, params, table)
        if tree.node[g, leaf].terminal:
            back_up(tree, g, leaf, -1.0)
            continue
        write_leaf(tree, walk, g, leaf, batch.planes, g, params, table)
        place = NONE
        if cache.keys.size > 0:
            tree.game[g].leaf_key = position_key(batch.planes[g])
            place = recall(cache, tree.game[g].leaf_key)
        if place == NONE:
            tree.game[g].leaf = leaf
            break
        expand(
            tree, g, leaf, batch.planes[g], cache.policy[place], float(cache.value[place]), params
        )
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
    planes: Int8Array,
    policy: FloatArray,
    value: FloatArray,
    cache: AnswerCache,
    params: Params,
    table: Geometry,
) -> int:
    """Carry the games `first` to `last` - 1 that have a search to their next leaf; returns how many
    then wait.
    """
    batch, waiting = Batch(planes, policy, value), 0
    for g in range(first, last):
        if tree.game[g].nodes > 0:
            receive(tree, g, batch, params)
            if tree.game[g].leaf == NONE:
                simulate(tree, roots, walk, g, batch, cache, params, table)
            waiting += tree.game[g].leaf != NONE
    return waiting


@uncounted_kernel
def begin_all(
    tree: Tree,
    to_move: Int8Array,
    ply: Int16Array,
    budget: int,
    noise: FloatArray,
    keys: NDArray[np.uint64],
) -> None:
    """Start a search in the first `to_move.size` games; the others are idle."""
    for g in range(tree.game.size):
        tree.game[g].nodes = 0
    for g in range(to_move.size):
        begin(tree, g, to_move[g], ply[g], budget, 0, noise[g], keys[g])


class LeafQueue(NamedTuple):
    """The leaves of G games that wait for their evaluation, up to K per game; N nodes per game.

    A leaf that waits for its evaluation counts as a lost visit for the player of each move on the
    way to it (virtual loss: Chaslot, Winands, van den Herik 2008, "Parallel Monte-Carlo tree
    search"). So the next selection takes another branch. When the answers come, visits and sums of
    values are restored bit by bit. Then the leaves are expanded and backed up in the order of their
    selection. A batch ends before it is full if

    - the selection comes to a leaf that waits already: no leaf is twice in a batch;
    - sequential halving is about to drop root moves: it needs the values of all of them first;
    - with root batching, a leaf waits under the root's next move.

    So with root batching the leaves of a batch lie in different subtrees of the root, and no
    selection is changed by the others. Sequential halving gives each move of a round the same
    visits in any order, so its tree is that of the search without batches. `GumbelConfig.rescale`
    is the exception: a missing value may change the order of the others. PUCT is only approximated:
    it chooses before it has the values.
    """

    leaf: NDArray[np.int32]
    """Nodes that wait, in the order of their selection, `[G, K]`."""
    length: NDArray[np.int32]
    """Number of these nodes, `[G]`."""
    waiting: NDArray[np.int32]
    """Number of leaves that wait at or below each node, `[G, N]`."""
    value_sum: FloatArray
    """Sums of values of the nodes above such leaves, without the virtual losses, `[G, N]`."""


def empty_leaf_queue(games: int, leaves: int, nodes: int) -> LeafQueue:
    """A queue without waiting leaves, for `games` games of up to `nodes` nodes."""
    return LeafQueue(
        leaf=np.zeros((games, leaves), np.int32),
        length=np.zeros(games, np.int32),
        waiting=np.zeros((games, nodes), np.int32),
        value_sum=np.zeros((games, nodes), np.float32),
    )


@inline
def add_virtual_loss(tree: Tree, queue: LeafQueue, g: int, leaf: int) -> None:
    """Let `leaf` wait: add a visit and a virtual loss on its whole path.

    The root has no player who chose it, so its mean stays as it is.
    """
    queue.leaf[g, queue.length[g]] = leaf
    queue.length[g] += 1
    node = leaf
    while node != NONE:
        record = tree.node[g, node]
        if queue.waiting[g, node] == 0:
            queue.value_sum[g, node] = record.value_sum
        queue.waiting[g, node] += 1
        if record.parent != NONE:
            record.value_sum += (
                1.0  # for the player to move at the node: the opponent wins what one loses
            )
        elif record.visits > 0:
            record.value_sum += record.value_sum / record.visits
        record.visits += 1
        node = record.parent


@inline
def remove_virtual_losses(tree: Tree, queue: LeafQueue, g: int) -> None:
    """Remove all virtual visits and losses."""
    for k in range(queue.length[g]):
        node = queue.leaf[g, k]
        while (
            node != NONE and queue.waiting[g, node] > 0
        ):  # above a restored node, all are restored
            tree.node[g, node].visits -= queue.waiting[g, node]
            tree.node[g, node].value_sum = queue.value_sum[g, node]
            queue.waiting[g, node] = 0
            node = tree.node[g, node].parent


@inline
def back_up_loss(tree: Tree, queue: LeafQueue, g: int, leaf: int) -> None:
    """Back up a decided game, lost for the player to move at `leaf`, while others wait."""
    node, value = leaf, np.float32(-1.0)
    while node != NONE:
        queue.value_sum[g, node] += value
        value = -value
        node = tree.node[g, node].parent
    back_up(tree, g, leaf, -1.0)


@uncounted_device_function
def receive_leaves(tree: Tree, queue: LeafQueue, g: int, batch: Batch, params: Params) -> None:
    """Take in the evaluations of the leaves of game `g` that wait; their rows begin at `g * K`."""
    remove_virtual_losses(tree, queue, g)
    for k in range(queue.length[g]):
        row, leaf = g * queue.leaf.shape[1] + k, int(queue.leaf[g, k])
        expand(tree, g, leaf, batch.planes[row], batch.policy[row], float(batch.value[row]), params)
        if tree.game[g].faulty:
            return
        back_up(tree, g, leaf, float(batch.value[row]))
    queue.length[g] = 0


@uncounted_device_function
def select_apart(
    tree: Tree,
    queue: LeafQueue,
    roots: Stones,
    walk: Stones,
    g: int,
    params: Params,
    table: Geometry,
) -> int:
    """As `select`; NONE if it meets a waiting leaf or, with root batching, a root move with one
    below.
    """
    copy_stones(roots, g, walk, g)
    node, colour = 0, int(tree.game[g].to_move)
    while tree.node[g, node].visits > queue.waiting[g, node] and not tree.node[g, node].terminal:
        at_root = node == 0
        node = chosen_child(tree, g, node, params)
        if at_root and params.root_batch and queue.waiting[g, node] > 0:
            return NONE
        won = play_action(walk, g, int(tree.node[g, node].action), colour, table)
        tree.node[g, node].terminal = won
        colour = -colour
    return NONE if queue.waiting[g, node] > 0 else node


@uncounted_device_function
def simulate_apart(
    tree: Tree,
    queue: LeafQueue,
    roots: Stones,
    walk: Stones,
    g: int,
    batch: Batch,
    params: Params,
    table: Geometry,
) -> None:
    """Run simulations of game `g` until its batch ends; the leaves' positions are then in `batch`."""
    while queue.length[g] < queue.leaf.shape[1] and not finished(tree, g):
        if queue.length[g] > 0 and needs_all_values(tree, g, params.rule):
            break
        leaf = select_apart(tree, queue, roots, walk, g, params, table)
        if leaf == NONE:
            break
        if tree.node[g, leaf].terminal:
            back_up_loss(tree, queue, g, leaf)
            continue
        write_leaf(
            tree,
            walk,
            g,
            leaf,
            batch.planes,
            g * queue.leaf.shape[1] + queue.length[g],
            params,
            table,
        )
        add_virtual_loss(tree, queue, g, leaf)


@uncounted_kernel
def advance_leaves(
    tree: Tree,
    queue: LeafQueue,
    roots: Stones,
    walk: Stones,
    planes: Int8Array,
    policy: FloatArray,
    value: FloatArray,
    params: Params,
    table: Geometry,
) -> int:
    """Carry every game that has a search to its next leaves; returns how many leaves wait for the
    evaluator.
    """
    batch, waiting = Batch(planes, policy, value), 0
    for g in range(tree.game.size):
        if tree.game[g].nodes > 0:
            receive_leaves(tree, queue, g, batch, params)
            if not tree.game[g].faulty:
                simulate_apart(tree, queue, roots, walk, g, batch, params, table)
            waiting += queue.length[g]
    return waiting
