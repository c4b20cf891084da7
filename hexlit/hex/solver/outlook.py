"""The best virtual connections of a position, found without any search, for people who study it.

They tell of each side whether it connects its edges even if the other one moves next, or only by moving next. They
name the cells that this takes, and the cells against it (the *must-play* region).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.solver.bitboard import MAX_SIZE, full_board, pack, unpack
from hexlit.hex.solver.connection import FULL, SEMI, connect, new_connections
from hexlit.hex.solver.inferior import edges

STRENGTHS = {FULL: "full", SEMI: "semi"}


class Outlook(NamedTuple):
    """The best virtual connection found between the edges of one side; cells are `row * size + column`, ascending."""

    strength: str
    """`full`: connected even if the other side moves next; `semi`: by moving next; empty: none was found."""
    carrier: tuple[int, ...]
    """Empty cells that it needs."""
    must_play: tuple[int, ...]
    """For a semi: the other side has to play one of these, or it has lost."""


def outlooks(cells: npt.NDArray[np.int8], size: int) -> dict[int, Outlook]:
    """The outlook of Black (+1) and of White (-1) with the stones `cells` int8 `[size*size]`.

    Every connection that is found is true. A side may be connected although none is found.

    Raises:
        UsageError: the board is larger than 8x8.
    """
    if not 2 <= size <= MAX_SIZE:
        raise UsageError(f"virtual connections are shown on boards of 2 to {MAX_SIZE} rows, not {size}")
    room, sides = new_connections(size), edges(size)

    def turned(board: npt.NDArray[np.bool_], colour: int) -> npt.NDArray[np.bool_]:
        """`board` as `colour` sees it, top to bottom, and back."""
        return board if colour == BLACK else board.reshape(size, size).T.ravel()

    found = {}
    for colour in (BLACK, WHITE):
        own = pack(turned(cells == colour, colour), size)
        empty = pack(turned(cells == 0, colour), size)
        kind, carrier, common, _ = connect(own, empty, sides.top, sides.bottom, True, room)

        def cells_of(word: np.uint64, colour: int = colour) -> tuple[int, ...]:
            on_board = unpack(int(word) & int(full_board(size)), size)
            return tuple(np.flatnonzero(turned(on_board, colour)).tolist())

        strength = STRENGTHS.get(kind, "")
        found[colour] = Outlook(
            strength, cells_of(carrier) if strength else (), cells_of(common) if strength == "semi" else ()
        )
    return found
