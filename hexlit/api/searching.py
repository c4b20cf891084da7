"""Results of a search, and a network's opinion without one, as notebooks show them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hexlit.api.boards import NAMES, Board, Drawn, OpeningMap, Picture, pictured
from hexlit.api.interface import DataFrame, frame
from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.frame import frame_map
from hexlit.hex.notation import SWAP, format_cell
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.reporting.board_svg import DrawnNode, tree_svg
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, empty_batch
from hexlit.search.search import TreeNode, TreeSearch

if TYPE_CHECKING:
    from hexlit.api.runs import Model

MOST_EXPECTED = 5
"""Moves of the expected line that a caption has room for."""


@dataclass(eq=False)
class Opinion(Drawn):
    """An opinion of a position without any search; a notebook draws the policy on the board.

    Attributes:
        board: the position.
        policy: float `[A]`, over the board's actions; 0 where illegal.
        value: for the player to move, in [-1, 1].
    """

    board: Board
    policy: NDArray[np.float32]
    value: float

    @property
    def moves(self) -> DataFrame:
        """The legal moves, the likeliest first: `move` and `prior`."""
        moves = sorted(self.board.legal_moves(), key=lambda move: -float(self.policy[move]))
        return frame([(format_cell(move, self.board.size), self.policy[move]) for move in moves], ("move", "prior"))

    def picture(self) -> Picture:
        """The board with the policy of each move."""
        mover = NAMES[self.board.to_move]
        title = f"{mover} to move, value {100 * self.value:+.0f}%"
        return self.board.picture(shares=self.policy, title=title, caption="policy in percent, without search")


@dataclass(eq=False, repr=False)
class Searched(Drawn):
    """Results of a search; a notebook draws the board with the share of the visits of each move.

    Attributes:
        board: the position.
        move: the move to play.
        value: its value for the player to move, in [-1, 1].
        policy: float `[A]`, the policy that the search arrived at, over the board's actions.
        visits: int `[A]`.
        root: the tree, see `hexlit.search.search.TreeNode`.
    """

    board: Board
    move: str
    value: float
    policy: NDArray[np.float32]
    visits: NDArray[np.int32]
    root: TreeNode

    @property
    def expected(self) -> list[str]:
        """The line of play that the search expects: its move, then always the one visited most."""
        return [self._name(node) for node in self._line()]

    @property
    def candidates(self) -> DataFrame:
        """The moves that were tried, the most visited first: `move`, `visits`, `value` (for the mover), `prior`."""
        rows = [(self._name(node), node.visits, node.value, node.prior) for node in self.root.children]
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
        expected, mover = {node.index for node in self._line()}, self.board.to_move
        most = sorted(_below(self.root), key=lambda node: -node.visits)[:nodes]  # stable: parents before children
        kept = {node.index for node in most}

        def drawn(node: TreeNode) -> DrawnNode:
            children = [drawn(child) for child in node.children if child.index in kept]
            if node is self.root:
                return DrawnNode(f"{NAMES[mover]} to move", 0, node.visits, node.value, False, children)
            value, player = node.value * -node.to_move * mover, -node.to_move
            return DrawnNode(self._name(node), player, node.visits, value, node.index in expected, children)

        caption = "stones: who moves · number: visits · percent and ring: value for the player to move at the top"
        return Picture(tree_svg(drawn(self.root), title=f"The {nodes} most visited positions", caption=caption))

    def _line(self) -> Iterator[TreeNode]:
        following = [child for child in self.root.children if self._name(child) == self.move]
        while following:
            yield following[0]
            following = following[0].children

    def _name(self, node: TreeNode) -> str:
        return format_cell(node.action, self.board.size)

    def picture(self) -> Picture:
        """The board with the share of the visits of each move."""
        count, line = int(self.visits.sum()), self.expected
        expected = " ".join(line[:MOST_EXPECTED]) + (" ..." if len(line) > MOST_EXPECTED else "")
        title = f"{NAMES[self.board.to_move]} plays {self.move}, value {100 * self.value:+.0f}%"
        caption = f"percent of {count:,} visits; expected: {expected}"
        marks = [self.move] if self.move != SWAP else []
        return self.board.picture(shares=self.visits / max(1, count), marks=marks, title=title, caption=caption)

    def __repr__(self) -> str:
        return f"<Searched: {NAMES[self.board.to_move]} plays {self.move}, value {self.value:+.2f}>"


def _below(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _below(child)


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
        judge: "Model | str | Path | None" = None,
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
        self._playouts, self._network = playouts, None if isinstance(judge, str | Path | None) else judge.network
        if isinstance(judge, str | Path):
            from hexlit.tasks.hex.checkpoint import load_network

            self._network = load_network(judge)
        self._made = cache(self._make)

    @property
    def judge(self) -> str:
        """Who judges positions, in words."""
        return f"{self._playouts} random playouts" if self._network is None else "the network"

    def run(self, board: GameBoard) -> Searched:
        """Search the position on `board`; raises `UsageError` where the game is over."""
        machine, evaluator, _ = self._for(board)
        ply = len(board.moves) if board.swap else len(board.moves) + 2  # the swap is no longer possible then
        colour = np.array([board.to_move], np.int8)
        result = machine.run(board.cells[None], colour, evaluator, ply=np.array([ply], np.int16))
        move = format_cell(int(result.action[0]), board.size)
        found = float(result.value[0]), result.policy[0], result.visits[0]
        return Searched(pictured(board), move, *found, machine.root())

    def look(self, board: GameBoard) -> Opinion:
        """Judge the position without any search.

        >>> import hexlit
        >>> hexlit.Search().look(hexlit.Board(3)).policy.sum().round(3).item()  # playouts prefer no move
        1.0
        """
        machine, evaluator, swap = self._for(board)
        batch = empty_batch(machine.rows, board.size, board.size**2 + swap)
        batch.planes[:] = board.planes()
        evaluator.evaluate(*batch)
        policy = frame_map(batch.policy[0], board.to_move, board.size)
        return Opinion(pictured(board), policy, float(batch.value[0]))

    def openings(self, size: int) -> OpeningMap:
        """Search every first move of Black on a board of `size` rows.

        >>> import hexlit
        >>> hexlit.Search(simulations=100).openings(3).values.shape
        (9,)
        """
        cells = np.eye(size * size, dtype=np.int8)
        machine, evaluator = self._made(size, self._network is not None and self._network.swap, len(cells))
        colours, plies = np.full(len(cells), -1, np.int8), np.full(len(cells), 3, np.int16)
        result = machine.run(cells, colours, evaluator, ply=plies)
        truth = np.asarray(solved_openings(size), np.bool_) if size in SOLVED else None
        judge = f"{self.judge}, {self.config.simulations} simulations"
        return OpeningMap(-result.value.astype(np.float64), judge, truth)

    def _for(self, board: GameBoard) -> tuple[TreeSearch, Evaluator, bool]:
        """The search for `board`, its evaluator, and whether their policies have the swap action."""
        if not isinstance(board, GameBoard):
            raise UsageError(f"board={board!r}: must be a board, such as hexlit.Board(5, moves='a1 b2')")
        if board.winner:
            raise UsageError(f"the game is over, {NAMES[board.winner]} has won: there is nothing to search")
        swap = board.swap if self._network is None else self._network.swap
        if board.may_swap and not swap:
            raise UsageError("swap=True: the network was trained without the swap rule; search a board without it")
        return *self._made(board.size, swap, 1), swap

    def _make(self, size: int, swap: bool, positions: int) -> tuple[TreeSearch, Evaluator]:
        machine = TreeSearch(self.config, size=size, games=positions, swap=swap)
        if self._network is None:
            return machine, RolloutEvaluator(self._playouts)
        from hexlit.accelerate.config import AcceleratorConfig
        from hexlit.accelerate.profile import build_profile
        from hexlit.nets.evaluator import NetworkEvaluator

        rows, profile = machine.rows, build_profile(AcceleratorConfig())
        return machine, NetworkEvaluator(self._network.net, size=size, swap=swap, batch=rows, profile=profile)
