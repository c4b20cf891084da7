"""Several leaves of one tree for one call of the evaluator.

A leaf that waits for its evaluation counts as a lost visit for the player of each move on the way to it (virtual loss:
Chaslot, Winands, van den Herik 2008, "Parallel Monte-Carlo tree search"). So the next selection looks elsewhere. When
the answers come, visits and sums of values are restored bit by bit. Then the leaves are expanded and backed up in the
order of their selection. A batch ends before it is full if

- the selection comes to a leaf that waits already: no leaf is twice in a batch;
- sequential halving is about to drop root moves: it needs the values of all of them first;
- with root batching, a leaf waits under the root's next move.

So with root batching the leaves of a batch lie in different subtrees of the root, and no selection is changed by the
others. Sequential halving gives each move of a round the same visits in any order, so its tree is that of the search
without batches. `GumbelConfig.rescale` is the exception: a missing value may change the order of the others. PUCT is
only approximated: it chooses before it has the values.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.engine import Stones, copy_stones, play_action
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.search.algorithm import choose, needs_all_values
from hexlit.search.simulate import back_up, expand, finished, write_leaf
from hexlit.search.tree import NONE, Params, Tree


class LeafBatch(NamedTuple):
    """The leaves of G games that wait for their evaluation, up to K per game; N nodes per game."""

    leaf: NDArray[np.int32]
    """Nodes that wait, in the order of their selection, `[G, K]`."""
    leaves: NDArray[np.int32]
    """Number of these nodes, `[G]`."""
    waiting: NDArray[np.int32]
    """Number of leaves that wait at or below each node, `[G, N]`."""
    value_sum: NDArray[np.float32]
    """Sums of values of the nodes above such leaves, without the virtual losses, `[G, N]`."""


def empty_leaf_batch(games: int, leaves: int, nodes: int) -> LeafBatch:
    """A batch without waiting leaves, for `games` games of up to `nodes` nodes."""
    return LeafBatch(
        leaf=np.zeros((games, leaves), np.int32),
        leaves=np.zeros(games, np.int32),
        waiting=np.zeros((games, nodes), np.int32),
        value_sum=np.zeros((games, nodes), np.float32),
    )


@inline
def add_virtual_loss(tree: Tree, batch: LeafBatch, g: int, leaf: int) -> None:
    """Let `leaf` wait: add a visit and a virtual loss on its whole path.

    The root has no player who chose it, so its mean stays as it is.
    """
    batch.leaf[g, batch.leaves[g]] = leaf
    batch.leaves[g] += 1
    node = leaf
    while node != NONE:
        record = tree.node[g, node]
        if batch.waiting[g, node] == 0:
            batch.value_sum[g, node] = record.value_sum
        batch.waiting[g, node] += 1
        if record.parent != NONE:
            record.value_sum += 1.0  # for the player to move at the node: the opponent wins what one loses
        elif record.visits > 0:
            record.value_sum += record.value_sum / record.visits
        record.visits += 1
        node = record.parent


@inline
def remove_virtual_losses(tree: Tree, batch: LeafBatch, g: int) -> None:
    """Remove all virtual visits and losses."""
    for k in range(batch.leaves[g]):
        node = batch.leaf[g, k]
        while node != NONE and batch.waiting[g, node] > 0:  # above a restored node, all are restored
            tree.node[g, node].visits -= batch.waiting[g, node]
            tree.node[g, node].value_sum = batch.value_sum[g, node]
            batch.waiting[g, node] = 0
            node = tree.node[g, node].parent


@inline
def back_up_loss(tree: Tree, batch: LeafBatch, g: int, leaf: int) -> None:
    """Back up a decided game, lost for the player to move at `leaf`, while others wait."""
    node, value = leaf, np.float32(-1.0)
    while node != NONE:
        batch.value_sum[g, node] += value
        value = -value
        node = tree.node[g, node].parent
    back_up(tree, g, leaf, -1.0)


@uncounted_device_function
def receive_leaves(
    tree: Tree,
    batch: LeafBatch,
    g: int,
    planes: NDArray[np.int8],
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    params: Params,
) -> None:
    """Take in the evaluations of the leaves of game `g` that wait; their rows begin at `g * K`."""
    remove_virtual_losses(tree, batch, g)
    for k in range(batch.leaves[g]):
        row, leaf = g * batch.leaf.shape[1] + k, int(batch.leaf[g, k])
        expand(tree, g, leaf, planes[row], policy[row], float(value[row]), params)
        if tree.game[g].faulty:
            return
        back_up(tree, g, leaf, float(value[row]))
    batch.leaves[g] = 0


@uncounted_device_function
def select_apart(
    tree: Tree,
    batch: LeafBatch,
    roots: Stones,
    walk: Stones,
    g: int,
    root_batch: bool,
    params: Params,
    table: Geometry,
) -> int:
    """As `select`; NONE if it meets a waiting leaf or, with `root_batch`, a root move with one below."""
    copy_stones(roots, g, walk, g)
    node, colour = 0, int(tree.game[g].to_move)
    while tree.node[g, node].visits > batch.waiting[g, node] and not tree.node[g, node].lost:
        at_root = node == 0
        node = choose(tree, g, node, params)
        if at_root and root_batch and batch.waiting[g, node] > 0:
            return NONE
        won = play_action(walk, g, int(tree.node[g, node].action), colour, table)
        tree.node[g, node].lost = won
        colour = -colour
    return NONE if batch.waiting[g, node] > 0 else node


@uncounted_device_function
def simulate_apart(
    tree: Tree,
    batch: LeafBatch,
    roots: Stones,
    walk: Stones,
    g: int,
    planes: NDArray[np.int8],
    root_batch: bool,
    params: Params,
    table: Geometry,
) -> None:
    """Run simulations of game `g` until its batch ends; the leaves' positions are then in `planes`."""
    while batch.leaves[g] < batch.leaf.shape[1] and not finished(tree, g):
        if batch.leaves[g] > 0 and needs_all_values(tree, g, params):
            break
        leaf = select_apart(tree, batch, roots, walk, g, root_batch, params, table)
        if leaf == NONE:
            break
        if tree.node[g, leaf].lost:
            back_up_loss(tree, batch, g, leaf)
            continue
        write_leaf(tree, walk, g, leaf, planes, g * batch.leaf.shape[1] + batch.leaves[g], params, table)
        add_virtual_loss(tree, batch, g, leaf)


@uncounted_kernel
def advance_leaves(
    tree: Tree,
    batch: LeafBatch,
    roots: Stones,
    walk: Stones,
    planes: NDArray[np.int8],
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    root_batch: bool,
    params: Params,
    table: Geometry,
) -> int:
    """Carry every game that has a search to its next leaves; returns how many leaves wait for the evaluator."""
    waiting = 0
    for g in range(tree.game.size):
        if tree.game[g].nodes > 0:
            receive_leaves(tree, batch, g, planes, policy, value, params)
            if not tree.game[g].faulty:
                simulate_apart(tree, batch, roots, walk, g, planes, root_batch, params, table)
            waiting += batch.leaves[g]
    return waiting
