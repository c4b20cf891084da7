"""Wins on boards that are too large for the exact solver, where virtual connections alone prove
them.

The groups of one side, a point each, and the empty cells that it needs most (of the smallest
two-distance potential) make a graph of at most 64 points. All other empty cells count as the
opponent's. What wins there wins on the board; a win that needs more cells, or a search, is not
found.
"""

import math
import time

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import Int8Array
from hexlit.hex.distance import potentials
from hexlit.hex.engine import empty_stones, find, place_all
from hexlit.hex.frame import frame_action, frame_board
from hexlit.hex.geometry import geometry
from hexlit.hex.solver import Solution
from hexlit.hex.solver.connection import FULL, POINTS, Connections, connect, connections_of, words


def virtual_solution(cells: Int8Array, colour: int) -> Solution | None:
    """The win of `colour` (+1 Black, -1 White), to move, with the moves that are seen to keep it;
    None if none is seen.

    Unlike those of the exact solver, its winning moves need not be all.

    Args:
        cells: int8 `[size*size]`, +1 black, -1 white, of an undecided position.
    """
    start = time.perf_counter()
    size = math.isqrt(cells.size)
    points, stones, (top, bottom), room = _graph(frame_board(cells, colour, size), size)

    def search(stones: int, empty: int) -> tuple[int, int]:
        """The state of the connection, and the points that it needs."""
        state, carrier, _, few = connect(
            np.uint64(stones), np.uint64(empty), top, bottom, True, room
        )
        return state, int(carrier | few)

    empty = (1 << len(points)) - 1
    _, needed = search(stones, empty)
    tried = 0
    moves = []
    for number, cell in enumerate(points):
        point = 1 << number
        if not needed & point:
            continue
        tried += 1
        state, _ = search(stones | point, empty & ~point)
        if state == FULL:
            moves.append(frame_action(cell, colour, size))
    if not moves:
        return None
    return Solution(colour, tuple(sorted(moves)), 1 + tried, time.perf_counter() - start)


def _graph(cells: Int8Array, size: int) -> tuple[list[int], int, NDArray[np.uint64], Connections]:
    """The graph of the side +1: the cells that its first points are, the others as a word, the two
    edges as words.
    """
    table = geometry(size)
    stones = empty_stones(1, size)
    place_all(stones, 0, cells, table)
    taken = np.flatnonzero(cells == 1)
    empty = np.flatnonzero(cells == 0)
    groups, group = np.unique(
        [find(stones.parent[0], cell) for cell in taken.tolist()], return_inverse=True
    )
    nearest = empty[np.argsort(potentials(cells)[1][0, empty], kind="stable")][
        : max(0, POINTS - len(groups))
    ]
    point = np.full(cells.size + 1, POINTS)  # what lies outside the graph, and outside the board
    point[nearest] = np.arange(len(nearest))
    point[taken] = np.minimum(len(nearest) + group, POINTS)
    touch = np.zeros((POINTS + 1, POINTS + 1), bool)
    edges = np.zeros((2, POINTS + 1), bool)
    touch[point[:-1, None], point[table.neighbours]] = True
    np.fill_diagonal(touch, False)
    for edge in (0, 1):
        edges[edge, point[:-1][(table.edges[0] >> edge & 1).astype(bool)]] = True
    own = (1 << min(POINTS, len(nearest) + len(groups))) - (1 << len(nearest))
    return (
        nearest.tolist(),
        own,
        words(edges[:, :-1]),
        connections_of(touch[:-1, :-1], len(nearest)),
    )
