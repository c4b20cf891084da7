"""Two-distance: how many moves a player needs to reach an edge when the opponent may always spoil
the best way.

The two-distance of an empty cell that touches the edge is 1. That of any other is one more than the
*second* smallest two-distance among its neighbours, because the opponent takes the best one. A
group of own stones joins its neighbours: the empty cells around it touch one another and the
group's edges. Source: van Rijswijck 2002, "Computer Hex: are bees better than fruitflies?".

The *potential* of a cell is the sum of its distances to both edges of a player. The potential of
the player is the smallest of them. The player's *mobility* is the number of cells with that
potential.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import Int8Array, Int16Array
from hexlit.hex.engine import Stones, empty_stones, find, place_all
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import inline, uncounted_kernel

FAR = 1000
"""Distance, and potential, of what cannot be reached against an opponent who spoils the best
way.
"""

# of one cell, against one step of potential: mobility only decides between equal potentials
_MOBILITY = 0.001
_LAST, _NEARER, _QUEUE, _FIRST = range(4)  # rows of `DistanceRoom.scratch`


class DistanceRoom(NamedTuple):
    """The distances on one board, and scratch space."""

    distance: Int16Array
    """Two-distance of each empty cell to Black's first and second and White's first and second
    edge, `[4, size*size]`.

    FAR for a taken cell.
    """
    best: Int16Array
    """Potential and mobility of Black and of White, `[2, 2]`."""
    scratch: Int16Array
    """Working rows of the spread, `[4, size*size]`.

    The first two belong to empty cells and roots of groups: the last neighbour met, and how many
    were met. The third is the queue. The fourth, at roots of groups, is the place of the first
    liberty in `liberties`, or -1.
    """
    liberties: Int16Array
    """Empty cells that touch a group, and the place of the group's next one or -1, `[2,
    6*size*size]`.
    """


def distance_room(cells: int) -> DistanceRoom:
    """Room for a board of `cells` cells."""
    return DistanceRoom(
        np.empty((4, cells), np.int16),
        np.empty((2, 2), np.int16),
        np.empty((4, cells), np.int16),
        np.empty((2, 6 * cells), np.int16),
    )


@uncounted_kernel
def _list_liberties(stones: Stones, g: int, room: DistanceRoom, table: Geometry) -> None:
    """List the empty cells around every group, each once a group."""
    cells, parent = stones.cells[g], stones.parent[g]
    first, liberties = room.scratch[_FIRST], room.liberties
    for cell in range(first.size):
        first[cell] = -1
    number = 0
    for cell in range(first.size):
        if cells[cell] != 0:
            continue
        for k in range(6):
            neighbour = table.neighbours[cell, k]
            if abs(cells[neighbour]) != 1:
                continue
            root = find(parent, neighbour)
            # The cells come in rising order, so a second stone of the group finds this cell at the
            # head of the list.
            if first[root] < 0 or liberties[0, first[root]] != cell:
                liberties[0, number], liberties[1, number] = cell, first[root]
                first[root] = number
                number += 1


@uncounted_kernel
def _start(
    stones: Stones, g: int, side: int, edge: int, room: DistanceRoom, table: Geometry
) -> int:
    """Queue the empty cells that touch `edge` (1 first, 2 second) of `side`, alone or by a group;
    returns how many.
    """
    cells, parent, touch = stones.cells[g], stones.parent[g], stones.touch[g]
    distance, queue = room.distance[2 * side + edge - 1], room.scratch[_QUEUE]
    tail = 0
    for cell in range(distance.size):
        room.scratch[_LAST, cell], room.scratch[_NEARER, cell] = -1, 0
        distance[cell] = FAR
        if cells[cell] != 0:
            continue
        reach = table.edges[side, cell]
        for k in range(6):
            neighbour = table.neighbours[cell, k]
            if cells[neighbour] == 1 - 2 * side:
                reach |= touch[find(parent, neighbour)]
        if reach & edge:
            distance[cell] = 1
            queue[tail] = cell
            tail += 1
    return tail


@uncounted_kernel
def _spread(
    stones: Stones, g: int, side: int, edge: int, room: DistanceRoom, table: Geometry
) -> None:
    """Write the distances to `edge` of `side` in rising order."""
    cells, parent = stones.cells[g], stones.parent[g]
    distance, liberties = room.distance[2 * side + edge - 1], room.liberties
    last, nearer = room.scratch[_LAST], room.scratch[_NEARER]
    queue, first = room.scratch[_QUEUE], room.scratch[_FIRST]
    tail = _start(stones, g, side, edge, room, table)
    head = 0
    while head < tail:
        cell = queue[head]
        head += 1
        for k in range(6):
            # Every empty cell that `cell` touches there: one, or by a stone all liberties of its
            # group.
            other = table.neighbours[cell, k]
            place = -1
            if cells[other] == 1 - 2 * side:
                root = find(parent, other)
                # A group met through two of its liberties has no new liberty to add.
                if last[root] == cell or nearer[root] == 2:
                    continue
                last[root] = cell
                nearer[root] += 1
                place = first[root]
                other = liberties[0, place]
            elif cells[other] != 0:
                continue
            while True:
                if distance[other] == FAR and last[other] != cell:
                    last[other] = cell
                    nearer[other] += 1
                    if nearer[other] == 2:
                        distance[other] = distance[cell] + 1
                        queue[tail] = other
                        tail += 1
                if place < 0:
                    break
                place = liberties[1, place]
                if place < 0:
                    break
                other = liberties[0, place]


@uncounted_kernel
def measure(stones: Stones, g: int, room: DistanceRoom, table: Geometry) -> None:
    """Write `room.distance` and `room.best` for the undecided position `g`."""
    _list_liberties(stones, g, room, table)
    for side in range(2):
        for edge in range(1, 3):
            _spread(stones, g, side, edge, room, table)
        smallest, mobility = FAR, 0
        for cell in range(room.distance.shape[1]):
            potential = min(FAR, room.distance[2 * side, cell] + room.distance[2 * side + 1, cell])
            if potential < smallest:
                smallest, mobility = potential, 1
            elif potential == smallest < FAR:
                mobility += 1
        room.best[side, 0], room.best[side, 1] = smallest, mobility


@inline
def distance_value(
    stones: Stones, g: int, colour: int, room: DistanceRoom, table: Geometry
) -> float:
    """The opponent's potential minus that of `colour`; if they are equal, the greater mobility
    decides.
    """
    measure(stones, g, room, table)
    best = room.best
    return float(colour * (best[1, 0] - best[0, 0] + _MOBILITY * (best[0, 1] - best[1, 1])))


@inline
def distance_order(
    stones: Stones, g: int, room: DistanceRoom, table: Geometry, scores: NDArray[np.float64]
) -> None:
    """Score every empty cell as a move, float64 `[size*size]`; a cell that is good for both players
    is best.
    """
    measure(stones, g, room, table)
    distance = room.distance
    for cell in range(scores.size):
        scores[cell] = -(
            distance[0, cell] + distance[1, cell] + distance[2, cell] + distance[3, cell]
        )


def potentials(cells: Int8Array) -> tuple[Int16Array, Int16Array]:
    """Potentials of a position int8 `[size*size]` for Black and White.

    Returns int16 `[2]` for the players and int16 `[2, size*size]` for the cells. A player who has
    connected has 0, its opponent FAR. A taken cell has FAR; once the game is decided, all cells
    have.
    """
    table = geometry(round(cells.size**0.5))
    stones, room = empty_stones(1, table.size), distance_room(cells.size)
    winner = place_all(stones, 0, cells, table)
    if winner:
        return np.array([0, FAR] if winner > 0 else [FAR, 0], np.int16), np.full(
            (2, cells.size), FAR, np.int16
        )
    measure(stones, 0, room, table)
    return room.best[:, 0], np.minimum(room.distance.reshape(2, 2, -1).sum(1), FAR).astype(np.int16)


def potential_after(cells: Int8Array, move: int, mover: int, player: int) -> int:
    """Potential of `player` (+1, -1) once `mover` has put a stone on the cell `move` of `cells`
    int8 `[size*size]`.
    """
    after = cells.copy()
    after[move] = mover
    return int(potentials(after)[0][0 if player > 0 else 1])
