"""The best virtual connections of a position, found without any search, for people who study it.

They tell of each side whether it connects its edges even if the other one moves next, or only by moving next. They
name the cells that this takes, the cells against it (the *must-play* region), and the lines that draw it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.solver.bitboard import MAX_SIZE, full_board, pack, unpack
from hexlit.hex.solver.connection import FULL, SEMI, Connections, connect, new_connections
from hexlit.hex.solver.inferior import edges
from hexlit.hex.solver.lines import Line, full_lines, semi_lines

STRENGTHS = {FULL: "full", SEMI: "semi"}


class Outlook(NamedTuple):
    """The best virtual connection found between the edges of one side; cells are `row * size + column`, ascending."""

    strength: str
    """`full`: connected even if the other side moves next; `semi`: by moving next; empty: none was found."""
    carrier: tuple[int, ...]
    """Empty cells that it needs."""
    must_play: tuple[int, ...]
    """For a semi: the other side has to play one of these, or it has lost."""
    key: int | None
    """For a semi: the cell to play."""
    lines: tuple[Line, ...]
    """Its picture, for a semi after its key. Black connects TOP to BOTTOM; for White these stand for left and right."""


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
        needed = cells_of(carrier) if strength else ()
        key, lines = _drawn(strength, np.flatnonzero(cells == colour).tolist(), needed, colour, size, room)
        found[colour] = Outlook(strength, needed, cells_of(common) if strength == "semi" else (), key, lines)
    return found


def _drawn(
    strength: str, own: list[int], carrier: tuple[int, ...], colour: int, size: int, room: Connections
) -> tuple[int | None, tuple[Line, ...]]:
    """The key and the lines of a connection."""

    def turned(cell: int) -> int:
        """A cell as `colour` sees it, top to bottom, and back; an edge stays."""
        return cell if colour == BLACK or cell < 0 else cell % size * size + cell // size

    seen = frozenset(map(turned, own)), frozenset(map(turned, carrier))
    key: int | None = None
    lines: tuple[Line, ...] = ()
    if strength == "full" and carrier:
        lines = full_lines(*seen, size, room)
    elif strength == "semi":
        key, lines = semi_lines(*seen, size, room)
    drawn = tuple(Line(turned(line.start), turned(line.end), line.kind) for line in lines)
    return None if key is None else turned(key), drawn
