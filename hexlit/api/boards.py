"""Pictures that a notebook shows, and that can be kept as files."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex import board as rules
from hexlit.hex import solver as exact
from hexlit.hex.board import Board as Position
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board_svg import BAD, MARK, CellNote, board_svg, share_notes, value_notes

IN_ONE_ROW = 3
"""Pictures that stay in one row, however narrow the page is."""
GAP = 16
"""Pixels between the pictures of a file."""


class Drawn(Protocol):
    """Whatever a notebook shows as SVG."""

    def _repr_svg_(self) -> str: ...


class Picture:
    """A picture as SVG."""

    def __init__(self, svg: str) -> None:
        """Of the document `svg`."""
        self.svg = svg

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

    def _repr_svg_(self) -> str:
        return self.svg


class Row:
    """Pictures side by side; they break into lines where there is no room."""

    def __init__(self, pictures: list[str]) -> None:
        """Of SVG documents."""
        self.pictures = pictures

    def save(self, path: str | Path) -> Path:
        """Write all of them in one row to `path`, which ends in `.svg`; returns it.

        Raises:
            UsageError: the name says another format.
        """
        inner, left, height = [], 0, 0
        for svg in map(without_declaration, self.pictures):
            inner.append(svg.replace("<svg ", f"<svg x='{left}' ", 1))
            left, height = left + width_of(svg) + GAP, max(height, height_of(svg))
        size = f"viewBox='0 0 {left - GAP} {height}' width='{left - GAP}' height='{height}'"
        return Picture(f"<svg xmlns='http://www.w3.org/2000/svg' {size}>\n{''.join(inner)}</svg>\n").save(path)

    def _repr_html_(self) -> str:
        # With less room all shrink by the same factor; pictures beyond a full row continue in the next.
        wrap = "nowrap" if len(self.pictures) <= IN_ONE_ROW else "wrap"
        cells = "".join(
            f"<div style='flex:0 1 {width_of(svg)}px;min-width:0'>{without_declaration(svg)}</div>"
            for svg in self.pictures
        )
        return f"<div style='display:flex;flex-wrap:{wrap};gap:12px;align-items:flex-start'>{cells}</div>"


def side_by_side(*drawn: Drawn) -> Row:
    """Boards, games, searches and pictures in one row.

    >>> import hexlit
    >>> row = hexlit.side_by_side(hexlit.Board(3), hexlit.Board(3, moves="b2"))
    >>> row._repr_html_().count("<svg")
    2
    """
    return Row([one._repr_svg_() for one in drawn])


def without_declaration(svg: str) -> str:
    """The element of an SVG document, as it may stand in HTML."""
    return re.sub(r"\A.*?(?=<svg)", "", svg, flags=re.DOTALL)


def width_of(svg: str) -> int:
    """The width of an SVG document in pixels."""
    return _length(svg, "width")


def height_of(svg: str) -> int:
    """The height of an SVG document in pixels."""
    return _length(svg, "height")


def _length(svg: str, name: str) -> int:
    result = re.search(rf"<svg[^>]*\s{name}=['\"]([0-9.]+)", svg)
    return 0 if result is None else round(float(result[1]))


NAMES = {1: "Black", -1: "White"}


class Board(rules.Board):
    """A game of Hex from the empty board: play, take back, look; a notebook draws it.

    Moves are names such as `"b2"` or cell indices (`row * size + column`). With the swap rule, White's first move
    may be `"swap"`.

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
        return super().play(parse_cell(move, self.size) if isinstance(move, str) else move)

    def after(self, *moves: int | str) -> Self:
        """Another board with these moves played, too; this one stays as it is.

        >>> import hexlit
        >>> hexlit.Board(3, moves="b2").after("a1").names
        ['b2', 'a1']
        """
        board = type(self)(self.size, swap=self.swap, moves=self.moves)
        for move in moves:
            board.play(move)
        return board

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
        notes: dict[int, CellNote] = {}
        if shares is not None:
            notes |= share_notes(shares[: self.size**2])
        if values is not None:
            notes |= value_notes(values)
        if numbers:
            notes |= {cell: CellNote(str(ply)) for ply, cell in enumerate(stone_cells(self.moves, self.size), 1)}
        for mark in marks:
            cell = parse_cell(mark, self.size) if isinstance(mark, str) else int(mark)
            before = notes.get(cell, CellNote())
            notes[cell] = CellNote(before.text, before.shade, MARK)
        last = stone_cells(self.moves, self.size)[-1] if self.moves else None
        caption = self._whose_turn() if caption is None else caption
        return Picture(board_svg(self.cells, self.size, notes=notes, last=last, title=title, caption=caption))

    def _whose_turn(self) -> str:
        return f"{NAMES[self.winner]} has won" if self.winner else f"{NAMES[self.to_move]} to move"

    def _repr_svg_(self) -> str:
        return self.picture().svg


class OpeningMap:
    """The value of each first move of Black.

    Attributes:
        size: rows of the board.
        values: float `[size*size]`, for Black, in [-1, 1]; of an exact map 1 (wins) and -1.
        truth: bool `[size*size]`, whether Black wins with best play; None where that is not known.
        judge: who says so.
    """

    def __init__(self, values: NDArray[np.floating], judge: str, truth: Sequence[bool] | None = None) -> None:
        """Of `values` as above."""
        self.values = np.asarray(values, np.float64)
        self.size = int(len(self.values) ** 0.5)
        self.truth = None if truth is None else np.asarray(truth, np.bool_)
        self.judge = judge

    @property
    def wrong(self) -> list[str]:
        """The first moves that are judged wrong, by name; empty where the truth is not known."""
        if self.truth is None:
            return []
        return [format_cell(int(cell), self.size) for cell in np.flatnonzero((self.values > 0) != self.truth)]

    def picture(self, title: str = "") -> Picture:
        """The map on the board: blue wins for Black, red loses, the surer the darker; what is wrong has a red ring."""
        exact = self.truth is None and bool(np.isin(self.values, (-1.0, 1.0)).all())
        notes = value_notes({cell: float(value) for cell, value in enumerate(self.values)})
        if exact:
            words = {cell: "wins" if value > 0 else "loses" for cell, value in enumerate(self.values)}
            notes = {cell: CellNote(words[cell], note.shade) for cell, note in notes.items()}
        for name in self.wrong:
            cell = Board(self.size, moves=name).moves[0]
            notes[cell] = CellNote(notes[cell].text, notes[cell].shade, BAD)
        right = "" if self.truth is None else f"; {self.size**2 - len(self.wrong)} of {self.size**2} are right"
        legend = "exact" if exact else f"percent for Black: blue wins, red loses{right}"
        empty = np.zeros(self.size**2, np.int8)
        title = title or f"Black's first move: {self.judge}"
        return Picture(board_svg(empty, self.size, notes=notes, title=title, caption=legend))

    def _repr_svg_(self) -> str:
        return self.picture().svg


class Solver:
    """Solves positions on boards of 2 to 8 rows: the winner with best play, and every winning move.

    Raises:
        UsageError: the game is over, or the board too large.

    >>> import hexlit
    >>> solution = hexlit.Solver().solve(hexlit.Board(5, moves="a2 c3 d4"))
    >>> solution.winner, solution.moves
    ('White', ['c2'])
    """

    def __init__(self) -> None:
        """Keeps what it has proved, for each size of the board."""
        self._solvers: dict[int, exact.Solver] = {}

    def solve(self, board: Position) -> "Solved":
        """Solve the position; raises `UsageError` where the game is over, or the board too large."""
        if board.winner:
            raise UsageError(f"the game is over, {NAMES[board.winner]} has won")
        result = self._of(board.size).solve(board.cells, board.to_move)
        shown = board if isinstance(board, Board) else Board(board.size, swap=board.swap, moves=board.moves)
        return Solved(shown, result)

    def openings(self, size: int) -> OpeningMap:
        """Whether each first move of Black wins; boards of 5 rows take a moment, of 7 half a minute.

        Its `values` are float64 `[size*size]`: 1 where the move wins, -1 where it loses.

        >>> import hexlit
        >>> hexlit.Solver().openings(3).values.tolist()
        [-1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0]
        """
        solver = self._of(size)
        won = [not solver.wins(cells, -1) for cells in np.eye(size * size, dtype=np.int8)]
        return OpeningMap(np.where(won, 1.0, -1.0), "the exact solver")

    def _of(self, size: int) -> exact.Solver:
        if size not in self._solvers:
            self._solvers[size] = exact.Solver(size)
        return self._solvers[size]


class Solved:
    """The exact value of a position; a notebook draws the board with the winning moves in green rings.

    Attributes:
        board: the position.
        solution: the solver's answer, with its effort: `nodes` and `seconds`.
    """

    def __init__(self, board: Board, solution: exact.Solution) -> None:
        """As above."""
        self.board = board
        self.solution = solution

    @property
    def winner(self) -> str:
        """`Black` or `White`."""
        return NAMES[self.solution.winner]

    @property
    def moves(self) -> list[str]:
        """Every winning move of the player to move, by name; none where it loses."""
        return [format_cell(move, self.board.size) for move in self.solution.winning_moves]

    def _repr_svg_(self) -> str:
        mover = NAMES[self.board.to_move]
        moves = f"{len(self.moves)} of {len(self.board.legal_moves())} moves win" if self.moves else "every move loses"
        effort = f"{self.solution.nodes:,} positions in {self.solution.seconds:.3f} s"
        title = f"{self.winner} wins; {mover} to move: {moves}"
        return self.board.picture(marks=self.solution.winning_moves, title=title, caption=f"exact, {effort}").svg
