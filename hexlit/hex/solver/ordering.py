"""The order of moves: those on short bridging paths of both sides come first."""

import numpy as np
import numpy.typing as npt

from hexlit.hex.jit import borrowing_kernel
from hexlit.hex.solver.bitboard import (
    NOT_FIRST_COLUMN,
    NOT_LAST_COLUMN,
    ONE,
    STRIDE,
    ZERO,
    Words,
    flood,
    index,
    lowest,
    neighbours,
    transpose,
)

LAYERS = 12
"""Distances are counted up to here."""

_DISTANCE_WEIGHT = 100  # of one bridging step, against one step from the centre
_SEVEN, _EIGHT = np.uint64(STRIDE - 1), np.uint64(STRIDE)


@borrowing_kernel
def _beside_two(cells: np.uint64) -> np.uint64:
    """Every cell beside at least two of `cells`; may reach outside a board smaller than 8×8."""
    east, west = cells & NOT_LAST_COLUMN, cells & NOT_FIRST_COLUMN
    some, two = ZERO, ZERO
    for side in (cells << _EIGHT, cells >> _EIGHT, east << ONE, east >> _SEVEN, west >> ONE, west << _SEVEN):
        two |= some & side
        some |= side
    return two


@borrowing_kernel
def _within_a_move(stones: np.uint64, empty: np.uint64, edge: np.uint64) -> np.uint64:
    """The empty cells that would be linked to `edge` by a stone there, if every link had its pair of cells free."""
    reached = flood(edge, stones)
    while True:
        border = (neighbours(reached) | edge) & empty
        two = _beside_two(border)
        grown = flood(reached | (two & stones), stones)
        if grown == reached:
            return (border | two) & empty
        reached = grown


@borrowing_kernel
def _distances(stones: np.uint64, empty: np.uint64, edge: np.uint64, turned: bool, layers: Words) -> None:
    """Layer d: the empty cells that d moves of `stones` elsewhere, bridging, link to `edge`; transposed if `turned`."""
    layers[:] = ZERO
    for d in range(LAYERS):
        near = _within_a_move(stones, empty, edge)
        if near == ZERO:
            return
        layers[d] = transpose(near) if turned else near
        empty &= ~near
        stones |= near


@borrowing_kernel
def order(
    own: np.uint64,
    opp: np.uint64,
    empty: np.uint64,
    candidates: np.uint64,
    size: int,
    moves: Words,
    layers: Words,
    scores: npt.NDArray[np.int64],
) -> int:
    """Write the cells of `candidates` to `moves` `[64]`, the best first, and return their number.

    `layers` `[4, 12]` and `scores` `[64]` are room to work in.
    """
    other, other_empty = transpose(opp), transpose(empty)
    top = np.uint64((ONE << np.uint64(size)) - ONE)
    bottom = top << (_EIGHT * np.uint64(size - 1))
    _distances(own, empty, top, False, layers[0])
    _distances(own, empty, bottom, False, layers[1])
    _distances(other, other_empty, top, True, layers[2])
    _distances(other, other_empty, bottom, True, layers[3])
    number = 0
    while candidates:
        move = lowest(candidates)
        candidates &= ~move
        row, column = index(move) // STRIDE, index(move) % STRIDE
        end = size - 1
        score = abs(2 * row - end) + abs(2 * column - end) + abs(row + column - end)
        for side in range(4):
            d = 0
            while d < LAYERS and layers[side, d] != ZERO and not layers[side, d] & move:
                d += 1
            score += _DISTANCE_WEIGHT * d
        i = number
        while i > 0 and scores[i - 1] > score:
            scores[i], moves[i] = scores[i - 1], moves[i - 1]
            i -= 1
        scores[i], moves[i] = score, move
        number += 1
    return number
