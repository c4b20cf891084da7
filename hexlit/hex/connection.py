"""Connections that cannot be cut, recognised without search.

Two groups of stones that share two empty neighbours are as good as connected: when the other side takes one of the
pair, the owner takes the other. Such links chain up as long as their pairs do not overlap, and an edge counts as a
group whose neighbours are its row. Everything here looks at one side that connects top to bottom; boards are words as
in `hexlit.hex.bitboard`. What is found is always true; what is not found may still be connected.
"""

import numpy as np
import numpy.typing as npt

from hexlit.hex.bitboard import ONE, ZERO, flood, lowest, neighbours, several, twice
from hexlit.hex.jit import inline, kernel

# A stone on the third row is connected to the edge when the cells below it, widening to one side, are empty (the
# "ziggurat"). Distances in bits from the stone to those cells, leaning right and left, for the bottom edge; the top
# edge has the same shape turned by 180°. The column masks keep the shape on the board.
_RIGHT = tuple(np.uint64(d) for d in (1, 7, 8, 9, 14, 15, 16, 17))
_LEFT = tuple(np.uint64(d) for d in (6, 7, 8, 13, 14, 15, 16))
_COLUMNS_1_TO_5 = np.uint64(0x3E3E3E3E3E3E3E3E)
_COLUMNS_2_TO_6 = np.uint64(0x7C7C7C7C7C7C7C7C)
_COLUMNS_0_TO_4 = np.uint64(0x1F1F1F1F1F1F1F1F)
_COLUMNS_3_TO_7 = np.uint64(0xF8F8F8F8F8F8F8F8)
_TWO_ROWS = np.uint64(16)

SCRATCH = (
    3,
    40,
)  # shape of the work area: groups in the order they were linked, their links, the groups not yet linked


@inline
def _right_above_bottom(free: np.uint64, bottom: np.uint64) -> np.uint64:
    """The cells of the third row whose ziggurat leaning right is free."""
    x = (free >> _RIGHT[0]) & (free >> _RIGHT[1]) & (free >> _RIGHT[2]) & (free >> _RIGHT[3]) & (free >> _RIGHT[4])
    x &= (free >> _RIGHT[5]) & (free >> _RIGHT[6]) & (free >> _RIGHT[7])
    return x & (bottom >> _TWO_ROWS) & _COLUMNS_2_TO_6


@inline
def _left_above_bottom(free: np.uint64, bottom: np.uint64) -> np.uint64:
    """The cells of the third row whose ziggurat leaning left is free."""
    x = (free >> _LEFT[0]) & (free >> _LEFT[1]) & (free >> _LEFT[2]) & (free >> _LEFT[3]) & (free >> _LEFT[4])
    x &= (free >> _LEFT[5]) & (free >> _LEFT[6]) & (free << ONE)
    return x & (bottom >> _TWO_ROWS) & _COLUMNS_3_TO_7


@inline
def _right_below_top(free: np.uint64, top: np.uint64) -> np.uint64:
    """As `_right_above_bottom`, turned by 180°."""
    x = (free << _RIGHT[0]) & (free << _RIGHT[1]) & (free << _RIGHT[2]) & (free << _RIGHT[3]) & (free << _RIGHT[4])
    x &= (free << _RIGHT[5]) & (free << _RIGHT[6]) & (free << _RIGHT[7])
    return x & (top << _TWO_ROWS) & _COLUMNS_1_TO_5


@inline
def _left_below_top(free: np.uint64, top: np.uint64) -> np.uint64:
    """As `_left_above_bottom`, turned by 180°."""
    x = (free << _LEFT[0]) & (free << _LEFT[1]) & (free << _LEFT[2]) & (free << _LEFT[3]) & (free << _LEFT[4])
    x &= (free << _LEFT[5]) & (free << _LEFT[6]) & (free >> ONE)
    return x & (top << _TWO_ROWS) & _COLUMNS_0_TO_4


@kernel
def safe_connection(
    stones: np.uint64, empty: np.uint64, top: np.uint64, bottom: np.uint64, scratch: npt.NDArray[np.uint64]
) -> tuple[bool, np.uint64]:
    """Whether `stones` connect top to bottom although the other side moves next, and the empty cells this needs."""
    linked, links, loose = scratch[0], scratch[1], scratch[2]
    reached = flood(top, stones)
    if reached & bottom:
        return True, ZERO
    linked[0] = reached
    links[0] = ZERO
    number = 1
    on_edge = ZERO  # bit i: group i hangs on the top edge by a ziggurat
    free = empty
    border = (neighbours(reached) | top) & free
    foot = flood(bottom, stones)
    foot_border = neighbours(foot) | bottom
    rest = stones & ~reached & ~foot
    waiting = 0
    while rest:
        group = flood(lowest(rest), stones)
        loose[waiting] = group
        waiting += 1
        rest &= ~group
    pair = border & foot_border
    holder = ZERO  # the stone that a ziggurat connects to the bottom
    while not several(pair):
        stone = lowest(reached & _right_above_bottom(free, bottom))
        if stone:
            holder = stone
            pair = ZERO
            for shift in _RIGHT:
                pair |= stone << shift
            break
        stone = lowest(reached & _left_above_bottom(free, bottom))
        if stone:
            holder = stone
            pair = stone >> ONE
            for shift in _LEFT:
                pair |= stone << shift
            break
        grown = False
        for i in range(waiting):
            group = loose[i]
            if group == ZERO:
                continue
            around = neighbours(group)
            pair = border & around
            if several(pair):
                first = lowest(pair)
                pair = first | lowest(pair & ~first)
            else:
                pair = ZERO
                stone = lowest(group & _right_below_top(free, top))
                if stone:
                    for shift in _RIGHT:
                        pair |= stone >> shift
                else:
                    stone = lowest(group & _left_below_top(free, top))
                    if stone:
                        pair = stone << ONE
                        for shift in _LEFT:
                            pair |= stone >> shift
                if pair == ZERO:
                    continue
                on_edge |= ONE << np.uint64(number)
            free &= ~pair
            reached |= group
            border = (border | around) & free
            linked[number] = group
            links[number] = pair
            number += 1
            loose[i] = ZERO
            grown = True
        if not grown:
            return False, ZERO
        pair = border & foot_border
    # Walk back from the bottom and keep only the links that it hangs on.
    carrier = ZERO
    wanted = ZERO
    k = number
    while True:
        if k == number and holder:
            carrier |= pair
            for i in range(number):
                if linked[i] & holder:
                    wanted |= ONE << np.uint64(i)
        elif (on_edge >> np.uint64(k)) & ONE:
            carrier |= pair
        else:
            first = lowest(pair)
            second = lowest(pair & ~first)
            pair = first | second
            carrier |= pair
            support = _first_beside(linked, k, top, pair)
            if support >= 0:
                wanted |= ONE << np.uint64(support)
            else:
                wanted |= ONE << np.uint64(_first_beside(linked, k, top, first))
                wanted |= ONE << np.uint64(_first_beside(linked, k, top, second))
        k -= 1
        while k > 0 and not (wanted >> np.uint64(k)) & ONE:
            k -= 1
        if k == 0:
            return True, carrier
        pair = links[k]


@kernel
def _first_beside(linked: npt.NDArray[np.uint64], number: int, top: np.uint64, cells: np.uint64) -> int:
    """The first linked group beside all of `cells`, the top edge being part of group 0; -1 when there is none."""
    for i in range(number):
        around = neighbours(linked[i])
        if i == 0:
            around |= top
        if cells & ~around == ZERO:
            return i
    return -1


@kernel
def reach(stones: np.uint64, empty: np.uint64, edge: np.uint64, is_top: bool) -> np.uint64:
    """The empty cells where a stone would be linked to `edge`, were every pair still free for every link."""
    if is_top:
        template = _right_below_top(empty, edge) | _left_below_top(empty, edge)
    else:
        template = _right_above_bottom(empty, edge) | _left_above_bottom(empty, edge)
    reached = flood(edge | template, stones)
    while True:
        border = (neighbours(reached) | edge) & empty
        grown = flood(reached | (twice(border) & stones), stones)
        if grown == reached:
            return (border | twice(border) | template) & empty
        reached = grown
