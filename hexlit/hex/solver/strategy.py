"""Claims: the parts of a winning strategy, which a checker can follow without the solver.

All claims are about one side, the winner, who connects top to bottom. Each claims: two ends are
connected although the other side moves next, if some cells hold stones of the winner and others,
the carrier, are empty; all cells around it may be the other side's. An end is a set of stones, taken
as joined, or an edge. There are four kinds:

- AND: the parts hold, no two of them share a cell of their carriers, and stones lead from one end
  over the parts to the other. Whatever the other side plays is answered in the part it is played
  in.
- OR: some answers, each with a claim that holds after it. Whatever cell the other side takes, one
  of the answers does not need it, or a reply next to it kills it.
- DEAD: a stone that is dead is not needed.
- CAPTURED: two stones are not needed if each is dead next to the other, as long as both cells are
  empty.

A cell is dead if its colour changes nothing, however its empty neighbours are filled. Here virtual
connections (`hexlit.hex.solver.connection`) become claims, of the first two kinds.

Sets of cells are Python's integers with the bits of `hexlit.hex.solver.bitboard`; two more bits
stand for the edges.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

import numpy as np

from hexlit.hex.solver.bitboard import NOT_FIRST_COLUMN, NOT_LAST_COLUMN
from hexlit.hex.solver.connection import FULL, connect, new_connections
from hexlit.hex.solver.moves import edges

TOP, BOTTOM = 1 << 64, 1 << 65
"""The edges, as bits next to the 64 of the cells."""
CELLS = TOP - 1
_NOT_FIRST_COLUMN, _NOT_LAST_COLUMN = int(NOT_FIRST_COLUMN), int(NOT_LAST_COLUMN)
AND, OR, DEAD, CAPTURED = "and", "or", "dead", "captured"

Answer = tuple[int, int]
"""A cell, as a bit, and the number of the claim that holds with a stone there."""


class StrategyClaim(NamedTuple):
    """Two ends are connected although the other side moves next."""

    kind: str
    parts: tuple[int, ...]
    """Numbers of the claims that it is made of; those of an AND from end to end."""
    cells: tuple[int, ...]
    """Of an OR the answers; else the cells that are dead or captured."""
    stones: int
    """Stones that the parts do not need by themselves: an AND leads over them, others make cells
    dead.
    """
    one: int
    """An end."""
    other: int
    kills: tuple[tuple[int, int], ...] = ()
    """Of an OR: cells that are dead after a reply, and the reply."""


def bits_of(word: int) -> Iterator[int]:
    """The bits of a word, one by one."""
    while word:
        bit = word & -word
        word ^= bit
        yield bit


def neighbours(cells: int) -> int:
    """The cells next to some of `cells`; may reach outside a board smaller than 8×8."""
    east, west = cells & _NOT_LAST_COLUMN, cells & _NOT_FIRST_COLUMN
    return (cells << 8 | cells >> 8 | east << 1 | east >> 7 | west >> 1 | west << 7) & CELLS


class Claims:
    """Claims on a `size`×`size` board, each once; those of virtual connections are made here."""

    def __init__(self, size: int) -> None:
        self.all: list[StrategyClaim] = []
        self.carriers: list[int] = []
        """Of each claim."""
        self.needed: list[int] = []
        """The stones of each claim."""
        sides = edges(size)
        self._rows = {TOP: int(sides.top), BOTTOM: int(sides.bottom)}
        self._room = new_connections(size)
        self._numbers: dict[StrategyClaim, int] = {}
        self._links: dict[tuple[int, int, int, int], int | None] = {}

    def add(self, claim: StrategyClaim) -> int:
        """The number of a claim whose parts are here."""
        number = self._numbers.setdefault(claim, len(self.all))
        if number == len(self.all):
            self.all.append(claim)
            carrier, needed = (
                0,
                claim.stones | (claim.one | claim.other if claim.kind == AND else 0),
            )
            for place, part in enumerate(claim.parts):
                carrier |= self.carriers[part]
                needed |= self.needed[part] & ~(claim.cells[place] if claim.kind == OR else 0)
            if claim.kind in (OR, CAPTURED):
                carrier |= _union(claim.cells) | _union(map(_union, claim.kills))
            if claim.kind in (DEAD, CAPTURED):
                needed &= ~_union(claim.cells)
            self.carriers.append(carrier)
            self.needed.append(needed & CELLS)
        return number

    def either(
        self, answers: Sequence[Answer], around: int = 0, kills: tuple[tuple[int, int], ...] = ()
    ) -> int:
        """The OR of answers; stones `around` make cells dead."""
        cells, parts = zip(*answers, strict=True)
        ends = [self._ends(part) for part in parts]
        one = _union(first for first, _ in ends)
        other = _union(second for _, second in ends)
        return self.add(StrategyClaim(OR, parts, cells, around, one, other, kills))

    def connect(self, own: int, empty: int) -> tuple[int, int, int]:
        """The virtual connection from edge to edge: FULL, SEMI or NOTHING, its carrier, and the
        cells of all semis.
        """
        kind, carrier, common, _ = self._connect(own, empty, TOP, BOTTOM)
        return kind, int(carrier), int(common)

    def connected(self, own: int, carrier: int) -> int | None:
        """The full connection of `own` from edge to edge within `carrier`; None if its parts are
        not found.
        """
        return self._connection(own, TOP, BOTTOM, carrier)

    def connecting(self, own: int, carrier: int) -> Answer | None:
        """The answer that makes a semi connection from edge to edge full; None if it is not found."""
        return self._answer(own, TOP, BOTTOM, carrier, carrier)

    def below(self, last: int) -> list[int]:
        """The claims that a claim is made of, itself included, each after its parts."""
        found, waiting = {last}, [last]
        while waiting:
            new = set(self.all[waiting.pop()].parts) - found
            found |= new
            waiting += new
        return sorted(found)

    def _connection(self, own: int, one: int, other: int, carrier: int) -> int | None:
        first, last = self._group(own, one), self._group(own, other)
        if first & last:
            return self._chain(own, one, other, [])
        parts: list[int] = []
        for link in self._series(own, first, last, carrier):
            part = self._link(own, *link)
            if part is None:
                return None
            parts.append(part)
        return self._chain(own, one, other, parts)

    def _series(self, own: int, one: int, other: int, carrier: int) -> list[tuple[int, int, int]]:
        """The links between the groups that the connection leads over, in their order: ends and
        carrier.
        """
        full = self._full(own, one, other, carrier)
        carrier = carrier if full is None else full
        left = own & ~(one | other)
        while left:
            middle = self._group(left, left & -left)
            left &= ~middle
            for near, far in ((one, other), (other, one)):
                to_near = self._full(own, near, middle, carrier)
                to_far = (
                    None if to_near is None else self._full(own, middle, far, carrier & ~to_near)
                )
                if to_near is not None and to_far is not None:
                    before, after = (to_near, to_far) if near == one else (to_far, to_near)
                    return self._series(own, one, middle, before) + self._series(
                        own, middle, other, after
                    )
        return [(one, other, carrier)]

    def _link(self, own: int, one: int, other: int, carrier: int) -> int | None:
        """What no group divides: a few answers that have no cell in common."""
        key = own, one, other, carrier
        if key not in self._links:
            self._links[key] = None
            answers: list[Answer] = []
            common = carrier
            while common:
                within = carrier & ~(common & -common) if answers else carrier
                answer = self._answer(own, one, other, within, common)
                if answer is None:
                    return None
                answers.append(answer)
                common &= answer[0] | self.carriers[answer[1]]
            self._links[key] = self.either(answers)
        return self._links[key]

    def _answer(self, own: int, one: int, other: int, carrier: int, needed: int) -> Answer | None:
        """The cell that makes a connection full within `carrier`; of several the one that needs
        least of `needed`.
        """
        ways = []
        for cell in bits_of(carrier):
            rest = self._full(own | cell, one, other, carrier & ~cell)
            if rest is not None:
                used = rest | cell
                ways.append(((used & needed).bit_count(), used.bit_count(), cell, rest))
        if not ways:
            return None
        *_, cell, rest = min(ways)
        number = self._connection(own | cell, one, other, rest)
        return None if number is None else (cell, number)

    def _chain(self, own: int, one: int, other: int, parts: list[int]) -> int:
        """The AND of parts between two ends, over stones of `own`."""
        ends = [self._ends(part) for part in parts]
        if parts:
            to_one, to_other = (
                self._paths(own, ends[0][0], one),
                self._paths(own, ends[-1][1], other),
            )
        else:
            to_one = to_other = self._path(own, other, one)
        stones, one, other = to_one | to_other, to_one & one, to_other & other
        for (_, near), (far, _) in pairwise(ends):
            both = (near | far) & CELLS
            stones |= self._paths(own, both, both & -both)
        stones &= CELLS & ~(one | other)
        if len(parts) == 1 and not stones and ends[0] == (one, other):
            return parts[0]
        return self.add(StrategyClaim(AND, tuple(parts), (), stones, one, other))

    def _paths(self, own: int, starts: int, end: int) -> int:
        """Ways over stones from each of `starts` to an end."""
        return _union(
            start if start & end else self._path(own, start, end) for start in bits_of(starts)
        )

    def _path(self, own: int, start: int, end: int) -> int:
        """The stones of a shortest way over stones, and the edges if it begins or ends there."""
        goal = end & CELLS | own & self._row(end)
        layers = [start & CELLS | own & self._row(start)]
        reached = layers[0]
        while not layers[-1] & goal:
            layers.append(neighbours(layers[-1]) & (own | end) & CELLS & ~reached)
            assert layers[-1], "the ends are apart"
            reached |= layers[-1]
        path = at = next(bits_of(layers.pop() & goal))
        edge = 0 if at & end else end & ~CELLS
        for layer in reversed(layers):
            at = next(bits_of(neighbours(at) & layer))
            path |= at
        return path | edge | (0 if at & start else start & ~CELLS)

    def joined(self, stone: int) -> int:
        """The cells and edges that a stone touches."""
        return neighbours(stone) | _union(edge for edge, row in self._rows.items() if row & stone)

    def _ends(self, number: int) -> tuple[int, int]:
        return self.all[number].one, self.all[number].other

    def _row(self, end: int) -> int:
        """The cells next to the edge of an end."""
        return _union(row for edge, row in self._rows.items() if edge & end)

    def _group(self, own: int, end: int) -> int:
        """The stones that an end reaches over own stones, and its edge."""
        reached = own & (end | self._row(end))
        while (grown := reached | neighbours(reached) & own) != reached:
            reached = grown
        return reached | end

    def _full(self, own: int, one: int, other: int, empty: int) -> int | None:
        """The cells that a full connection of two ends needs, None where none is found within
        `empty`.
        """
        kind, carrier, _, _ = self._connect(own, empty, one, other)
        return int(carrier) if kind == FULL else None

    def _connect(
        self, own: int, empty: int, one: int, other: int
    ) -> tuple[int, np.uint64, np.uint64, np.uint64]:
        top = np.uint64(one & CELLS | self._row(one))
        bottom = np.uint64(other & CELLS | self._row(other))
        return connect(np.uint64(own), np.uint64(empty), top, bottom, True, self._room)


def _union(words: Iterable[int]) -> int:
    return reduce(or_, words, 0)
