"""Cells and moves of the solver that need no search: dead, captured, vulnerable and dominated ones."""

from typing import NamedTuple

import numpy as np

from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.hex.solver.bitboard import (
    NOT_FIRST_COLUMN,
    NOT_LAST_COLUMN,
    STRIDE,
    ZERO,
    full_board,
    lowest,
)

# The ring around a cell, in order: direction d and d + 1 are adjacent, d and d + 3 opposite.
_EAST, _NORTH_EAST, _NORTH, _WEST, _SOUTH_WEST = 0, 1, 2, 3, 4
_SIDE, _DIAGONAL, _ROW = np.uint64(1), np.uint64(STRIDE - 1), np.uint64(STRIDE)
_ALL = ~ZERO

Ring = tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]
"""One word for each direction: the cells whose neighbour there has some property."""


class Edges(NamedTuple):
    """A board and its four edge rows."""

    board: np.uint64
    top: np.uint64
    bottom: np.uint64
    left: np.uint64
    right: np.uint64


def edges(size: int) -> Edges:
    """The edges of a `size`×`size` board."""
    row = (1 << size) - 1
    column = sum(1 << (STRIDE * r) for r in range(size))
    words = (row, row << (STRIDE * (size - 1)), column, column << (size - 1))
    return Edges(full_board(size), *(np.uint64(word) for word in words))


@uncounted_device_function
def _step(cells: np.uint64, direction: int) -> np.uint64:
    """The neighbours of `cells` in a direction; they may lie outside a board smaller than 8×8."""
    if direction == _EAST:
        return (cells & NOT_LAST_COLUMN) << _SIDE
    if direction == _NORTH_EAST:
        return (cells & NOT_LAST_COLUMN) >> _DIAGONAL
    if direction == _NORTH:
        return cells >> _ROW
    if direction == _WEST:
        return (cells & NOT_FIRST_COLUMN) >> _SIDE
    if direction == _SOUTH_WEST:
        return (cells & NOT_FIRST_COLUMN) << _DIAGONAL
    return cells << _ROW


@inline
def _opposite(direction: int) -> int:
    return direction - 3 if direction >= 3 else direction + 3


@inline
def _ring(cells: np.uint64) -> Ring:
    """The cells whose neighbour in each direction is one of `cells`."""
    return (
        _step(cells, 3),
        _step(cells, 4),
        _step(cells, 5),
        _step(cells, 0),
        _step(cells, 1),
        _step(cells, 2),
    )


@uncounted_device_function
def _without(own: np.uint64, opp: np.uint64, sides: Edges) -> tuple[Ring, Ring]:
    """Cells whose neighbour is or can become the mover's, and the opponent's. Beyond an edge lie
    its owner's stones.
    """
    o, p = _ring(own), _ring(opp)
    right, left = (
        sides.right & ~sides.top,
        sides.left & ~sides.bottom,
    )  # the two corners between edges count as one
    return (
        (
            ~(p[0] | sides.right),
            ~(p[1] | right),
            ~p[2],
            ~(p[3] | sides.left),
            ~(p[4] | left),
            ~p[5],
        ),
        (
            ~o[0],
            ~(o[1] | sides.top),
            ~(o[2] | sides.top),
            ~o[3],
            ~(o[4] | sides.bottom),
            ~(o[5] | sides.bottom),
        ),
    )


@inline
def _given(ring: Ring, direction: int, value: np.uint64) -> Ring:
    """`ring` with `value` in one direction."""
    return (
        value if direction == 0 else ring[0],
        value if direction == 1 else ring[1],
        value if direction == 2 else ring[2],
        value if direction == 3 else ring[3],
        value if direction == 4 else ring[4],
        value if direction == 5 else ring[5],
    )


@uncounted_device_function
def _live(mine: Ring, theirs: Ring) -> np.uint64:
    """The cells around which colours can alternate at least four times: two sides that only the
    cell connects.

    All cells are tested at once. An alternating sequence of 1, 2, 3, 4 neighbours found so far can
    end in the mover's colour around the cells `a`, and in the opponent's around the cells `b`.
    """
    a1, b1 = ZERO, ZERO
    a2, b2 = ZERO, ZERO
    a3, b3 = ZERO, ZERO
    four = ZERO
    for d in range(6):
        x, y = mine[d], theirs[d]
        four |= (x & b3) | (y & a3)
        a3 |= x & b2
        b3 |= y & a2
        a2 |= x & b1
        b2 |= y & a1
        a1 |= x
        b1 |= y
    return four


@uncounted_device_function
def _dead_given(mine: Ring, theirs: Ring, direction: int, owner: np.uint64) -> np.uint64:
    """The cells that are dead once the neighbour in a direction is the mover's (`owner` all ones)
    or the opponent's.
    """
    return ~_live(_given(mine, direction, owner), _given(theirs, direction, ~owner))


@uncounted_device_function
def _pair(mine: Ring, theirs: Ring, empty: np.uint64, owner: np.uint64) -> np.uint64:
    """Two adjacent empty cells that one player has captured; no cell where there are none."""
    for d in range(3):
        here = empty & _dead_given(mine, theirs, d, owner)
        there = empty & _dead_given(mine, theirs, d + 3, owner)
        cell = lowest(here & _step(there, d + 3))
        if cell:
            return cell | _step(cell, d)
    return ZERO


@uncounted_kernel
def fill_in(
    own: np.uint64, opp: np.uint64, sides: Edges
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Give captured cells to their owners and dead cells to the opponent, until there are none.

    The winner stays the same. Returns the stones of both sides, and the captured cells that each
    got: the winner's strategy needs its own.
    """
    own_captured, opp_captured = ZERO, ZERO
    while True:
        empty = sides.board & ~(own | opp)
        mine, theirs = _without(own, opp, sides)
        dead = lowest(empty & ~_live(mine, theirs))
        if dead:  # one at a time: the next may be dead only as long as this one was open
            opp |= dead
            continue
        pair = _pair(mine, theirs, empty, _ALL)
        if pair:
            own |= pair
            own_captured |= pair
            continue
        pair = _pair(mine, theirs, empty, ZERO)
        if pair == ZERO:
            return own, opp, own_captured, opp_captured
        opp |= pair
        opp_captured |= pair


@uncounted_kernel
def inferior_moves(
    own: np.uint64, opp: np.uint64, must: np.uint64, sides: Edges
) -> tuple[np.uint64, np.uint64]:
    """The moves of `must` that need no search, and the opponent's replies that refute some of them.

    A move is *vulnerable* when a reply kills it: it wins only if another move does. It is
    *dominated* when another move would kill its cell: that one wins if it does, and is kept (a move
    outside `must` loses anyway). If all moves that are left lose, the dropped moves lose, too,
    against the union of the strategies found and the replies.
    """
    empty = sides.board & ~(own | opp)
    mine, theirs = _without(own, opp, sides)
    vulnerable, replies = ZERO, ZERO
    for d in range(6):
        cells = must & _dead_given(mine, theirs, d, ZERO) & _step(empty, _opposite(d))
        vulnerable |= cells
        replies |= _step(cells, d)
    dominated, kept = ZERO, ZERO
    for d in range(6):
        cells = must & ~vulnerable & _dead_given(mine, theirs, d, _ALL) & _step(empty, _opposite(d))
        while cells:
            cell = lowest(cells)
            cells &= ~cell
            killer = _step(cell, d)
            if not cell & (dominated | kept) and not killer & dominated:
                dominated |= cell
                kept |= killer
    return vulnerable | dominated, replies
