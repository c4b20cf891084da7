"""The tree of a search as plain objects, for pictures and tables."""

import heapq
from dataclasses import dataclass, field

from hexlit.hex.frame import frame_action
from hexlit.search.search import Search
from hexlit.search.tree import NONE


@dataclass
class TreeNode:
    """A node of a tree, with the move that leads to it."""

    action: int
    """Cell of the board, `size*size` for the swap, -1 for the root."""
    visits: int
    value: float
    """Mean value for the player who made the move, in [-1, 1]; at the root for the player to move."""
    prior: float
    """Prior of the move before it was searched; 1 at the root."""
    children: "list[TreeNode]" = field(default_factory=list)
    """The moves tried after it, the most visited first."""


def outline(search: Search, game: int = 0, most: int | None = None) -> TreeNode:
    """The tree of one `game` of a `search` that has run: its `most` most visited nodes, None for all."""
    tree = search.tree
    nodes, to_move = tree.node[game], int(tree.game["to_move"][game])
    above = TreeNode(NONE, 0, 0.0, 1.0)
    # No node has more visits than its parent, so the most visited ones make a tree. Ties go to the first one found.
    waiting = [(0, 0, 0, above, 0)]
    taken = found = 0
    while waiting and (most is None or taken < most):
        _, _, index, parent, depth = heapq.heappop(waiting)
        taken += 1
        row = nodes[index]
        action, visits = int(row["action"]), int(row["visits"])
        if depth:
            action = frame_action(action, to_move if depth % 2 else -to_move, search.size)
        mean = float(row["value_sum"]) / max(1, visits)
        node = TreeNode(action, visits, -mean, float(row["prior"])) if depth else TreeNode(NONE, visits, mean, 1.0)
        parent.children.append(node)
        child = int(row["first_child"])
        while child != NONE:
            found += 1
            heapq.heappush(waiting, (-int(nodes["visits"][child]), found, child, node, depth + 1))
            child = int(nodes["sibling"][child])
    return above.children[0]
