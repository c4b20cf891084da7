"""The lines of a virtual connection, as people draw it: along stones, over bridges, and the ways of
larger templates.

The claims that make up a connection (`hexlit.hex.solver.strategy`) are drawn one by one. An AND
leads along its stones. The answers of an OR are its ways: two that need a cell each are a bridge;
those of a larger template hold together, whichever cell the other side takes. So no single cell of
the other side cuts the lines of a full connection.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.arrays import Int8Array
from hexlit.hex.frame import frame_map
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.solver import strategy
from hexlit.hex.solver.bitboard import MAX_SIZE, pack, unpack
from hexlit.hex.solver.connection import FULL, SEMI

TOP, BOTTOM = -1, -2
"""The edges, as the end of a line."""
STONES, BRIDGE, WAY = "stones", "bridge", "way"
"""Kinds of lines: along own stones, over a cell of a bridge, and one of several ways of a larger
link.
"""


class Line(NamedTuple):
    """A straight line between two cells that touch, or from a cell to the edge that it lies on."""

    start: int
    end: int
    """A cell, TOP or BOTTOM."""
    kind: str


def _draw(claims: strategy.Claims, number: int, kind: str) -> Iterator[tuple[str, int, int]]:
    """The lines of a claim: kind and both ends, as words; those along its own stones are of `kind`."""
    claim = claims.all[number]
    parts = [claims.all[part] for part in claim.parts]
    if claim.kind == strategy.AND:
        reached = claim.stones | claim.one | claim.other
        for part in parts:
            reached |= part.one | part.other
        for stone in strategy.bits_of(claim.stones):
            yield from (
                (kind, stone, place) for place in strategy.bits_of(claims.joined(stone) & reached)
            )
    elif kind == STONES:
        kind = WAY if any(part.parts for part in parts) else BRIDGE
    for part_number in claim.parts:
        yield from _draw(claims, part_number, kind)


STRENGTHS = {FULL: "full", SEMI: "semi"}


class Outlook(NamedTuple):
    """The best virtual connection found between the edges of one side; cells are `row * size +
    column`, ascending.
    """

    strength: str
    """`full`: connected even if the other side moves next; `semi`: by moving next; empty: none was
    found.
    """
    carrier: tuple[int, ...]
    """Empty cells that it needs."""
    must_play: tuple[int, ...]
    """For a semi: the other side has to play one of these, or it has lost."""
    key: int | None
    """For a semi: the cell to play."""
    lines: tuple[Line, ...]
    """Its picture, for a semi after its key. Black connects TOP to BOTTOM; for White these stand
    for left and right.
    """


def outlooks(cells: Int8Array, size: int) -> dict[int, Outlook]:
    """The outlook of Black (+1) and of White (-1) with the stones `cells` int8 `[size*size]`.

    Every connection that is found is true. A side may be connected although none is found.

    Raises:
        UsageError: the board is larger than 8x8.
    """
    if not 2 <= size <= MAX_SIZE:
        raise UsageError(
            f"virtual connections are shown on boards of 2 to {MAX_SIZE} rows, not {size}"
        )
    claims = strategy.Claims(size)
    result = {}
    for colour in (BLACK, WHITE):
        own, empty = (
            int(pack(frame_map(cells == stone, colour, size), size)) for stone in (colour, 0)
        )
        kind, carrier, common = claims.connect(own, empty)

        def cells_of(word: int, colour: int = colour) -> tuple[int, ...]:
            return tuple(np.flatnonzero(frame_map(unpack(word, size), colour, size)).tolist())

        def place(bit: int, colour: int = colour) -> int:
            return {strategy.TOP: TOP, strategy.BOTTOM: BOTTOM}.get(bit) or cells_of(bit, colour)[0]

        key, number = None, None
        if kind == FULL and carrier:
            number = claims.connected(own, carrier)
        elif kind == SEMI:
            key, number = claims.connecting(own, carrier) or (None, None)
        drawn = [] if number is None else _draw(claims, number, STONES)
        lines = {}
        for strength, *bits in sorted(drawn, reverse=True):  # ways, then what is sure
            ends = list(map(place, bits))
            lines[max(ends), min(ends)] = strength
        result[colour] = Outlook(
            STRENGTHS.get(kind, ""),
            cells_of(carrier),
            cells_of(common) if kind == SEMI else (),
            key and place(key),
            tuple(Line(start, end, kind) for (start, end), kind in sorted(lines.items())),
        )
    return result
