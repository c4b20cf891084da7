"""Values of the first moves of a board, compared with the truth."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hexlit.api.boards import Board
from hexlit.api.pictures import Picture
from hexlit.hex.notation import format_cell
from hexlit.reporting.board_svg import BAD, CellNote, board_svg, value_notes


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
