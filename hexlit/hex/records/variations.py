"""The tree of variations of a game in SGF. The main line is that of first children.

The tree is a flat list of nodes, as `SgfTree` is.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from hexlit.hex.records.game import Place, RecordError, as_record, parse_point
from hexlit.hex.records.sgf import read_trees, recorded

MOST_STEPS = 200_000
"""Nodes of all lines of a game together, each counted from the root: what is read of one game."""


class Variation(NamedTuple):
    """A node of the tree: a move, and the number of the node before it."""

    move: int
    """Cell (row * size + column), or `size*size` for swap-pieces; -1 of node 0, the empty board."""
    parent: int
    """-1 of node 0; else smaller than the node's own number."""
    comment: str = ""
    labels: Mapping[int, str] = MappingProxyType({})
    """Cell -> a text of up to three letters on it."""


class Variations(NamedTuple):
    """The lines of a game."""

    nodes: list[Variation]
    unread: list[RecordError]
    """One for each line that is no game of Hex; the nodes before its first wrong move are missing,
    too.
    """


def main_line(moves: Iterable[int]) -> list[Variation]:
    """The nodes of a game without variations."""
    return [Variation(-1, -1), *(Variation(move, ply) for ply, move in enumerate(moves))]


def read_variations(lines: Iterable[str], place: Place | None = None) -> Variations:
    """The tree of a game that `read_games` takes; its moves are those of `as_record`, Black's
    first.

    Args:
        lines: of the file.
        place: of the game in it; None for the first one.

    Raises:
        RecordError: there is no such game, or it has more variations than are read.
    """
    start = (place.line, place.column) if place else (0, 0)
    tree = next(
        (tree for tree in read_trees(lines) if (tree.place.line, tree.place.column) >= start), None
    )
    if tree is None or isinstance(tree, RecordError):
        raise tree or RecordError("variations", "there is no game", place)
    nodes = [Variation(-1, -1)]
    numbers: dict[tuple[int, int], int] = {}
    unread = []
    steps = 0
    for end in tree.ends():
        line = tree.line(end)
        steps += len(line.nodes)
        if steps > MOST_STEPS:
            raise RecordError(
                "variations",
                f"more than are read ({MOST_STEPS:,} moves, those of each line counted)",
            )
        try:
            moves = as_record(recorded(line, parse_point)).moves.tolist()
        except RecordError as error:
            unread.append(error)
            continue
        at = 0
        for move in moves:
            if (at, move) not in numbers:
                numbers[at, move] = len(nodes)
                nodes.append(Variation(move, at))
            at = numbers[at, move]
    return Variations(nodes, unread)
