"""The order of the moves that the solver searches: two-distances and patterns, weighed by a small
learned function.

Two-distance counts the moves that link a cell to an edge when the other side may take the better of
two ways (van Rijswijck 2002). A move is described by a handful of *tuples* (Lucas 2008): the
colours of its neighbours as one number, the colours of its bridges' ends as another, its distances
to the edges, and so on. Every value of a tuple has a row of 32 learned weights; their sum,
rectified, gives the score. The weights come from positions of 6×6 to 8×8 whose winning move the
solver had found (`examples/solver_order.py`); they decide what is tried first, never what is true.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.hex.arrays import FloatArray
from hexlit.hex.jit import inline, uncounted_kernel
from hexlit.hex.solver.bitboard import (
    MAX_SIZE,
    NOT_FIRST_COLUMN,
    NOT_LAST_COLUMN,
    ONE,
    RING,
    STRIDE,
    ZERO,
    flood,
    index,
    lowest,
    neighbours,
    transpose,
)

_FAR = 7  # distances are counted up to here

_SEVEN, _EIGHT = np.uint64(STRIDE - 1), np.uint64(STRIDE)

# Steps to the ends of the bridges of a cell, in order.
_BRIDGES = ((-1, 2), (-2, 1), (-1, -1), (1, -2), (2, -1), (1, 1))
_CELLS = MAX_SIZE * MAX_SIZE
_OWN_SIDE, _OTHER_SIDE = _CELLS, _CELLS + 1  # beyond the edges; a corner counts as the mover's
_COLOURS = 3  # empty, the mover's, the opponent's
_LEVELS = 6  # of a detour
_STEPS = 4  # of a distance
# taken from the score of a move that is not likely by the prior, and again if it is not even
# possible
_LESS = 2.5

Prior = tuple[np.uint64, np.uint64]
"""The likely moves of a position, and all that are possible."""

TUPLES = (
    *(_COLOURS**6, _COLOURS**6),  # colours of the neighbours, and of the ends of the bridges
    *(
        1 << 6,
        1 << 6,
        1 << 6,
        1 << 6,
    ),  # which of either lie on a shortest way of the mover, and of the opponent
    _LEVELS
    * _LEVELS,  # how much longer the shortest ways over the cell are than those over the board
    *(_STEPS * _STEPS, _STEPS * _STEPS),  # distances to the mover's edges, and to the opponent's
    _STEPS * _STEPS,  # rows and columns to the nearest edges
)
"""The number of values of each tuple."""

UNITS = 32
"""Width of the hidden layer."""


class Weights(NamedTuple):
    """The learned function: score = output · max(0, bias + one row for each tuple)."""

    rows: npt.NDArray[
        np.float32
    ]  # [sum(TUPLES), 32], those of a tuple after those of the one before
    bias: FloatArray  # [32]
    output: FloatArray  # [32]


@cache
def packaged_weights() -> Weights:
    """The weights that come with the package, float16 in a file of about 100 kB."""
    with np.load(Path(__file__).with_name("order.npz"), allow_pickle=False) as file:
        return Weights(*(np.ascontiguousarray(file[name], np.float32) for name in Weights._fields))


ORDERING = np.dtype(
    (
        np.record,
        [
            ("board_size", np.int64),
            (
                "around",
                np.int64,
                (_CELLS, 12),
            ),  # a cell's neighbours and ends of bridges; 64 and 65 beyond the edges
            ("first", np.int64, len(TUPLES)),  # the first row of each tuple
            ("rows", np.float32, (sum(TUPLES), UNITS)),  # the weights
            ("bias", np.float32, UNITS),
            ("output", np.float32, UNITS),
            ("colour", np.int64, _CELLS + 2),  # of each cell
            ("distance", np.int64, (4, _CELLS)),
            (
                "detour",
                np.int64,
                (2, _CELLS + 2),
            ),  # shortest way of a side over the cell, less the shortest of all
            ("tuples", np.int64, (_CELLS, len(TUPLES))),  # of each move
            ("scores", np.float32, _CELLS),
            ("moves", np.uint64, _CELLS),  # the best first
        ],
    )
)
"""The geometry of a board, the weights, and room to order the moves of one position."""

Ordering = np.record  # of this type


def new_ordering(size: int) -> Ordering:
    """For a `size`×`size` board."""
    room: Ordering = np.zeros(1, ORDERING)[0]
    for row, column in np.ndindex(size, size):
        for i, (down, right) in enumerate(RING + _BRIDGES):
            r, c = row + down, column + right
            inside = 0 <= r < size and 0 <= c < size
            beyond = _OTHER_SIDE if 0 <= r < size else _OWN_SIDE
            room.around[row * STRIDE + column, i] = r * STRIDE + c if inside else beyond
    room.board_size = size
    room.first[:] = np.cumsum((0, *TUPLES[:-1]))
    room.rows[:], room.bias[:], room.output[:] = packaged_weights()
    room.colour[_OWN_SIDE:] = 1, 2
    room.detour[:] = _LEVELS
    return room


@uncounted_kernel
def _beside_two(cells: np.uint64) -> np.uint64:
    """Every cell next to at least two of `cells`; may reach outside a board smaller than 8×8."""
    east, west = cells & NOT_LAST_COLUMN, cells & NOT_FIRST_COLUMN
    some, two = ZERO, ZERO
    for side in (
        cells << _EIGHT,
        cells >> _EIGHT,
        east << ONE,
        east >> _SEVEN,
        west >> ONE,
        west << _SEVEN,
    ):
        two |= some & side
        some |= side
    return two


@uncounted_kernel
def _within_a_move(stones: np.uint64, empty: np.uint64, edge: np.uint64) -> np.uint64:
    """The empty cells that would be linked to `edge` by a stone there, if every link had its pair
    of cells free.
    """
    reached = flood(edge, stones)
    while True:
        border = (neighbours(reached) | edge) & empty
        two = _beside_two(border)
        grown = flood(reached | (two & stones), stones)
        if grown == reached:
            return (border | two) & empty
        reached = grown


@uncounted_kernel
def _distances(
    stones: np.uint64, empty: np.uint64, edge: np.uint64, side: int, o: Ordering
) -> None:
    """The number of moves of `stones` away from it, bridging, that link each cell to `edge`, one
    side of the board.
    """
    for cell in range(_CELLS):
        o.distance[side, cell] = _FAR
    for d in range(_FAR):
        near = _within_a_move(stones, empty, edge)
        if near == ZERO:
            return
        empty &= ~near
        stones |= near
        cells = transpose(near) if side >= 2 else near
        while cells:
            o.distance[side, index(cells)] = d
            cells &= ~lowest(cells)


@uncounted_kernel
def describe(
    own: np.uint64, opp: np.uint64, empty: np.uint64, candidates: np.uint64, o: Ordering
) -> int:
    """Write the moves `candidates` to `o.moves` in the order of the cells, and their tuples;
    returns how many.
    """
    other, other_empty = transpose(opp), transpose(empty)
    top = np.uint64((ONE << np.uint64(o.board_size)) - ONE)
    bottom = top << (_EIGHT * np.uint64(o.board_size - 1))
    _distances(own, empty, top, 0, o)
    _distances(own, empty, bottom, 1, o)
    _distances(other, other_empty, top, 2, o)
    _distances(other, other_empty, bottom, 3, o)
    distance, detour, colour = o.distance, o.detour, o.colour
    shortest, other_shortest = 2 * _FAR, 2 * _FAR
    for cell in range(_CELLS):
        place = ONE << np.uint64(cell)
        colour[cell] = 2 if opp & place else 0
        if own & place:
            colour[cell] = 1
        free = empty & place != ZERO
        detour[0, cell] = distance[0, cell] + distance[1, cell] if free else 4 * _FAR
        detour[1, cell] = distance[2, cell] + distance[3, cell] if free else 4 * _FAR
        shortest, other_shortest = (
            min(shortest, detour[0, cell]),
            min(other_shortest, detour[1, cell]),
        )
    for cell in range(_CELLS):
        detour[0, cell] -= shortest
        detour[1, cell] -= other_shortest
    number = 0
    while candidates:
        o.moves[number] = lowest(candidates)
        _describe(index(candidates), number, o)
        candidates &= ~lowest(candidates)
        number += 1
    return number


@inline
def _describe(cell: int, number: int, o: Ordering) -> None:
    """Write the tuples of the move to `cell`, the `number`th."""
    for ends in range(2):
        colours, mine, theirs = 0, 0, 0
        for i in range(6 * ends, 6 * ends + 6):
            near = o.around[cell, i]
            colours = _COLOURS * colours + o.colour[near]
            mine = 2 * mine + (o.detour[0, near] == 0)
            theirs = 2 * theirs + (o.detour[1, near] == 0)
        o.tuples[number, ends] = colours
        o.tuples[number, 2 + ends], o.tuples[number, 4 + ends] = mine, theirs
    longest, farthest, distance, last = _LEVELS - 1, _STEPS - 1, o.distance, o.board_size - 1
    row, column = cell // STRIDE, cell % STRIDE
    o.tuples[number, 6] = min(o.detour[0, cell], longest) * _LEVELS + min(
        o.detour[1, cell], longest
    )
    o.tuples[number, 7] = min(distance[0, cell], farthest) * _STEPS + min(
        distance[1, cell], farthest
    )
    o.tuples[number, 8] = min(distance[2, cell], farthest) * _STEPS + min(
        distance[3, cell], farthest
    )
    o.tuples[number, 9] = min(row, last - row, farthest) * _STEPS + min(
        column, last - column, farthest
    )


@uncounted_kernel
def order(
    own: np.uint64,
    opp: np.uint64,
    empty: np.uint64,
    candidates: np.uint64,
    prior: Prior,
    o: Ordering,
) -> int:
    """Write the cells of `candidates` to `o.moves`, the best first, and return their number.

    Moves that are not likely by the prior have lower scores, and those that are not even possible
    still lower ones.
    """
    number = describe(own, opp, empty, candidates, o)
    moves, scores = o.moves, o.scores
    for n in range(number):
        move, score = moves[n], np.float32(0)
        for unit in range(UNITS):
            total = o.bias[unit]
            for i in range(len(TUPLES)):
                total += o.rows[o.first[i] + o.tuples[n, i], unit]
            score += max(total, np.float32(0)) * o.output[unit]
        for cells in prior:
            score -= np.float32(0 if move & cells else _LESS)
        i = n
        while i > 0 and scores[i - 1] < score:
            scores[i], moves[i] = scores[i - 1], moves[i - 1]
            i -= 1
        scores[i], moves[i] = score, move
    return number
