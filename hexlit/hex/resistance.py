"""The board as an electrical circuit between a player's two edges.

An own stone has no resistance, an empty cell resistance 1, and a stone of the opponent blocks the current. A link
between two cells that touch has the sum of their resistances. A link from a cell to its edge has the cell's own. A
bridge to an own stone or an edge, with both cells between them empty, is a link of `BRIDGE` more: the opponent needs
two moves to cut it. The less resistance between the edges, the closer the player is to winning. Source: Anshelevich
2002, "A hierarchical approach to computer Hex".

The voltages solve a linear system with one unknown per cell and a band of 2 * size; it is factorised directly.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.engine import Stones, empty_stones, place_all
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import borrowing_kernel, inline

BRIDGE = 0.2
"""Resistance that a bridge adds to that of its ends."""

_STONE = 1e-6  # resistance of a link between stones: almost none, and the system stays regular
_FIRST, _SECOND, _LOAD, _VOLTAGE = range(4)  # rows of `ResistanceRoom.vectors`
_LEFT, _RIGHT, _BELOW_LEFT, _BELOW = 2, 3, 4, 5  # columns of `Geometry.neighbours`


class ResistanceRoom(NamedTuple):
    """The circuit of one player, and scratch space."""

    links: NDArray[np.float64]
    """Conductance between cell `i` and cell `i + k`, `[size*size, 2*size]`; entry 0 is not used."""
    band: NDArray[np.float64]
    """The system, factorised in place: the diagonal and the band right of it, `[size*size, 2*size]`."""
    vectors: NDArray[np.float64]
    """For each cell: conductance to the first and to the second edge, right-hand side of the system, and voltage (1 at
    the first edge, 0 at the second), `[4, size*size]`.
    """
    live: NDArray[np.bool_]
    """Cells that current can reach, and the extra cell off the board, `[size*size + 1]`."""
    queue: NDArray[np.int16]
    """The same cells in the order they were found, `[size*size]`."""


def resistance_room(size: int) -> ResistanceRoom:
    """Room for a board of `size`."""
    cells = size * size
    return ResistanceRoom(
        np.empty((cells, 2 * size)),
        np.empty((cells, 2 * size)),
        np.empty((4, cells)),
        np.empty(cells + 1, np.bool_),
        np.empty(cells, np.int16),
    )


@borrowing_kernel
def _find_live(cells: NDArray[np.int8], colour: int, room: ResistanceRoom, table: Geometry) -> None:
    """Mark the cells that current from an edge of `colour` can reach; the others would make the system singular."""
    live, queue, edges = room.live, room.queue, table.edges[0 if colour > 0 else 1]
    tail = 0
    live[edges.size] = False
    for cell in range(edges.size):
        live[cell] = edges[cell] != 0 and cells[cell] != -colour
        if live[cell]:
            queue[tail] = cell
            tail += 1
    head = 0
    while head < tail:
        for k in range(6):
            neighbour = table.neighbours[queue[head], k]
            if not live[neighbour] and (cells[neighbour] == 0 or cells[neighbour] == colour):
                live[neighbour] = True
                queue[tail] = neighbour
                tail += 1
        head += 1


@inline
def _link(cells: NDArray[np.int8], room: ResistanceRoom, cell: int, other: int, bridge: float) -> None:
    """Join the live `cell` with a later one, if that is live."""
    if room.live[other]:
        resistance = (cells[cell] == 0) + (cells[other] == 0) + bridge
        room.links[cell, other - cell] = 1.0 / max(resistance, _STONE)


@inline
def _bridge(cells: NDArray[np.int8], room: ResistanceRoom, cell: int, other: int, bridge: float) -> None:
    """Join the live `cell` with a later one that is a bridge away, if at least one of them is a stone."""
    if cells[cell] != 0 or cells[other] != 0:
        _link(cells, room, cell, other, bridge)


@borrowing_kernel
def _wire(cells: NDArray[np.int8], colour: int, bridge: float, room: ResistanceRoom, table: Geometry) -> None:
    """Write the links of the circuit of `colour`."""
    neighbours, edges = table.neighbours, table.edges[0 if colour > 0 else 1]
    _find_live(cells, colour, room, table)
    for cell in range(edges.size):
        for k in range(room.links.shape[1]):
            room.links[cell, k] = 0.0
        room.vectors[_FIRST, cell] = room.vectors[_SECOND, cell] = 0.0
        if not room.live[cell]:
            continue
        for k in range(3, 6):
            _link(cells, room, cell, neighbours[cell, k], 0.0)
        own = 1.0 if cells[cell] == 0 else 0.0
        for edge in range(2):
            if edges[cell] & (edge + 1):
                room.vectors[edge, cell] = 1.0 / max(own, _STONE)
        below, below_left = neighbours[cell, _BELOW], neighbours[cell, _BELOW_LEFT]
        if cells[below_left] == 0 and cells[neighbours[cell, _LEFT]] == 0:
            _bridge(cells, room, cell, neighbours[below_left, _LEFT], bridge)
        if cells[below_left] == 0 and cells[below] == 0:
            _bridge(cells, room, cell, neighbours[below, _BELOW_LEFT], bridge)
        if cells[below] == 0 and cells[neighbours[cell, _RIGHT]] == 0:
            _bridge(cells, room, cell, neighbours[below, _RIGHT], bridge)
        # A bridge to an edge: two empty neighbours lie on it.
        for edge in range(2):
            between = 0
            for k in range(6):
                neighbour = neighbours[cell, k]
                between += cells[neighbour] == 0 and edges[neighbour] & (edge + 1) != 0
            if between == 2 and edges[cell] & (edge + 1) == 0:
                room.vectors[edge, cell] = 1.0 / max(own + bridge, _STONE)


@borrowing_kernel
def _factorise(band: NDArray[np.float64], load: NDArray[np.float64]) -> None:
    """Cholesky's factorisation (without roots) of a band matrix in place, and the forward substitution of `load`."""
    cells, width = band.shape
    for i in range(cells):
        reach = min(width, cells - i)
        for k in range(1, reach):
            if band[i, k] != 0.0:
                factor = band[i, k] / band[i, 0]
                load[i + k] -= factor * load[i]
                for m in range(reach - k):
                    band[i + k, m] -= factor * band[i, k + m]


@borrowing_kernel
def conductance(cells: NDArray[np.int8], colour: int, bridge: float, room: ResistanceRoom, table: Geometry) -> float:
    """Conductance between the edges of `colour`, for `cells` int8 `[size*size + 1]`; the system is left in `room`."""
    _wire(cells, colour, bridge, room, table)
    links, band, load = room.links, room.band, room.vectors[_LOAD]
    for cell in range(load.size):
        load[cell] = room.vectors[_FIRST, cell]
        band[cell, 0] = load[cell] + room.vectors[_SECOND, cell] if room.live[cell] else 1.0
    for cell in range(load.size):
        for k in range(1, band.shape[1]):
            link = links[cell, k]
            band[cell, k] = -link
            if link != 0.0:
                band[cell, 0] += link
                band[cell + k, 0] += link
    _factorise(band, load)
    current = 0.0
    for cell in range(load.size):
        current += room.vectors[_FIRST, cell] - load[cell] * load[cell] / band[cell, 0]
    return current


@borrowing_kernel
def add_currents(current: float, room: ResistanceRoom, scores: NDArray[np.float64]) -> None:
    """Add to `scores` the share of the `current` found by `conductance` that flows through each cell."""
    band, voltage = room.band, room.vectors[_VOLTAGE]
    for cell in range(voltage.size - 1, -1, -1):
        rest = room.vectors[_LOAD, cell]
        for k in range(1, min(band.shape[1], voltage.size - cell)):
            rest -= band[cell, k] * voltage[cell + k]
        voltage[cell] = rest / band[cell, 0]
    scale = 0.5 / current
    for cell in range(voltage.size):
        flow = room.vectors[_FIRST, cell] * (1.0 - voltage[cell]) + room.vectors[_SECOND, cell] * voltage[cell]
        for k in range(1, min(band.shape[1], voltage.size - cell)):
            part = room.links[cell, k] * abs(voltage[cell] - voltage[cell + k])
            flow += part
            scores[cell + k] += scale * part
        scores[cell] += scale * flow


@inline
def resistance_value(
    stones: Stones, g: int, colour: int, bridge: float, room: ResistanceRoom, table: Geometry
) -> float:
    """Logarithm of the opponent's resistance over that of `colour` in the undecided position `g`."""
    value = 0.0
    for player in (1, -1):
        value += player * colour * np.log(conductance(stones.cells[g], player, bridge, room, table))
    return value


@inline
def resistance_order(
    stones: Stones, g: int, bridge: float, room: ResistanceRoom, table: Geometry, scores: NDArray[np.float64]
) -> None:
    """Score every cell as a move, float64 `[size*size]`: the shares of both players' currents through it."""
    for cell in range(scores.size):
        scores[cell] = 0.0
    for colour in (1, -1):
        add_currents(conductance(stones.cells[g], colour, bridge, room, table), room, scores)


def resistances(cells: NDArray[np.int8], bridge: float = BRIDGE) -> tuple[float, float]:
    """Resistance between the edges of Black and of White in a position int8 `[size*size]`.

    A player who has connected has 0, its opponent infinity. A `bridge` of infinite resistance counts as none; links of
    stones have 1e-6.
    """
    table = geometry(round(cells.size**0.5))
    stones = empty_stones(1, table.size)
    winner = place_all(stones, 0, cells, table)
    if winner:
        return (0.0, np.inf) if winner > 0 else (np.inf, 0.0)
    room = resistance_room(table.size)
    black, white = (1.0 / conductance(stones.cells[0], colour, bridge, room, table) for colour in (1, -1))
    return black, white
