"""Tree reuse: the subtree of the move played becomes the tree."""

import numpy as np

from hexlit.hex.jit import kernel
from hexlit.search.algorithm import prepare_root
from hexlit.search.tree import NONE, Params, Tree, empty_tree


@kernel
def keep_subtree(tree: Tree, g: int, root: int, params: Params) -> None:
    """Make the evaluated node `root` of game `g` the root of its tree, in place; all other nodes are dropped.

    Visits and sums of values stay; the root's priors are those of the evaluator, without noise.
    """
    game = tree.game[g]
    # A node's number is above its parent's: one pass finds the kept nodes, and no copy overwrites a later one.
    number = np.full(game.nodes, NONE, np.int32)
    number[root] = 0
    kept = 1
    for node in range(root + 1, game.nodes):
        if number[tree.node[g, node].parent] != NONE:
            number[node] = kept
            kept += 1
    for node in range(root, game.nodes):
        new = number[node]
        if new != NONE:
            tree.node[g, new] = tree.node[g, node]
            tree.policy[g, new] = tree.policy[g, node]
            moved = tree.node[g, new]
            moved.parent = NONE if new == 0 else number[moved.parent]
            moved.sibling = NONE if new == 0 or moved.sibling == NONE else number[moved.sibling]
            if moved.first_child != NONE:
                moved.first_child = number[moved.first_child]
                moved.last_child = number[moved.last_child]
    game.nodes = kept
    game.noise = 0.0
    restore_root(tree, g, params)


@kernel
def restore_root(tree: Tree, g: int, params: Params) -> None:
    """Write the root's priors and scores as they were before any action was tried; there is no noise in them."""
    untried = tree.policy[g, 0].copy()
    child = tree.node[g, 0].first_child
    while child != NONE:
        tree.policy[g, 0, tree.node[g, child].action] = tree.node[g, child].prior
        child = tree.node[g, child].sibling
    prepare_root(tree, g, params)
    tree.policy[g, 0] = untried


def with_room(tree: Tree, nodes: int) -> Tree:
    """A copy of `tree` with room for `nodes` nodes a game."""
    larger = empty_tree(len(tree.game), nodes - 1, tree.policy.shape[2])
    used = tree.node.shape[1]
    larger.game[:] = tree.game
    larger.node[:, :used] = tree.node
    larger.policy[:, :used] = tree.policy
    larger.root_policy[:] = tree.root_policy
    larger.root_score[:] = tree.root_score
    larger.root_kept[:] = tree.root_kept
    return larger
