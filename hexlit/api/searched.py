"""Results of a search, and a network's opinion without one, as notebooks show them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hexlit.api.boards import NAMES, Board
from hexlit.api.frames import frame
from hexlit.api.pictures import Picture
from hexlit.errors import UsageError
from hexlit.hex.notation import format_cell
from hexlit.reporting.tree_svg import DrawnNode, tree_svg
from hexlit.search.search import SearchResult, TreeNode

if TYPE_CHECKING:
    import pandas as pd

MOST_EXPECTED = 5
"""Moves of the expected line that a caption has room for."""


class Opinion:
    """An opinion of a position without any search; a notebook draws the policy on the board.

    Attributes:
        board: the position.
        policy: float `[A]`, over the board's actions; 0 where illegal.
        value: for the player to move, in [-1, 1].
    """

    def __init__(self, board: Board, policy: NDArray[np.float32], value: float) -> None:
        """As above."""
        self.board = board
        self.policy = policy
        self.value = value

    @property
    def moves(self) -> "pd.DataFrame":
        """The legal moves, the likeliest first: `move` and `prior`."""
        rows = [
            {"move": format_cell(move, self.board.size), "prior": self.policy[move]}
            for move in self.board.legal_moves()
        ]
        return frame(sorted(rows, key=lambda row: -float(row["prior"])), ("move", "prior"))

    def picture(self) -> Picture:
        """The board with the policy of each move."""
        mover = NAMES[self.board.to_move]
        title = f"{mover} to move, value {100 * self.value:+.0f}%"
        return self.board.picture(shares=self.policy, title=title, caption="policy in percent, without search")

    def _repr_svg_(self) -> str:
        return self.picture().svg


class Searched:
    """Results of a search; a notebook draws the board with the share of the visits of each move.

    Attributes:
        board: the position.
        policy: float `[A]`, the policy that the search arrived at, over the board's actions.
        visits: int `[A]`.
        root: the tree, see `hexlit.search.search.TreeNode`.
    """

    def __init__(self, board: Board, result: SearchResult, root: TreeNode) -> None:
        """Of one position, as `Search.run` makes it."""
        self.board = board
        self.policy: NDArray[np.float32] = result.policy[0]
        self.visits: NDArray[np.int32] = result.visits[0]
        self.root = root
        self._action = int(result.action[0])
        self._value = float(result.value[0])

    @property
    def move(self) -> str:
        """The move to play."""
        return self._name(self._action)

    @property
    def value(self) -> float:
        """Its value for the player to move, in [-1, 1]."""
        return self._value

    @property
    def expected(self) -> list[str]:
        """The line of play that the search expects: its move, then always the one visited most."""
        return [self._name(node.action) for node in self._line()]

    @property
    def candidates(self) -> "pd.DataFrame":
        """The moves that were tried, the most visited first: `move`, `visits`, `value` (for the mover), `prior`."""
        rows = [
            {"move": self._name(node.action), "visits": node.visits, "value": node.value, "prior": node.prior}
            for node in self.root.children
        ]
        return frame(rows, ("move", "visits", "value", "prior"))

    def tree(self, nodes: int = 30) -> Picture:
        """The tree as a picture: its `nodes` most visited nodes.

        A stone has the colour of the player who moves. Its ring shows the value for the player to move at the root:
        blue is good, red bad. Visits and that value, in percent, stand below it. Red lines are expected to be played.

        >>> import hexlit
        >>> hexlit.Search(simulations=50).run(hexlit.Board(3)).tree(nodes=10).svg.count("<circle")
        9
        """
        if nodes < 2:
            raise UsageError(f"nodes={nodes}: a tree has 2 nodes or more")
        expected = {id(node) for node in self._line()}
        kept = _most_visited(self.root, nodes)
        drawn = self._drawn(self.root, self.board.to_move, 1, kept, expected)
        caption = "stones: who moves · number: visits · percent and ring: value for the player to move at the top"
        return Picture(tree_svg(drawn, title=f"The {nodes} most visited positions", caption=caption))

    def _drawn(self, node: TreeNode, colour: int, sign: int, kept: set[int], expected: set[int]) -> DrawnNode:
        """`node` and what is kept below it; `colour` moves there, and `sign` is 1 for the player at the root."""
        root = node is self.root
        return DrawnNode(
            f"{NAMES[colour]} to move" if root else self._name(node.action),
            0 if root else -colour,
            node.visits,
            node.value * (1 if root else -sign),
            id(node) in expected,
            [self._drawn(child, -colour, -sign, kept, expected) for child in node.children if id(child) in kept],
        )

    def _line(self) -> Iterator[TreeNode]:
        node = next((child for child in self.root.children if child.action == self._action), None)
        while node is not None:
            yield node
            node = node.children[0] if node.children else None

    def _name(self, action: int) -> str:
        return format_cell(action, self.board.size)

    def picture(self) -> Picture:
        """The board with the share of the visits of each move."""
        mover = NAMES[self.board.to_move]
        shares = self.visits / max(1, int(self.visits.sum()))
        line = self.expected
        expected = " ".join(line[:MOST_EXPECTED]) + (" ..." if len(line) > MOST_EXPECTED else "")
        swaps = [self.move] if self._action < self.board.size**2 else []
        return self.board.picture(
            shares=shares,
            marks=swaps,
            title=f"{mover} plays {self.move}, value {100 * self.value:+.0f}%",
            caption=f"percent of {int(self.visits.sum()):,} visits; expected: {expected}",
        )

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def __repr__(self) -> str:
        return f"<Searched: {NAMES[self.board.to_move]} plays {self.move}, value {self.value:+.2f}>"


def _most_visited(root: TreeNode, most: int) -> set[int]:
    """The ids of the `most` most visited nodes below and at `root`."""
    nodes = list(_all(root))
    nodes.sort(key=lambda node: -node.visits)  # stable: a parent stays before its children
    return {id(node) for node in nodes[:most]}


def _all(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _all(child)
