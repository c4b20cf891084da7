"""A checker of certificates that shares nothing with the solver: it reads the file and knows the
rules of Hex.

The first line of a certificate is a JSON object: `board`, the stones `black` and `white`, who is
`to_move`, the `winner`, and the `first` move if the winner moves first. Every other line is a
claim, numbered from 0: *two ends are connected although the loser moves next, if the cells it needs
hold the winner's stones and its carrier is empty; all other cells may be the loser's*. Lists of
cells have commas, `-` is none.

    or - c4:1 b2:5 a1/a2     the winner answers c4 and then claim 1 holds, or b2 and then claim 5
    holds, or, to a1, a2 and c5 top a3,b4 1 7     claims 1 and 7, one after the other, and the stone
    c5 connect the top to a3 and b4 dead a1 7 c4             claim 7 without the stone c4, which is
    dead beside the stone a1 captured a1 7 c4 d4      claim 7 without the stones c4 and d4, each of
    which is dead beside the other (and a1)

Ends are stones, taken as joined, and edges. The last claim connects the winner's edges.
"""

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

RING = (
    (0, 1),
    (-1, 1),
    (-1, 0),
    (0, -1),
    (1, -1),
    (1, 0),
)  # steps to the neighbours of a cell, in order
EDGES = {"black": ("top", "bottom"), "white": ("left", "right")}

Ends = frozenset[str]


class WrongError(Exception):
    """A certificate that proves nothing."""


class Claim(NamedTuple):
    one: Ends
    other: Ends
    needed: Ends  # the winner's stones
    carrier: Ends


def demand(holds: bool, why: str) -> None:
    if not holds:
        raise WrongError(why)


class Groups:
    """Stones and edges that are known to be joined."""

    def __init__(self) -> None:
        self.root: dict[str, str] = {}

    def find(self, name: str) -> str:
        while (above := self.root.setdefault(name, name)) != name:
            name = above
        return name

    def join(self, names: Iterable[str]) -> None:
        first, *rest = map(self.find, names)
        for root in rest:
            self.root[self.find(root)] = self.find(first)

    def joined(self, names: Iterable[str]) -> bool:
        return len(set(map(self.find, names))) == 1


class Checker:
    """Claims of one board and winner."""

    def __init__(self, size: int, winner: str) -> None:
        self.cells = {
            f"{chr(97 + column)}{row + 1}": (row, column)
            for row in range(size)
            for column in range(size)
        }
        self.edges = EDGES[winner]
        self.names = names = {place: name for name, place in self.cells.items()}
        self.beside: dict[str, set[str]] = {edge: set() for edge in self.edges}
        for name, (row, column) in self.cells.items():
            self.beside[name] = {
                names[at] for down, right in RING if (at := (row + down, column + right)) in names
            }
            along = row if winner == "black" else column
            for edge, line in zip(self.edges, (0, size - 1), strict=True):
                if along == line:
                    self.beside[name].add(edge)
                    self.beside[edge].add(name)
        self.claims: list[Claim] = []
        self.winner, self.size = winner, size

    def read(self, text: str) -> Ends:
        names = Ends() if text == "-" else Ends(text.split(","))
        demand(names <= self.beside.keys(), f"no cells or edges of the winner: {text}")
        return names

    def earlier(self, text: str) -> Claim:
        demand(text.isdecimal() and int(text) < len(self.claims), f"not an earlier claim: {text}")
        return self.claims[int(text)]

    def add(self, line: str) -> None:
        kind, stones, *fields = line.split()
        rules = {
            "or": self.either,
            "and": self.together,
            "dead": self.dead,
            "captured": self.captured,
        }
        demand(kind in rules, f"no rule: {kind}")
        claim = rules[kind](self.read(stones), fields)
        demand(not claim.needed & claim.carrier, "stones in the carrier")
        self.claims.append(claim)

    def is_dead(self, cell: str, stones: Ends, empty: Ends) -> bool:
        """Whether a cell joins nothing, however the empty ones are filled;
        all cells beside are the loser's.
        """
        row, column = self.cells[cell]
        ring = []
        for down, right in RING:
            r, c = row + down, column + right
            name = self.names.get((r, c))
            if name is not None:
                ring.append("wl" if name in empty else "w" if name in stones else "l")
            elif 0 <= r < self.size or 0 <= c < self.size:
                ring.append("w" if (0 <= c < self.size) == (self.winner == "black") else "l")
            # Else it lies between two edges, and both are in the ring.
        return all(
            sum(way[i] != way[i - 1] for i in range(len(way))) <= 2 for way in product(*ring)
        )

    def either(self, stones: Ends, fields: list[str]) -> Claim:
        """The winner gives an answer that does not need the loser's next cell, or kills it."""
        answers = [field.split(":") for field in fields if ":" in field]
        kills = [field.split("/") for field in fields if "/" in field]
        demand(
            bool(answers) and len(answers) + len(kills) == len(fields), "neither answers nor kills"
        )
        one, other, needed, union = Ends(), Ends(), stones, Ends()
        common = Ends(self.cells)
        for cell, number in answers:
            claim = self.earlier(number)
            demand(
                cell in self.cells and cell not in claim.carrier, f"the answer {cell} is not free"
            )
            demand(cell not in claim.one | claim.other, f"the answer {cell} is an end")
            one, other = one | claim.one, other | claim.other
            needed |= claim.needed - {cell}
            common &= claim.carrier | {cell}
            union |= claim.carrier | {cell}
        demand(common <= {cell for cell, _ in kills}, f"the loser takes {sorted(common)}")
        demand(all(cell in self.cells for pair in kills for cell in pair), "a kill off the board")
        union = union.union(*kills)
        for cell, reply in kills:
            demand(
                cell != reply and self.is_dead(cell, needed | {reply}, union - {cell, reply}),
                f"{cell} is alive",
            )
        return Claim(one, other, needed, union)

    def dead(self, stones: Ends, fields: list[str]) -> Claim:
        """The colour of a dead stone changes nothing."""
        number, cell = fields
        claim = self.earlier(number)
        needed, carrier = (claim.needed | stones) - {cell}, claim.carrier
        demand(
            cell in self.cells and not (claim.one | claim.other) & self.cells.keys(),
            "a stone between the edges",
        )
        demand(self.is_dead(cell, needed, carrier), f"{cell} is alive")
        return Claim(claim.one, claim.other, needed, carrier)

    def captured(self, stones: Ends, fields: list[str]) -> Claim:
        """If the loser takes one of two such cells,
        the winner takes the other, and the first is dead.
        """
        number, cell, other = fields
        claim = self.earlier(number)
        needed, carrier = (claim.needed | stones) - {cell, other}, claim.carrier | {cell, other}
        demand(
            {cell, other} <= self.cells.keys() and not {cell, other} & claim.carrier,
            "cells that are not free",
        )
        demand(not (claim.one | claim.other) & self.cells.keys(), "stones between the edges")
        for one, two in ((cell, other), (other, cell)):
            demand(self.is_dead(one, needed | {two}, carrier - {one, two}), f"{one} is alive")
        return Claim(claim.one, claim.other, needed, carrier)

    def together(self, stones: Ends, fields: list[str]) -> Claim:
        """The winner answers in the part that the loser plays in;
        in the end all parts hold, and join the ends.
        """
        one, other = map(self.read, fields[:2])
        parts = [self.earlier(number) for number in fields[2:]]
        carrier, needed = Ends(), one | other | stones
        for part in parts:
            demand(not carrier & part.carrier, "parts share cells")
            carrier, needed = carrier | part.carrier, needed | part.needed
        groups = Groups()
        present = one | other | stones
        present = present.union(*(part.one | part.other for part in parts))
        for name in present:
            groups.join([name, *(self.beside[name] & present)])
        groups.join(one)
        groups.join(other)
        for part in parts:  # it takes each of its ends as joined, so that must be known before
            demand(
                groups.joined(part.one) and groups.joined(part.other),
                "an end of a part is not one group",
            )
            groups.join(part.one | part.other)
        demand(groups.joined(one | other), "the ends stay apart")
        return Claim(one, other, needed - set(self.edges), carrier)


def check(path: Path) -> dict[str, Any]:
    """The first line of a certificate that proves what it says.

    Raises:
        WrongError: it does not, or is no certificate.
    """
    try:
        return followed(path)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise WrongError(f"no certificate ({type(error).__name__}: {error})") from error


def followed(path: Path) -> dict[str, Any]:
    """As `check`, for a file with the right kinds of values."""
    with path.open(encoding="utf-8") as file:
        said: dict[str, Any] = json.loads(file.readline())
        demand(
            type(said["board"]) is int and 2 <= said["board"] <= 26, f"no board: {said['board']!r}"
        )
        winner, loser = said["winner"], {"black": "white", "white": "black"}[said["winner"]]
        checker = Checker(said["board"], winner)
        for line in file:
            checker.add(line)
    demand(isinstance(said[winner], list) and isinstance(said[loser], list), "no lists of stones")
    stones, taken, first = Ends(said[winner]), Ends(said[loser]), said["first"]
    demand(stones | taken <= checker.cells.keys() and not stones & taken, "no position")
    demand(said["to_move"] in (winner, loser), "nobody is to move")
    if first is not None:
        demand(
            said["to_move"] == winner and first in checker.cells.keys() - stones - taken,
            f"no such move: {first}",
        )
        stones |= {first}
    demand(bool(checker.claims), "no claims")
    last = checker.claims[-1]
    demand(
        (last.one, last.other) == tuple(Ends({edge}) for edge in checker.edges),
        "not about the edges",
    )
    demand(last.needed <= stones, f"stones that are not there: {sorted(last.needed - stones)}")
    demand(
        not last.carrier & (stones | taken),
        f"cells that are taken: {sorted(last.carrier & (stones | taken))}",
    )
    return said
