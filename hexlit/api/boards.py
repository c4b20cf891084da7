"""Positions, exact answers and searches, as pictures that a notebook shows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Self
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.board import GameBoard
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.hex.solver import ExactSolver, FirstMoves, Solution
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting import board_svg as svg
from hexlit.reporting.page import OpeningsBoard

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
        """The map on the board: blue wins for Black, red loses, the surer the darker; what is wrong
        has a ring.
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
        """Solve the position; raises `UsageError` where the game is over, or the board too
        large.
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
