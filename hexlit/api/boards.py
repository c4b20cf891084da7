"""A board that notebooks draw, and that takes moves by name."""

from collections.abc import Collection, Mapping
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hexlit.api.pictures import Picture
from hexlit.hex import board as rules
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board_svg import MARK, CellNote, board_svg, share_notes, value_notes

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
