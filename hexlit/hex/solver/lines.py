"""The lines of a virtual connection, as people draw it: along stones, over bridges, and the ways of larger templates.

A connection in series falls into links between groups of stones or edges. A link over two cells is a bridge. A larger
link, such as an edge template, is drawn by its owner's answers: a few that hold, whichever cell the other side takes.
So no single cell of the other side cuts the lines of a full connection.

Everything here looks at a side that connects top to bottom; a cell is `row * size + column`.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.solver.bitboard import MAX_SIZE, STRIDE, full_board, pack, unpack
from hexlit.hex.solver.connection import FULL, SEMI, Connections, connect, new_connections
from hexlit.hex.solver.moves import edges

TOP, BOTTOM = -1, -2
"""The edges, as the end of a line."""
STONES, BRIDGE, WAY = "stones", "bridge", "way"
"""Kinds of lines: along own stones, over a cell of a bridge, and one of several ways of a larger link."""

Cells = frozenset[int]


class Line(NamedTuple):
    """A straight line between two cells that touch, or from a cell to the edge that it lies on."""

    start: int
    end: int
    """A cell, TOP or BOTTOM."""
    kind: str


def full_lines(own: Cells, carrier: Cells, size: int, room: Connections) -> tuple[Line, ...]:
    """The lines of a full connection of the stones `own` from top to bottom over the empty cells `carrier`."""
    drawing = _Drawing(size, room)
    drawing.connect(own, _End(edge=TOP), _End(edge=BOTTOM), carrier)
    return drawing.lines


def semi_lines(own: Cells, carrier: Cells, size: int, room: Connections) -> tuple[int | None, tuple[Line, ...]]:
    """The cell to play of a semi connection and the lines after it; None and no lines where it is not found."""
    drawing = _Drawing(size, room)
    ends = _End(edge=TOP), _End(edge=BOTTOM)
    result = drawing.answer(own, *ends, carrier, needed=carrier)
    if result is None:
        return None, ()
    key, rest = result
    drawing.connect(own | {key}, *ends, rest, played=key)
    return key, drawing.lines


@dataclass(frozen=True)
class _End:
    """An end of a link: a group of stones, or an edge with the stones on it."""

    stones: Cells = frozenset()
    edge: int | None = None


class _Drawing:
    """Collects the lines of one connection."""

    def __init__(self, size: int, room: Connections) -> None:
        self._size = size
        self._room = room
        around = geometry(size).neighbours.tolist()
        self._beside = [frozenset(cell for cell in row if cell < size * size) for row in around]
        last = range(size * (size - 1), size * size)
        self._row: dict[int | None, Cells] = {TOP: frozenset(range(size)), BOTTOM: frozenset(last), None: frozenset()}
        self._kinds: dict[tuple[int, int], str] = {}

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(Line(start, end, kind) for (end, start), kind in sorted(self._kinds.items()))

    def connect(
        self, own: Cells, one: _End, other: _End, carrier: Cells, kind: str = STONES, played: int | None = None
    ) -> tuple[set[int], set[int]]:
        """Draw the full connection of two ends; returns the cells or edges of either end that its lines touch.

        `kind` is WAY for one of several ways. `played` is the newest stone of the owner.
        """
        first, last = self._group(own, one), self._group(own, other)
        if first & last:
            assert played is not None, "the ends were apart"
            return {self._route(own, played, one, kind)}, {self._route(own, played, other, kind)}
        links = self._series(own, _End(first, one.edge), _End(last, other.edge), carrier)
        touched: list[set[int]] = [set() for _ in range(len(links) + 1)]
        for number, (near, far, cells) in enumerate(links):
            for place, touches in enumerate(self._link(own, near, far, cells, kind)):
                touched[number + place] |= touches
        for middle in touched[1:-1]:
            for cell in middle:
                self._route(own, cell, _End(frozenset({min(middle)})), kind)
        near_end = {self._route(own, cell, one, kind) for cell in touched[0]}
        return near_end, {self._route(own, cell, other, kind) for cell in touched[-1]}

    def answer(self, own: Cells, one: _End, other: _End, carrier: Cells, needed: Cells) -> tuple[int, Cells] | None:
        """The cell that makes the connection full within `carrier`, and the cells that it then needs.

        Of several the one that shares the fewest cells with `needed`.
        """
        result = []
        for cell in sorted(carrier):
            rest = self._full(own | {cell}, one, other, carrier - {cell})
            if rest is not None:
                used = rest | {cell}
                result.append((len(used & needed), len(used), cell, rest))
        if not result:
            return None
        *_, cell, rest = min(result, key=lambda one: one[:3])
        return cell, rest

    def _series(self, own: Cells, one: _End, other: _End, carrier: Cells) -> list[tuple[_End, _End, Cells]]:
        """The links between the groups that the connection leads over, in their order."""
        carrier = self._full(own, one, other, carrier) or carrier
        left = own - one.stones - other.stones
        while left:
            group = self._group(left, _End(frozenset({min(left)})))
            left -= group
            middle = _End(group)
            for from_one in (True, False):
                near, far = (one, other) if from_one else (other, one)
                to_near = self._full(own, near, middle, carrier)
                to_far = None if to_near is None else self._full(own, middle, far, carrier - to_near)
                if to_near is not None and to_far is not None:
                    before, after = (to_near, to_far) if from_one else (to_far, to_near)
                    return self._series(own, one, middle, before) + self._series(own, middle, other, after)
        return [(one, other, carrier)]

    def _link(self, own: Cells, one: _End, other: _End, carrier: Cells, kind: str) -> tuple[set[int], set[int]]:
        """Draw what no group divides: a bridge, or the ways of a larger link."""
        shared = sorted(carrier & self._near(one) & self._near(other))[:2]
        touched: tuple[set[int], set[int]] = set(), set()
        if len(shared) == 2:
            for end, touches in zip((one, other), touched, strict=True):
                both = [cell for cell in sorted(end.stones) if self._beside[cell].issuperset(shared)]
                for cell in shared:
                    at_edge = end.edge is not None and cell in self._row[end.edge]
                    stones = both or sorted(end.stones & self._beside[cell])
                    touch = end.edge if end.edge is not None and at_edge else stones[0]
                    touches.add(touch)
                    self._add(cell, touch, BRIDGE if kind == STONES else kind)
            return touched
        for cell, rest in self._answers(own, one, other, carrier):
            result = self.connect(own | {cell}, one, other, rest, WAY, played=cell)
            for touches, more in zip(touched, result, strict=True):
                touches |= more
        return touched

    def _answers(self, own: Cells, one: _End, other: _End, carrier: Cells) -> list[tuple[int, Cells]]:
        """A few cells of the owner, each with the cells that it then needs, that have no cell in common."""
        result: list[tuple[int, Cells]] = []
        common = carrier
        while common:
            taken = min(common) if result else None
            within = carrier if taken is None else carrier - {taken}
            answer = self.answer(own, one, other, within, needed=common)
            if answer is None:
                return []
            result.append(answer)
            common &= answer[1] | {answer[0]}
        return result

    def _route(self, own: Cells, start: int, end: _End, kind: str) -> int:
        """Draw the shortest line over stones from `start` to an end; returns where it arrives."""
        if start < 0 or start in end.stones:
            return start
        before = {start: start}
        waiting = deque([start])
        while waiting:
            cell = waiting.popleft()
            arrived = cell
            if cell not in end.stones and cell in self._row[end.edge]:
                assert end.edge is not None
                arrived = end.edge
                before[arrived] = cell
            if arrived < 0 or cell in end.stones:
                at = arrived
                while at != start:
                    self._add(before[at], at, kind)
                    at = before[at]
                return arrived
            for beside in sorted(self._beside[cell] & (own | end.stones) - before.keys()):
                before[beside] = cell
                waiting.append(beside)
        raise AssertionError(f"no stones lead from {start} to {end}")

    def _add(self, start: int, end: int, kind: str) -> None:
        """Keep a line; one that is sure stays so."""
        key = min(start, end), max(start, end)
        if self._kinds.get(key, WAY) == WAY:
            self._kinds[key] = kind

    def _group(self, own: Cells, end: _End) -> Cells:
        """The stones that an end reaches over own stones."""
        reached = set(own & (end.stones | self._row[end.edge]))
        waiting = list(reached)
        while waiting:
            fresh = self._beside[waiting.pop()] & own - reached
            reached |= fresh
            waiting += fresh
        return frozenset(reached)

    def _near(self, end: _End) -> Cells:
        """The cells beside an end."""
        return self._row[end.edge].union(*(self._beside[cell] for cell in end.stones))

    def _full(self, own: Cells, one: _End, other: _End, empty: Cells) -> Cells | None:
        """The cells that a full connection of two ends needs, None where none is found within `empty`."""
        top, bottom = (self._word(end.stones | self._row[end.edge]) for end in (one, other))
        kind, carrier, _, _ = connect(self._word(own), self._word(empty), top, bottom, True, self._room)
        return self._cells(int(carrier)) if kind == FULL else None

    def _word(self, cells: Iterable[int]) -> np.uint64:
        return np.uint64(sum(1 << (STRIDE * (cell // self._size) + cell % self._size) for cell in cells))

    def _cells(self, word: int) -> Cells:
        size = self._size
        bits = (bit for bit in range(STRIDE * size) if word >> bit & 1)
        return frozenset(bit // STRIDE * size + bit % STRIDE for bit in bits)


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

    result = {}
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
        result[colour] = Outlook(strength, needed, cells_of(common) if strength == "semi" else (), key, lines)
    return result


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
