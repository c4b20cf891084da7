"""The search trees of G games in flat arrays, and the operations on a node.

Only visited moves have nodes; a node's children form a linked list in the order of their first
visit. The priors of untried moves are in `policy`, and the node stores the untried move with the
highest prior. All untried moves of a node share one value estimate, so every selection rule here
prefers that one among them. So a selection reads the children tried so far and one more move,
however large the board is.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import FloatArray
from hexlit.hex.jit import inline, uncounted_device_function


class Params(NamedTuple):
    """The settings in the form that compiled code takes; see `hexlit.search.rule`."""

    rule: Any
    """Those of the rule, of its class `Rule`."""
    root_batch: bool
    swap: bool
    """Whether White may swap at ply 1."""
    draws_move: bool
    """Whether a player that explores draws its move from the policy of the search."""


NONE = -1
"""No node, or no action."""

SMALLEST_PRIOR = np.float32(1e-6)
"""Legal moves get at least this prior, so that its logarithm is finite."""


NODE = np.dtype(
    [
        # Simulations that went through the node, the one that made it included.
        ("visits", np.int32),
        # Sum of the values backed up to it, for the player to move at the node.
        ("value_sum", np.float32),
        # Value by the evaluator, for the player to move at the node.
        ("network_value", np.float32),
        # Prior at the parent of the action that leads here.
        ("prior", np.float32),
        # Links: the parent, the children tried first and last, and the sibling tried next; NONE
        # without one.
        ("parent", np.int32),
        ("first_child", np.int32),
        ("last_child", np.int32),
        ("sibling", np.int32),
        # Action that leads here from the parent.
        ("action", np.int16),
        # Untried action with the highest prior; NONE when all were tried.
        ("next_action", np.int16),
        # The game is over: the move that led here won.
        ("terminal", np.bool_),
    ],
    align=True,
)
"""A node of a search tree. All that a selection reads of one child lies in one cache line."""

GAME = np.dtype(
    [
        # Key of the search's random draws.
        ("key", np.uint64),
        # Key of the position in its row of the batch, see `position_key`; 0 without a cache.
        ("leaf_key", np.uint64),
        # Nodes in the tree; 0 when the game has no search.
        ("nodes", np.int32),
        # Node that waits for its evaluation, or NONE.
        ("leaf", np.int32),
        # Simulations that the search may use.
        ("budget", np.int32),
        # Row of the table of sequential halving that it follows; NONE: the root is searched as any
        # other node.
        ("schedule", np.int32),
        # Visits of the root's children from an earlier search, outside sequential halving; see
        # `root_kept`.
        ("kept", np.int32),
        # Scale of the noise at the root: 0 to play at full strength; in self-play the temperature
        # of the move.
        ("noise", np.float32),
        # Moves played before the root.
        ("ply", np.int16),
        # Player to move at the root, +1 or -1.
        ("to_move", np.int8),
        # The evaluator's answer was no policy or no value; the search has stopped.
        ("faulty", np.bool_),
    ],
    align=True,
)
"""State of the search of one game."""


class Tree(NamedTuple):
    """Search trees of G games with up to N nodes; node 0 is the root.

    Actions are cells in the frame of the player who moves at the node, and the swap `size*size`.
    All values lie in [-1, 1].
    """

    game: NDArray[np.void]
    """GAME `[G]`."""
    node: NDArray[np.void]
    """NODE `[G, N]`."""
    policy: FloatArray
    """Priors of the actions not tried yet; 0 for illegal and NONE for tried ones, `[G, N, A]`."""
    root_policy: FloatArray
    """Priors at the root before noise and before any action was tried; 0 for illegal ones, `[G,
    A]`.
    """
    root_score: FloatArray
    """Gumbel noise plus logit of each legal root action, `[G, A]`."""
    root_kept: NDArray[np.int32]
    """Share of each root action in the `kept` visits, `[G, A]`; without meaning if there are
    none.
    """


def empty_tree(games: int, simulations: int, actions: int) -> Tree:
    """Room for the trees of `games` searches of up to `simulations` simulations each."""
    game = np.zeros(games, GAME)
    game["leaf"] = NONE
    return Tree(
        game=game,
        node=np.zeros((games, simulations + 1), NODE),
        policy=np.zeros((games, simulations + 1, actions), np.float32),
        root_policy=np.zeros((games, actions), np.float32),
        root_score=np.zeros((games, actions), np.float32),
        root_kept=np.zeros((games, actions), np.int32),
    )


def with_room(tree: Tree, nodes: int) -> Tree:
    """A copy of `tree` with room for `nodes` nodes a game."""
    larger = empty_tree(len(tree.game), nodes - 1, tree.policy.shape[2])
    used = tree.node.shape[1]
    larger.node[:, :used] = tree.node
    larger.policy[:, :used] = tree.policy
    return tree._replace(node=larger.node, policy=larger.policy)


@inline
def clear_node(tree: Tree, g: int, node: int, parent: int) -> None:
    """Make `node` a fresh node under `parent`."""
    fresh = tree.node[g, node]
    fresh.visits = 0
    fresh.value_sum = 0.0
    fresh.terminal = False
    fresh.parent = parent
    fresh.first_child = NONE
    fresh.last_child = NONE
    fresh.sibling = NONE
    fresh.next_action = NONE


@inline
def find_next_action(tree: Tree, g: int, node: int) -> None:
    """Look up the untried action with the highest prior (the first of equals)."""
    policy = tree.policy[g, node]
    best, highest = NONE, np.float32(0.0)
    for action in range(policy.size):
        if policy[action] > highest:
            best, highest = action, policy[action]
    tree.node[g, node].next_action = best


@uncounted_device_function
def add_child(tree: Tree, g: int, node: int, action: int) -> int:
    """Try `action`, untried so far, at `node`; returns the new node at its other end."""
    child = int(tree.game[g].nodes)
    tree.game[g].nodes = child + 1
    clear_node(tree, g, child, node)
    tree.node[g, child].action = action
    tree.node[g, child].prior = tree.policy[g, node, action]
    tree.policy[g, node, action] = NONE
    parent = tree.node[g, node]
    if parent.last_child == NONE:
        parent.first_child = child
    else:
        tree.node[g, parent.last_child].sibling = child
    parent.last_child = child
    if parent.next_action == action:
        find_next_action(tree, g, node)
    return child


@inline
def child_value(tree: Tree, g: int, child: int) -> float:
    """Mean value of a visited child for the player who moves at its parent (zero-sum: the sign
    changes).
    """
    return float(-tree.node[g, child].value_sum / tree.node[g, child].visits)


@inline
def root_child(tree: Tree, g: int, action: int) -> int:
    """The root's child after `action`, which must have been tried."""
    child = tree.node[g, 0].first_child
    while tree.node[g, child].action != action:
        child = tree.node[g, child].sibling
    return int(child)


@inline
def root_value(tree: Tree, g: int, action: int) -> float:
    """Value of the root when its player plays `action`, which must have been visited.

    The mean over all visits of the root would be too low: sequential halving, for example, gives
    half of the visits to moves that it then drops.
    """
    return float(child_value(tree, g, root_child(tree, g, action)))
