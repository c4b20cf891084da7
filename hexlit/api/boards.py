"""Positions, exact answers and searches, as pictures that a notebook shows."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Self
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from hexlit.api.interface import DataFrame, frame
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.board import GameBoard
from hexlit.hex.frame import frame_map
from hexlit.hex.notation import SWAP, format_cell, parse_cell
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.hex.solver import ExactSolver, FirstMoves, Solution
from hexlit.hex.symmetry import stone_cells
from hexlit.locks import Guarded, in_turn
from hexlit.reporting import board_svg as svg
from hexlit.reporting.page import OpeningsBoard
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, empty_batch
from hexlit.search.search import TreeNode, TreeSearch

if TYPE_CHECKING:
    from hexlit.api.runs import Model

GAP = 16
"""Pixels between pictures side by side."""


class Drawn:
    """What a notebook shows as a picture."""

    def picture(self) -> "Picture":
        """The picture that a notebook shows."""
        raise NotImplementedError

    def _repr_svg_(self) -> str:
        return self.picture().svg


@dataclass
class Picture:
    """A picture as SVG."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture to `path`, which ends in `.svg`; returns it.

        Raises:
            UsageError: the name says another format.
        """
        path = Path(path)
        if path.suffix != ".svg":
            raise UsageError(f"{path}: pictures are SVG, so the name ends in .svg")
        write_text_atomic(path, self.svg)
        return path


def side_by_side(*drawn: Drawn | Picture) -> Picture:
    """Boards, games, searches and pictures in one row, as one picture.

    >>> import hexlit
    >>> row = hexlit.side_by_side(hexlit.Board(3), hexlit.Board(3, moves="b2"))
    >>> row.svg.count("<svg") - 1
    2
    """
    inner, left, height = "", 0, 0
    for text in (one._repr_svg_() for one in drawn):
        whole = ElementTree.fromstring(text)
        inner += text[text.index("<svg ") :].replace("<svg ", f"<svg x='{left}' ", 1)
        width, tall = (
            round(float(whole.get(side, "0").removesuffix("pt"))) for side in ("width", "height")
        )
        left, height = left + width + GAP, max(height, tall)
    size = f"viewBox='0 0 {left - GAP} {height}' width='{left - GAP}' height='{height}'"
    return Picture(f"<svg xmlns='http://www.w3.org/2000/svg' {size}>\n{inner}</svg>\n")


NAMES = {1: "Black", -1: "White"}


class Board(GameBoard, Drawn):
    """A game of Hex from the empty board: play, take back, look; a notebook draws it.

    Moves are names such as `"b2"` or cell indices (`row * size + column`). With the swap rule,
    White's first move may be `"swap"`.

    Attributes:
        size: rows of the board, 2 to 26.
        cells: the stones, int8 `[size*size]`: 1 black, -1 white, 0 empty (a copy).
        to_move: 1 where Black is to move, -1 where White is.
        winner: 1 or -1 once somebody has connected, else 0.

    Raises:
        UsageError: a size out of range, or a move that is not legal.

    >>> import hexlit
    >>> board = hexlit.Board(3, moves="b2 a1")
    >>> board.play("b1").play("a2").play("b3").winner  # Black, top to bottom
    1
    >>> board.names
    ['b2', 'a1', 'b1', 'a2', 'b3']
    >>> board._repr_svg_().count("<circle") - 1  # stones; the last one has a ring
    5
    """

    @property
    def names(self) -> list[str]:
        """The moves so far, by name."""
        return [format_cell(move, self.size) for move in self.moves]

    def play(self, move: int | str) -> Self:
        """Play `move` for the player to move; raises `UsageError` when it is not legal."""
        return super().play(self._cell(move))

    def after(self, *moves: int | str) -> Self:
        """Another board with these moves played, too; this one stays as it is.

        >>> import hexlit
        >>> hexlit.Board(3, moves="b2").after("a1").names
        ['b2', 'a1']
        """
        return type(self)(self.size, swap=self.swap, moves=[*self.moves, *map(self._cell, moves)])

    def picture(
        self,
        *,
        shares: NDArray[np.floating] | None = None,
        values: Mapping[int, float] | None = None,
        marks: Collection[int | str] = (),
        numbers: bool = False,
        title: str = "",
        caption: str | None = None,
    ) -> Picture:
        """The board as a picture.

        Args:
            shares: float `[size*size]`, such as a policy or visits: percents, the darker the more.
            values: cell -> value in [-1, 1]: blue is good for the player to move, red bad.
            marks: cells with a green ring.
            numbers: number the stones by move.
            title: a line above.
            caption: a line below; None says whose turn it is.

        >>> import hexlit
        >>> hexlit.Board(3).picture(marks=["b2"], title="Black's best").svg.count("<circle")
        1
        """
        stones = stone_cells(self.moves, self.size)
        notes = (
            {} if shares is None else svg.share_notes(shares[: self.size**2])
        ) | svg.value_notes(values or {})
        notes |= {
            cell: svg.CellNote(str(ply)) for ply, cell in enumerate(stones if numbers else (), 1)
        }
        for cell in map(self._cell, marks):
            notes[cell] = replace(notes.get(cell, svg.CellNote()), ring=svg.MARK)
        last = stones[-1] if stones else None
        if caption is None:
            caption = (
                f"{NAMES[self.winner]} has won" if self.winner else f"{NAMES[self.to_move]} to move"
            )
        return Picture(
            svg.board_svg(
                self.cells, self.size, notes=notes, last=last, title=title, caption=caption
            )
        )

    def _cell(self, move: int | str) -> int:
        return parse_cell(move, self.size) if isinstance(move, str) else int(move)


def pictured(board: GameBoard) -> Board:
    """The same game, as a notebook draws it."""
    return (
        board if isinstance(board, Board) else Board(board.size, swap=board.swap, moves=board.moves)
    )


@dataclass(eq=False)
class OpeningMap(Drawn):
    """The value of each first move of Black.

    Attributes:
        values: float `[size*size]`, for Black, in [-1, 1]; of an exact map 1 (wins) and -1.
        judge: who says so.
        truth: bool `[size*size]`, whether Black wins with best play; None where that is not known.
        size: rows of the board.
    """

    values: NDArray[np.floating]
    judge: str
    truth: NDArray[np.bool_] | None = None

    @property
    def size(self) -> int:
        return isqrt(len(self.values))

    @property
    def wrong(self) -> list[str]:
        """The first moves that are judged wrong, by name; empty where the truth is not known."""
        wins = self.values > 0
        wrong = np.flatnonzero(wins != (wins if self.truth is None else self.truth))
        return [format_cell(int(cell), self.size) for cell in wrong]

    def picture(self, title: str = "") -> Picture:
        """The map on the board: blue wins for Black, red loses,
        the surer the darker; what is wrong has a ring.
        """
        exact = self.truth is None and bool(np.isin(self.values, (-1.0, 1.0)).all())
        truth = None if self.truth is None else self.truth.tolist()
        board = OpeningsBoard(
            title or f"Black's first move: {self.judge}", self.values.tolist(), truth, exact
        )
        return Picture(svg.board_picture(board, titled=True)[1])


class Solver:
    """Solves positions on boards of 2 to 8 rows: the winner with best play, and every winning move.

    Threads may share a solver; on boards of one size they wait for each other.

    Raises:
        UsageError: the game is over, or the board too large.

    >>> import hexlit
    >>> solution = hexlit.Solver().solve(hexlit.Board(5, moves="a2 c3 d4"))
    >>> solution.winner, solution.moves
    ('White', ['c2'])
    """

    def __init__(self) -> None:
        self._of = cache(ExactSolver)  # each keeps what it has proved, for a size of the board

    def solve(self, board: GameBoard) -> "Solved":
        """Solve the position; raises `UsageError` where the game is over,
        or the board too large.
        """
        if board.winner:
            raise UsageError(f"the game is over, {NAMES[board.winner]} has won")
        return Solved(pictured(board), self._of(board.size).solve(board.cells, board.to_move))

    def openings(self, size: int) -> OpeningMap:
        """Whether each first move of Black wins; boards of 5 rows take a moment, of 7 half a
        minute.

        Its `values` are float64 `[size*size]`: 1 where the move wins, -1 where it loses.

        >>> import hexlit
        >>> hexlit.Solver().openings(3).values.tolist()
        [-1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0]
        """
        first = FirstMoves(self._of(size))
        list(first.solve())
        return OpeningMap(first.values.astype(np.float64), "the exact solver")


@dataclass(eq=False)
class Solved(Drawn):
    """The exact value of a position; a notebook draws the board with the winning moves in green
    rings.

    Attributes:
        board: the position.
        solution: the solver's answer, with its effort: `nodes` and `seconds`.
    """

    board: Board
    solution: Solution

    @property
    def winner(self) -> str:
        """`Black` or `White`."""
        return NAMES[self.solution.winner]

    @property
    def moves(self) -> list[str]:
        """Every winning move of the player to move, by name; none where it loses."""
        return [format_cell(move, self.board.size) for move in self.solution.winning_moves]

    def picture(self) -> Picture:
        """The board with the winning moves in green rings."""
        moves = (
            f"{len(self.moves)} of {len(self.board.legal_moves())} moves win"
            if self.moves
            else "every move loses"
        )
        effort = f"{self.solution.nodes:,} positions in {self.solution.seconds:.3f} s"
        title = f"{self.winner} wins; {NAMES[self.board.to_move]} to move: {moves}"
        return self.board.picture(
            marks=self.solution.winning_moves, title=title, caption=f"exact, {effort}"
        )


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
        return frame(
            [(format_cell(move, self.board.size), self.policy[move]) for move in moves],
            ("move", "prior"),
        )

    def picture(self) -> Picture:
        """The board with the policy of each move."""
        title = f"{NAMES[self.board.to_move]} to move, value {100 * self.value:+.0f}%"
        return self.board.picture(
            shares=self.policy, title=title, caption="policy in percent, without search"
        )


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
        """The moves that were tried, the most visited first:
        `move`, `visits`, `value` (for the mover), `prior`.
        """
        rows = [
            (self._name(node), node.visits, node.value, node.prior) for node in self.root.children
        ]
        return frame(rows, ("move", "visits", "value", "prior"))

    def tree(self, nodes: int = 30) -> Picture:
        """The tree as a picture: its `nodes` most visited nodes.

        A stone has the colour of the player who moves. Its ring shows the value for the player to
        move at the root: blue is good, red bad. Visits and that value, in percent, stand below it.
        Red lines are expected to be played.

        >>> import hexlit
        >>> hexlit.Search(simulations=50).run(hexlit.Board(3)).tree(nodes=10).svg.count("<circle")
        9
        """
        expected, mover = {node.index for node in self._line()}, self.board.to_move
        most = sorted(_below(self.root), key=lambda node: -node.visits)[
            :nodes
        ]  # stable: parents before children
        kept = {node.index for node in most}

        def drawn(node: TreeNode) -> svg.DrawnNode:
            children = [drawn(child) for child in node.children if child.index in kept]
            if node is self.root:
                return svg.DrawnNode(
                    f"{NAMES[mover]} to move", 0, node.visits, node.value, False, children
                )
            value, player = node.value * -node.to_move * mover, -node.to_move
            return svg.DrawnNode(
                self._name(node), player, node.visits, value, node.index in expected, children
            )

        caption = "stones: who moves · number: visits · percent and ring: value for the player to move at the top"
        return Picture(
            svg.tree_svg(
                drawn(self.root), title=f"The {nodes} most visited positions", caption=caption
            )
        )

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
        return self.board.picture(
            shares=self.visits / max(1, count), marks=marks, title=title, caption=caption
        )

    def __repr__(self) -> str:
        return f"<Searched: {NAMES[self.board.to_move]} plays {self.move}, value {self.value:+.2f}>"


def _below(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _below(child)


class Search(Guarded):
    """Searches positions, one at a time, judged by a network or by random playouts.

    Threads may share a search: they wait for each other.

    A result has the policy of the search float32 `[A]`, its visits int32 `[A]` and the value in
    [-1, 1] for the player to move; A is size*size, and one more where White may swap.

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
            judge: a run, a model, a checkpoint, the folder of a run, or the name of a packaged
                network such as `hexlit:small`; None: random playouts.
            simulations: positions that are looked at for a move.
            algorithm: `gumbel` or `puct`.
            playouts: random games for a position, without a network.

        Raises:
            UsageError: a setting is out of range, or there is no network.
        """
        super().__init__()
        self.config = SearchConfig(algorithm=algorithm, simulations=simulations)
        self._playouts, self._network = (
            playouts,
            None if isinstance(judge, str | Path | None) else judge.network,
        )
        if isinstance(judge, str | Path):
            from hexlit.tasks.hex.checkpoint import load_network

            self._network = load_network(judge)
        self._made = cache(self._make)

    @in_turn
    def run(self, board: GameBoard) -> Searched:
        """Search the position on `board`; raises `UsageError` where the game is over."""
        machine, evaluator, _ = self._for(board)
        ply = (
            len(board.moves) if board.swap else len(board.moves) + 2
        )  # the swap is no longer possible then
        colour = np.array([board.to_move], np.int8)
        result = machine.run(board.cells[None], colour, evaluator, ply=np.array([ply], np.int16))
        move = format_cell(int(result.action[0]), board.size)
        found = float(result.value[0]), result.policy[0], result.visits[0]
        return Searched(pictured(board), move, *found, machine.root())

    @in_turn
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

    @in_turn
    def openings(self, size: int) -> OpeningMap:
        """Search every first move of Black on a board of `size` rows.

        >>> import hexlit
        >>> hexlit.Search(simulations=100).openings(3).values.shape
        (9,)
        """
        cells = np.eye(size * size, dtype=np.int8)
        machine, evaluator = self._made(
            size, self._network is not None and self._network.swap, len(cells)
        )
        colours, plies = np.full(len(cells), -1, np.int8), np.full(len(cells), 3, np.int16)
        result = machine.run(cells, colours, evaluator, ply=plies)
        truth = np.asarray(solved_openings(size), np.bool_) if size in SOLVED else None
        judge = "the network" if self._network else f"{self._playouts} random playouts"
        return OpeningMap(
            -result.value.astype(np.float64),
            f"{judge}, {self.config.simulations} simulations",
            truth,
        )

    def _for(self, board: GameBoard) -> tuple[TreeSearch, Evaluator, bool]:
        """The search for `board`, its evaluator,
        and whether their policies have the swap action.
        """
        if not isinstance(board, GameBoard):
            raise UsageError(
                f"board={board!r}: must be a board, such as hexlit.Board(5, moves='a1 b2')"
            )
        swap = board.swap if self._network is None else self._network.swap
        if board.may_swap and not swap:
            raise UsageError(
                "swap=True: the network was trained without the swap rule; search a board without it"
            )
        return *self._made(board.size, swap, 1), swap

    def _make(self, size: int, swap: bool, positions: int) -> tuple[TreeSearch, Evaluator]:
        machine = TreeSearch(self.config, size=size, games=positions, swap=swap)
        if self._network is None:
            return machine, RolloutEvaluator(self._playouts)
        from hexlit.accelerate.config import AcceleratorConfig
        from hexlit.accelerate.profile import build_profile
        from hexlit.commands.players import Evaluators

        return machine, Evaluators(self._network, size, build_profile(AcceleratorConfig()))(
            machine.rows
        )
