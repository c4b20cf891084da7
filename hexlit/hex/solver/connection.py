"""Virtual connections: points that one side can connect although the other moves next.

A point is an empty cell or a group of stones. A *full* connection of two points holds even if the
other side moves first. A *semi* connection holds if its owner moves first. The *carrier* is the set
of empty cells that it needs. Larger connections are built from smaller ones (Anshelevich, "A
hierarchical approach to computer Hex", 2002):

- AND: two fulls x-m and m-y with disjoint carriers make a full x-y if m is a group, and a semi if m
  is empty.
- OR: semis x-y make a full x-y if their carriers have no cell in common; it needs all of them.

Only connections with one of the two edges at one end are kept, and the other part of an AND is a
neighbour or a bridge. That finds edge templates and chains of links over the whole board in some
tens of microseconds. Every connection found is true; other points may be connected, too.

Everything here looks at a side that connects top to bottom; boards are words as in
`hexlit.hex.solver.bitboard`.
"""

import numpy as np

from hexlit.hex.arrays import BoolArray, Int64Array
from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.hex.solver.bitboard import (
    MAX_SIZE,
    ONE,
    RING,
    STRIDE,
    ZERO,
    Words,
    count,
    index,
    lowest,
)

Counts = Int64Array

POINTS = MAX_SIZE * MAX_SIZE
_LINKS = 48  # of a point; further ones are dropped

NOTHING, SEMI, FULL = 0, 1, 2

_BRIDGES = 6  # of a cell; one leads over two cells that both ends touch
_FULLS = 8  # kept between a point and an edge, those with the fewest cells
_SEMIS = 16
_QUEUE = 8192
_JOINS = 4096  # most semis between the edges that are read

LINKS = np.dtype(
    (
        np.record,
        [
            ("neighbours", np.uint64, POINTS),  # the neighbours of a point
            ("bridge_to", np.int64, (POINTS, _BRIDGES)),  # the far end of a bridge, -1 for none
            ("bridge_over", np.uint64, (POINTS, _BRIDGES)),  # its two cells
            ("point", np.int64, POINTS),  # the points, groups first
            ("around", np.uint64, POINTS),  # the empty cells next to a group
            ("to", np.int64, (POINTS, _LINKS)),  # points that a short link leads to
            ("over", np.uint64, (POINTS, _LINKS)),  # its carrier, empty for neighbours
            ("number", np.int64, POINTS),  # of the links of a point
        ],
    )
)
"""A board's geometry, and room for the points and links of one side."""

TO_EDGE = np.dtype(
    (
        np.record,
        [
            ("full", np.uint64, (POINTS, _FULLS)),  # carriers
            ("fulls", np.int64, POINTS),  # how many
            ("semi", np.uint64, (POINTS, _SEMIS)),  # carriers, the cell to play among them
            ("semis", np.int64, POINTS),
        ],
    )
)
"""The connections of every point to one edge."""

CONNECTIONS = np.dtype(
    (
        np.record,
        [
            ("links", LINKS),
            ("top", TO_EDGE),
            ("bottom", TO_EDGE),
            ("queue_point", np.int64, _QUEUE),  # fulls found, to be extended in turn
            ("queue_carrier", np.uint64, _QUEUE),
            ("join", np.uint64, _JOINS),  # semis between the edges
        ],
    )
)
"""Room for the connections of one side: a kernel takes such a record as one address, which compiles
fast.
"""

Links = np.record  # of the types above
ToEdge = np.record
Connections = np.record


def new_connections(size: int) -> Connections:
    """For a `size`×`size` board."""
    touch = np.zeros((POINTS, POINTS), bool)
    rows, columns = np.divmod(np.arange(size * size), size)
    for down, right in RING:
        on_board = (
            (rows + down >= 0)
            & (rows + down < size)
            & (columns + right >= 0)
            & (columns + right < size)
        )
        cells = (rows * STRIDE + columns)[on_board]
        touch[cells, cells + down * STRIDE + right] = True
    return connections_of(touch, POINTS)


def words(points: BoolArray) -> Words:
    """Sets of points, bool `[N, 64]`, as words `[N]`."""
    return np.packbits(points, axis=1, bitorder="little").view(np.uint64)[:, 0]


def connections_of(touch: BoolArray, cells: int) -> Connections:
    """For a graph whose points touch as in `touch`, bool `[64, 64]`; the first `cells` of them are
    single cells.
    """
    room: Connections = np.zeros(1, CONNECTIONS)[0]
    links = room.links
    links.neighbours[:] = words(touch)
    near = touch[:cells, :cells].astype(int)
    start, end = np.nonzero((near @ near == 2) & (near == 0) & ~np.eye(cells, dtype=bool))
    number = np.arange(len(start)) - np.searchsorted(start, start)
    links.bridge_to[:] = -1
    links.bridge_to[start, number] = end
    links.bridge_over[start, number] = (
        links.neighbours[start] & links.neighbours[end] & np.uint64((1 << cells) - 1)
    )
    return room


@uncounted_kernel
def _around(cells: np.uint64, links: Links) -> np.uint64:
    """Every cell next to one of `cells`."""
    neighbours = ZERO
    while cells:
        neighbours |= links.neighbours[index(cells)]
        cells &= cells - ONE
    return neighbours


@uncounted_kernel
def _group(seed: np.uint64, stones: np.uint64, links: Links) -> np.uint64:
    """The cells of `stones` connected to those of `seed` that lie in `stones`."""
    group = new = seed & stones
    while new:
        new = _around(new, links) & stones & ~group
        group |= new
    return group


@uncounted_device_function
def _link(links: Links, start: int, end: int, over: np.uint64) -> None:
    """A short link in one direction; dropped when the point has no room for it."""
    number = links.number[start]
    if number < _LINKS:
        links.to[start, number] = end
        links.over[start, number] = over
        links.number[start] = number + 1


@uncounted_device_function
def _link_over_pairs(links: Links, start: int, end: int, shared: np.uint64) -> None:
    """Links both ways between points that share the empty cells `shared`, over every two of them."""
    while shared:
        first = lowest(shared)
        shared &= ~first
        rest = shared
        while rest:
            second = lowest(rest)
            rest &= ~second
            _link(links, start, end, first | second)
            _link(links, end, start, first | second)


@uncounted_kernel
def find_points(stones: np.uint64, empty: np.uint64, links: Links) -> int:
    """List the groups of `stones` and the empty cells, with the short links between them; returns
    how many.
    """
    neighbours, around, points = links.neighbours, links.around, links.point
    groups = 0
    while stones:
        group = _group(lowest(stones), stones, links)
        stones &= ~group
        point = index(group)
        points[groups] = point
        around[point] = _around(group, links) & empty
        links.number[point] = 0
        for i in range(groups):
            other = points[i]
            _link_over_pairs(links, point, other, around[point] & around[other])
        groups += 1
    number = groups
    cells = empty
    while cells:
        cell = lowest(cells)
        cells &= ~cell
        point = index(cell)
        points[number] = point
        links.number[point] = 0
        number += 1
        near = neighbours[point] & empty
        while near:
            _link(links, point, index(near), ZERO)
            near &= ~lowest(near)
        for i in range(_BRIDGES):
            end, over = links.bridge_to[point, i], links.bridge_over[point, i]
            if end >= 0 and (empty >> np.uint64(end)) & ONE and over & ~empty == ZERO:
                _link(links, point, end, over)
        for i in range(groups):
            other = points[i]
            if around[other] & cell:
                _link(links, point, other, ZERO)
                _link(links, other, point, ZERO)
            else:
                _link_over_pairs(links, point, other, around[other] & neighbours[point])
    return number


@uncounted_kernel
def _add_full(c: Connections, to: ToEdge, point: int, carrier: np.uint64, queued: int) -> int:
    """Keep a full connection unless a smaller one is known; returns how many are queued."""
    full, fulls = to.full, to.fulls
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
    _drop_larger(to.semi, to.semis, point, carrier)  # a semi that holds a full adds nothing
    if queued < _QUEUE:
        c.queue_point[queued], c.queue_carrier[queued] = point, carrier
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
def _add_semi(c: Connections, to: ToEdge, point: int, carrier: np.uint64, queued: int) -> int:
    """Keep a semi connection and the fulls it makes with up to three others, unless a smaller semi
    is known.
    """
    full, fulls, semi, semis = to.full, to.fulls, to.semi, to.semis
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
                queued = _add_full(c, to, point, both, queued)
            k = j + 1
            while shared and k < semis[point]:
                if semi[point, k] & shared == ZERO:
                    three = semi[point, k] | both
                    queued = _add_full(c, to, point, three, queued)
                k += 1
            j += 1
        if made:
            queued = _add_full(c, to, point, made, queued)
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
def _connect_to_edge(
    c: Connections, to: ToEdge, points: int, empty: np.uint64, edge: np.uint64, or_rule: bool
) -> None:
    """Build all connections to an edge; the stones on it are part of it, and `edge` the empty cells
    next to them.
    """
    links = c.links
    queued = 0
    for i in range(points):
        point = links.point[i]
        to.fulls[point], to.semis[point] = 0, 0
        cell = ONE << np.uint64(point)
        shared = (links.neighbours[point] if cell & empty else links.around[point]) & edge
        if cell & edge:
            queued = _add_full(c, to, point, ZERO, queued)
            continue
        while shared:
            first = lowest(shared)
            shared &= ~first
            rest = shared
            while rest:
                pair = first | lowest(rest)
                rest &= ~pair
                queued = _add_full(c, to, point, pair, queued)
    done = 0
    while done < queued:
        middle, carrier = c.queue_point[done], c.queue_carrier[done]
        done += 1
        superseded = True
        for i in range(to.fulls[middle]):
            superseded &= to.full[middle, i] != carrier
        if superseded:
            continue
        cell = (ONE << np.uint64(middle)) & empty
        for i in range(links.number[middle]):
            end, over = links.to[middle, i], links.over[middle, i]
            if carrier & (over | ONE << np.uint64(end)):
                continue
            made = carrier | over | cell
            if cell == ZERO:
                queued = _add_full(c, to, end, made, queued)
            elif or_rule:
                queued = _add_semi(c, to, end, made, queued)


@uncounted_kernel
def connect(
    stones: np.uint64,
    empty: np.uint64,
    top: np.uint64,
    bottom: np.uint64,
    or_rule: bool,
    c: Connections,
) -> tuple[int, np.uint64, np.uint64, np.uint64]:
    """The connection of `stones` from top to bottom, as far as it is found: FULL, SEMI or NOTHING.

    Returns that and a carrier of it. For SEMI it also returns the cells common to all semis found,
    and the union of a few with no more in common. The other side has to play one of the common
    cells. Without `or_rule` it sees only chains of links.
    """
    upper, lower = _group(top, stones, c.links), _group(bottom, stones, c.links)
    if upper & bottom:
        return FULL, ZERO, ZERO, ZERO
    from_top = (_around(upper, c.links) | top) & empty
    from_bottom = (_around(lower, c.links) | bottom) & empty
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
    """The union of a few of the carriers, `first` included, whose intersection is `common`, that of
    all.
    """
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
