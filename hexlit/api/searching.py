"""Results of a search, and a network's opinion without one, as notebooks show them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hexlit.api.boards import NAMES, Board, OpeningMap, Picture
from hexlit.api.interface import frame
from hexlit.errors import UsageError
from hexlit.hex.board import Board as Position
from hexlit.hex.encoding import encode
from hexlit.hex.frame import frame_map
from hexlit.hex.notation import format_cell
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.reporting.board_svg import DrawnNode, tree_svg
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, empty_batch
from hexlit.search.search import Search as Machine
from hexlit.search.search import SearchResult, TreeNode

if TYPE_CHECKING:
    import pandas as pd

    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.tasks.hex.checkpoint import LoadedNetwork

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


class HasNetwork(Protocol):
    """A run or a model of Hex."""

    @property
    def network(self) -> "LoadedNetwork": ...


class Search:
    """Searches positions, one at a time, judged by a network or by random playouts.

    A result has the policy of the search float32 `[A]`, its visits int32 `[A]` and the value in [-1, 1] for the player
    to move; A is size*size, and one more where White may swap.

    >>> import hexlit
    >>> search = hexlit.Search(simulations=200)           # by random playouts
    >>> found = search.run(hexlit.Board(3, moves="a1"))   # White may take the middle, and wins
    >>> found.move, found.value > 0
    ('b2', True)
    >>> found.expected[0]
    'b2'
    """

    def __init__(
        self,
        judge: "HasNetwork | str | Path | None" = None,
        *,
        simulations: int = 400,
        algorithm: str = "gumbel",
        playouts: int = 16,
    ) -> None:
        """A search that a network judges, or without one random playouts.

        Args:
            judge: a run, a model, a checkpoint, the folder of a run, or the name of a packaged network such as
                `hexlit:small`; None: random playouts.
            simulations: positions that are looked at for a move.
            algorithm: `gumbel` or `puct`.
            playouts: random games for a position, without a network.

        Raises:
            UsageError: a setting is out of range, or there is no network.
        """
        self.config = SearchConfig(algorithm=algorithm, simulations=simulations)
        self._network = _network_of(judge)
        self._playouts = playouts
        self._profile: DeviceProfile | None = None
        self._ready: dict[tuple[int, bool, int], tuple[Machine, Evaluator]] = {}

    @property
    def judge(self) -> str:
        """Who judges positions, in words."""
        return f"{self._playouts} random playouts" if self._network is None else "the network"

    def run(self, board: Position) -> Searched:
        """Search the position on `board`; raises `UsageError` where the game is over."""
        swap = self._swap_of(board)
        machine, evaluator = self._made(board.size, swap, 1)
        ply = len(board.moves) if board.swap else len(board.moves) + 2  # the swap is no longer possible then
        colour = np.array([board.to_move], np.int8)
        result = machine.run(board.cells[None], colour, evaluator, ply=np.array([ply], np.int16))
        return Searched(_pictured(board), result, machine.root())

    def look(self, board: Position) -> Opinion:
        """Judge the position without any search.

        >>> import hexlit
        >>> hexlit.Search().look(hexlit.Board(3)).policy.sum().round(3).item()  # playouts prefer no move
        1.0
        """
        swap = self._swap_of(board)
        machine, evaluator = self._made(board.size, swap, 1)
        batch = empty_batch(machine.rows, board.size, board.size**2 + swap)
        batch.planes[:] = encode(board.cells[None], np.array([board.to_move], np.int8), np.array([board.may_swap]))
        evaluator.evaluate(*batch)
        policy = frame_map(batch.policy[0], board.to_move, board.size)
        return Opinion(_pictured(board), policy, float(batch.value[0]))

    def openings(self, size: int) -> OpeningMap:
        """Search every first move of Black on a board of `size` rows.

        >>> import hexlit
        >>> hexlit.Search(simulations=100).openings(3).values.shape
        (9,)
        """
        cells = np.eye(size * size, dtype=np.int8)
        colours = np.full(len(cells), -1, np.int8)
        swap = False if self._network is None else self._network.swap
        machine, evaluator = self._made(size, swap, len(cells))
        plies = np.full(len(cells), 3, np.int16)
        result = machine.run(cells, colours, evaluator, ply=plies)
        truth = solved_openings(size).tolist() if size in SOLVED else None
        judge = f"{self.judge}, {self.config.simulations} simulations"
        return OpeningMap(-result.value, judge, truth)

    def _swap_of(self, board: Position) -> bool:
        """Whether the policies for `board` have the swap action."""
        if not isinstance(board, Position):
            raise UsageError(f"board={board!r}: must be a board, such as hexlit.Board(5, moves='a1 b2')")
        if board.winner:
            raise UsageError(f"the game is over, {NAMES[board.winner]} has won: there is nothing to search")
        swap = board.swap if self._network is None else self._network.swap
        if board.may_swap and not swap:
            raise UsageError("swap=True: the network was trained without the swap rule; search a board without it")
        return swap

    def _made(self, size: int, swap: bool, positions: int) -> tuple[Machine, Evaluator]:
        key = size, swap, positions
        if key not in self._ready:
            machine = Machine(self.config, size=size, games=positions, swap=swap)
            self._ready[key] = machine, self._evaluator(size, swap, machine.rows)
        return self._ready[key]

    def _evaluator(self, size: int, swap: bool, rows: int) -> Evaluator:
        if self._network is None:
            return RolloutEvaluator(self._playouts)
        from hexlit.accelerate.config import AcceleratorConfig
        from hexlit.accelerate.profile import build_profile
        from hexlit.nets.evaluator import NetworkEvaluator

        self._profile = self._profile or build_profile(AcceleratorConfig())
        return NetworkEvaluator(self._network.net, size=size, swap=swap, batch=rows, profile=self._profile)


def _pictured(board: Position) -> Board:
    return board if isinstance(board, Board) else Board(board.size, swap=board.swap, moves=board.moves)


def _network_of(judge: Any) -> "LoadedNetwork | None":
    if judge is None:
        return None
    if isinstance(judge, str | Path):
        from hexlit.tasks.hex.checkpoint import load_network

        return load_network(judge)
    network: LoadedNetwork = judge.network
    return network
