"""Virtual connections: points that one side can connect although the other moves next.

A point is an empty cell or a group of stones. A *full* connection of two points holds even if the other side moves
first. A *semi* connection holds if its owner moves first. The *carrier* is the set of empty cells that it needs. Larger
connections are built from smaller ones (Anshelevich, "A hierarchical approach to computer Hex", 2002):

- AND: two fulls x-m and m-y with disjoint carriers make a full x-y if m is a group, and a semi if m is empty.
- OR: semis x-y make a full x-y if their carriers have no cell in common; it needs all of them.

Only connections with one of the two edges at one end are kept, and the other part of an AND is a neighbour or a bridge.
That finds edge templates and chains of links over the whole board in some tens of microseconds. Every connection found
is true; other points may be connected, too.

Everything here looks at a side that connects top to bottom; boards are words as in `hexlit.hex.solver.bitboard`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.hex.solver.bitboard import MAX_SIZE, ONE, STRIDE, ZERO, Words, count, flood, index, lowest, neighbours

Counts = npt.NDArray[np.int64]

POINTS = MAX_SIZE * MAX_SIZE
_LINKS = 48  # of a point; further ones are dropped

# A bridge leads over two cells that both ends touch: (row, column) steps to its end and to those cells.
_BRIDGES = (
    ((-1, -1), ((0, -1), (-1, 0))),
    ((1, 1), ((0, 1), (1, 0))),
    ((-2, 1), ((-1, 0), (-1, 1))),
    ((2, -1), ((1, 0), (1, -1))),
    ((-1, 2), ((-1, 1), (0, 1))),
    ((1, -2), ((1, -1), (0, -1))),
)


class Links(NamedTuple):
    """A board's geometry, and room for the points and links of one side."""

    beside: Words  # [64]: the neighbours of a cell
    bridge_to: Counts  # [64, 6]: the far end of a bridge, -1 off the board
    bridge_over: Words  # [64, 6]: its two cells
    point: Counts  # [64]: the points, groups first
    around: Words  # [64]: the empty cells beside a group
    to: Counts  # [64, 48]: points that a short link leads to
    over: Words  # [64, 48]: its carrier, empty for neighbours
    number: Counts  # [64]: of the links of a point


def new_links(size: int) -> Links:
    """The geometry of a `size`×`size` board."""
    beside = np.zeros(POINTS, np.uint64)
    bridge_to = np.full((POINTS, len(_BRIDGES)), -1, np.int64)
    bridge_over = np.zeros((POINTS, len(_BRIDGES)), np.uint64)
    on_board = {(row, column): row * STRIDE + column for row in range(size) for column in range(size)}
    for (row, column), cell in on_board.items():
        for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0), (-1, 1), (1, -1)):
            other = on_board.get((row + down, column + right))
            beside[cell] |= ZERO if other is None else ONE << np.uint64(other)
        for i, ((down, right), over) in enumerate(_BRIDGES):
            end = on_board.get((row + down, column + right))
            if end is not None:
                bridge_to[cell, i] = end
                bridge_over[cell, i] = sum(1 << on_board[row + down, column + right] for down, right in over)
    return Links(
        beside=beside,
        bridge_to=bridge_to,
        bridge_over=bridge_over,
        point=np.zeros(POINTS, np.int64),
        around=np.zeros(POINTS, np.uint64),
        to=np.zeros((POINTS, _LINKS), np.int64),
        over=np.zeros((POINTS, _LINKS), np.uint64),
        number=np.zeros(POINTS, np.int64),
    )


@inline
def _link(link_to: Counts, link_over: Words, links: Counts, start: int, end: int, over: np.uint64) -> None:
    """A short link in one direction; dropped when the point has no room for it."""
    number = links[start]
    if number < _LINKS:
        link_to[start, number] = end
        link_over[start, number] = over
        links[start] = number + 1


@inline
def _link_over_pairs(link_to: Counts, link_over: Words, links: Counts, start: int, end: int, shared: np.uint64) -> None:
    """Links both ways between points that share the empty cells `shared`, over every two of them."""
    while shared:
        first = lowest(shared)
        shared &= ~first
        rest = shared
        while rest:
            second = lowest(rest)
            rest &= ~second
            _link(link_to, link_over, links, start, end, first | second)
            _link(link_to, link_over, links, end, start, first | second)


@uncounted_kernel
def find_points(stones: np.uint64, empty: np.uint64, found: Links) -> int:
    """List the groups of `stones` and the empty cells, with the short links between them; returns how many."""
    link_to, link_over, links, beside, around = found.to, found.over, found.number, found.beside, found.around
    bridge_to, bridge_over, points = found.bridge_to, found.bridge_over, found.point
    groups = 0
    while stones:
        group = flood(lowest(stones), stones)
        stones &= ~group
        point = index(group)
        points[groups] = point
        around[point] = neighbours(group) & empty
        links[point] = 0
        for i in range(groups):
            other = points[i]
            _link_over_pairs(link_to, link_over, links, point, other, around[point] & around[other])
        groups += 1
    number = groups
    cells = empty
    while cells:
        cell = lowest(cells)
        cells &= ~cell
        point = index(cell)
        points[number] = point
        links[point] = 0
        number += 1
        near = beside[point] & empty
        while near:
            _link(link_to, link_over, links, point, index(near), ZERO)
            near &= ~lowest(near)
        for i in range(bridge_to.shape[1]):
            end, over = bridge_to[point, i], bridge_over[point, i]
            if end >= 0 and (empty >> np.uint64(end)) & ONE and over & ~empty == ZERO:
                _link(link_to, link_over, links, point, end, over)
        for i in range(groups):
            other = points[i]
            if around[other] & cell:
                _link(link_to, link_over, links, point, other, ZERO)
                _link(link_to, link_over, links, other, point, ZERO)
            else:
                _link_over_pairs(link_to, link_over, links, point, other, around[other] & beside[point])
    return number


NOTHING, SEMI, FULL = 0, 1, 2

_FULLS = 8  # kept between a point and an edge, those with the fewest cells
_SEMIS = 16
_QUEUE = 8192
_JOINS = 4096  # most semis between the edges that are read


class ToEdge(NamedTuple):
    """The connections of every point to one edge."""

    full: Words  # [64, 8] carriers
    fulls: Counts  # [64]
    semi: Words  # [64, 16] carriers, the cell to play among them
    semis: Counts  # [64]


class Connections(NamedTuple):
    """Room for the connections of one side."""

    links: Links
    top: ToEdge
    bottom: ToEdge
    queue_point: Counts  # [8192]: fulls found, to be extended in turn
    queue_carrier: Words
    join: Words  # [4096]: semis between the edges


def new_connections(size: int) -> Connections:
    """For a `size`×`size` board."""
    return Connections(
        links=new_links(size),
        top=_to_edge(),
        bottom=_to_edge(),
        queue_point=np.zeros(_QUEUE, np.int64),
        queue_carrier=np.zeros(_QUEUE, np.uint64),
        join=np.zeros(_JOINS, np.uint64),
    )


def _to_edge() -> ToEdge:
    return ToEdge(
        full=np.zeros((POINTS, _FULLS), np.uint64),
        fulls=np.zeros(POINTS, np.int64),
        semi=np.zeros((POINTS, _SEMIS), np.uint64),
        semis=np.zeros(POINTS, np.int64),
    )


@uncounted_kernel
def _add_full(
    full: Words,
    fulls: Counts,
    semi: Words,
    semis: Counts,
    queue_point: Counts,
    queue_carrier: Words,
    point: int,
    carrier: np.uint64,
    queued: int,
) -> int:
    """Keep a full connection unless a smaller one is known; returns how many are queued.

    Here and below the arrays come one by one, and no rows are taken of them: either would cost more than the work.
    """
    if not _is_new(full, fulls, point, carrier):
        return queued
    kept = _drop_larger(full, fulls, point, carrier)
    if kept == _FULLS:
        largest = _largest(full, point, kept)
        if count(full[point, largest]) <= count(carrier):
            return queued
        full[point, largest] = carrier
    else:
        full[point, kept] = carrier
        fulls[point] = kept + 1
    _drop_larger(semi, semis, point, carrier)  # a semi that holds a full adds nothing
    if queued < _QUEUE:
        queue_point[queued], queue_carrier[queued] = point, carrier
        queued += 1
    return queued


@inline
def _largest(carriers: Words, point: int, number: int) -> int:
    largest = 0
    for i in range(1, number):
        if count(carriers[point, i]) > count(carriers[point, largest]):
            largest = i
    return largest


@inline
def _is_new(carriers: Words, numbers: Counts, point: int, carrier: np.uint64) -> bool:
    """Whether none of the carriers of `point` lies within `carrier`."""
    for i in range(numbers[point]):  # noqa: SIM110  (compiled: no generators)
        if carriers[point, i] & ~carrier == ZERO:
            return False
    return True


@inline
def _drop_larger(carriers: Words, numbers: Counts, point: int, carrier: np.uint64) -> int:
    """Drop the carriers of `point` that `carrier` lies within; returns how many are left."""
    kept = 0
    for i in range(numbers[point]):
        if carrier & ~carriers[point, i]:
            carriers[point, kept] = carriers[point, i]
            kept += 1
    numbers[point] = kept
    return kept


@uncounted_device_function
def _add_semi(
    full: Words,
    fulls: Counts,
    semi: Words,
    semis: Counts,
    queue_point: Counts,
    queue_carrier: Words,
    point: int,
    carrier: np.uint64,
    queued: int,
) -> int:
    """Keep a semi connection and the fulls it makes with up to three others, unless a smaller semi is known."""
    if not (_is_new(full, fulls, point, carrier) and _is_new(semi, semis, point, carrier)):
        return queued
    _drop_larger(semi, semis, point, carrier)
    i = 0
    while i < semis[point]:  # which a new full may lower at any time
        common, union = semi[point, i] & carrier, semi[point, i] | carrier
        made = union if common == ZERO else ZERO
        j = i + 1
        while common and j < semis[point]:
            shared, both = semi[point, j] & common, semi[point, j] | union
            if shared == ZERO:
                queued = _add_full(full, fulls, semi, semis, queue_point, queue_carrier, point, both, queued)
            k = j + 1
            while shared and k < semis[point]:
                if semi[point, k] & shared == ZERO:
                    three = semi[point, k] | both
                    queued = _add_full(full, fulls, semi, semis, queue_point, queue_carrier, point, three, queued)
                k += 1
            j += 1
        if made:
            queued = _add_full(full, fulls, semi, semis, queue_point, queue_carrier, point, made, queued)
        i += 1
    if not _is_new(full, fulls, point, carrier):
        return queued
    if semis[point] < _SEMIS:
        semi[point, semis[point]] = carrier
        semis[point] += 1
    else:
        largest = _largest(semi, point, _SEMIS)
        if count(carrier) < count(semi[point, largest]):
            semi[point, largest] = carrier
    return queued


@uncounted_kernel
def _connect_to_edge(c: Connections, to: ToEdge, points: int, empty: np.uint64, edge: np.uint64, or_rule: bool) -> None:
    """Build all connections to an edge; the stones on it are part of it, and `edge` the empty cells beside them."""
    full, fulls, semi, semis = to.full, to.fulls, to.semi, to.semis
    queue_point, queue_carrier = c.queue_point, c.queue_carrier
    point_of, link_to, link_over, links = c.links.point, c.links.to, c.links.over, c.links.number
    queued = 0
    for i in range(points):
        point = point_of[i]
        fulls[point], semis[point] = 0, 0
        cell = ONE << np.uint64(point)
        shared = (c.links.beside[point] if cell & empty else c.links.around[point]) & edge
        if cell & edge:
            queued = _add_full(full, fulls, semi, semis, queue_point, queue_carrier, point, ZERO, queued)
            continue
        while shared:
            first = lowest(shared)
            shared &= ~first
            rest = shared
            while rest:
                pair = first | lowest(rest)
                rest &= ~pair
                queued = _add_full(full, fulls, semi, semis, queue_point, queue_carrier, point, pair, queued)
    done = 0
    while done < queued:
        middle, carrier = queue_point[done], queue_carrier[done]
        done += 1
        superseded = True
        for i in range(fulls[middle]):
            superseded &= full[middle, i] != carrier
        if superseded:
            continue
        cell = (ONE << np.uint64(middle)) & empty
        for i in range(links[middle]):
            end, over = link_to[middle, i], link_over[middle, i]
            if carrier & (over | ONE << np.uint64(end)):
                continue
            made = carrier | over | cell
            if cell == ZERO:
                queued = _add_full(full, fulls, semi, semis, queue_point, queue_carrier, end, made, queued)
            elif or_rule:
                queued = _add_semi(full, fulls, semi, semis, queue_point, queue_carrier, end, made, queued)


@uncounted_kernel
def connect(
    stones: np.uint64, empty: np.uint64, top: np.uint64, bottom: np.uint64, or_rule: bool, c: Connections
) -> tuple[int, np.uint64, np.uint64, np.uint64]:
    """The connection of `stones` from top to bottom, as far as it is found: FULL, SEMI or NOTHING.

    Returns that and a carrier of it. For SEMI it also returns the cells common to all semis found, and the
    union of a few with no more in common. The other side has to play one of the common cells. Without `or_rule` it sees
    only chains of links.
    """
    upper, lower = flood(top, stones), flood(bottom, stones)
    if upper & bottom:
        return FULL, ZERO, ZERO, ZERO
    from_top, from_bottom = (neighbours(upper) | top) & empty, (neighbours(lower) | bottom) & empty
    shared = from_top & from_bottom
    if shared & (shared - ONE):
        first = lowest(shared)
        return FULL, first | lowest(shared & ~first), ZERO, ZERO
    points = find_points(stones & ~(upper | lower), empty, c.links)
    _connect_to_edge(c, c.top, points, empty, from_top, or_rule)
    _connect_to_edge(c, c.bottom, points, empty, from_bottom, or_rule)
    joins, common, smallest = 0, ~ZERO, ~ZERO
    full = ~ZERO
    for i in range(points):
        point = c.links.point[i]
        cell = (ONE << np.uint64(point)) & empty
        for j in range(c.top.fulls[point]):
            for k in range(c.bottom.fulls[point]):
                one, other = c.top.full[point, j], c.bottom.full[point, k]
                if one & other:
                    continue
                carrier = one | other | cell
                if cell == ZERO:
                    full = carrier if count(carrier) < count(full) else full
                elif joins < _JOINS:
                    c.join[joins] = carrier
                    joins += 1
                    common &= carrier
                    smallest = carrier if count(carrier) < count(smallest) else smallest
    if full != ~ZERO:
        return FULL, full, ZERO, ZERO
    if joins == 0:
        return NOTHING, ZERO, ZERO, ZERO
    union = _few_with(c.join, joins, smallest, common)
    if common == ZERO:
        return FULL, union, ZERO, ZERO
    return SEMI, smallest, common, union


@uncounted_kernel
def _few_with(carriers: Words, number: int, first: np.uint64, common: np.uint64) -> np.uint64:
    """The union of a few of the carriers, `first` included, whose intersection is `common`, that of all."""
    shared, union = first, first
    while shared != common:
        best = 0
        lowest_cost = np.int64(1 << 62)
        for i in range(number):
            left = shared & carriers[i]
            cost = count(left) * POINTS + count(union | carriers[i])
            if left != shared and cost < lowest_cost:
                best, lowest_cost = i, cost
        shared &= carriers[best]
        union |= carriers[best]
    return union
