"""The rules, compiled: a stone is placed, groups are joined, and a winning connection is seen at
once.

A position is three arrays. Every stone belongs to a group, a tree of `parent` links (union-find
with path halving, Tarjan 1975). The root of a group holds in `touch` the edges of its owner that
the group reaches. A root that reaches both has won: no board is ever searched for a path.
"""

from typing import NamedTuple

import numpy as np

from hexlit.hex.arrays import Int8Array, Int16Array
from hexlit.hex.frame import framed, mirrored
from hexlit.hex.geometry import OUTSIDE, Geometry
from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel

BOTH_EDGES = 3


class Stones(NamedTuple):
    """Positions of G games. A kernel works on one game `g`, so threads share nothing."""

    cells: Int8Array
    """+1 black stone, -1 white stone, 0 empty; the last, extra cell is off the board. `[G,
    size*size + 1]`.
    """
    parent: Int16Array
    """Next cell on the way to the root of the group, `[G, size*size]`; meaningless for empty
    cells.
    """
    touch: Int8Array
    """At roots: the edges of its owner that the group reaches (bits 1 and 2), `[G, size*size]`."""


def empty_stones(games: int, size: int) -> Stones:
    """Positions of `games` empty boards."""
    cells = np.zeros((games, size * size + 1), np.int8)
    cells[:, -1] = OUTSIDE
    parent = np.zeros((games, size * size), np.int16)
    return Stones(cells, parent, np.zeros((games, size * size), np.int8))


@inline
def find(parent: Int16Array, cell: int) -> int:
    """Root of the group of `cell`; shortens the way for the next call."""
    while parent[cell] != cell:
        parent[cell] = parent[parent[cell]]
        cell = parent[cell]
    return cell


@uncounted_device_function
def place(stones: Stones, g: int, cell: int, colour: int, table: Geometry) -> bool:
    """Put a stone of `colour` on the empty `cell` of game `g`; True when that connects its owner's
    edges.
    """
    cells, parent, touch = stones.cells[g], stones.parent[g], stones.touch[g]
    cells[cell] = colour
    reach = table.edges[0 if colour > 0 else 1, cell]
    root = -1
    for k in range(6):
        neighbour = table.neighbours[cell, k]
        if cells[neighbour] == colour:
            other = find(parent, neighbour)
            if root < 0:
                root = other
            elif other != root:
                parent[other] = root
            reach |= touch[other]
    # The new stone joins a group that is there already, which keeps the trees flat.
    if root < 0:
        root = cell
    parent[cell] = root
    touch[root] = reach
    return bool(reach == BOTH_EDGES)


@inline
def clear(stones: Stones, g: int) -> None:
    """Empty the board of game `g`."""
    cells = stones.cells[g]
    for cell in range(cells.size - 1):
        cells[cell] = 0


@inline
def copy_stones(source: Stones, g: int, target: Stones, h: int) -> None:
    """Copy game `g` of `source` over game `h` of `target`."""
    for cell in range(source.parent.shape[1]):
        target.cells[h, cell] = source.cells[g, cell]
        target.parent[h, cell] = source.parent[g, cell]
        target.touch[h, cell] = source.touch[g, cell]


@inline
def colour_at(ply: int) -> int:
    """Player to move after `ply` moves (a swap keeps the turns: Black moves next)."""
    return 1 if ply % 2 == 0 else -1


@uncounted_device_function
def swap_pieces(stones: Stones, g: int, table: Geometry) -> None:
    """White answers Black's only stone by swap-pieces: it becomes a white stone on the mirror
    image.
    """
    for cell in range(table.size * table.size):
        if stones.cells[g, cell] != 0:
            stones.cells[g, cell] = 0
            place(stones, g, mirrored(cell, table), -1, table)
            return


@uncounted_device_function
def play_action(stones: Stones, g: int, action: int, colour: int, table: Geometry) -> bool:
    """Play an action of the mover's frame for `colour` in game `g`; True when that wins.

    The action `size * size` is the swap.
    """
    if action == table.size * table.size:
        swap_pieces(stones, g, table)
        return False
    return place(stones, g, framed(action, colour, table), colour, table)


@uncounted_kernel
def place_all(stones: Stones, g: int, colours: Int8Array, table: Geometry) -> int:
    """Set up the stones of `colours` `[size*size]` in game `g`; the winner's colour, or 0."""
    clear(stones, g)
    winner = 0
    for cell in range(table.size * table.size):
        if colours[cell] != 0 and place(stones, g, cell, colours[cell], table):
            winner = colours[cell]
    return winner


@uncounted_kernel
def play_sequence(stones: Stones, g: int, moves: Int16Array, table: Geometry) -> int:
    """Play `moves` (cells, or the swap at ply 1) from the empty board in game `g`.

    Returns the number of moves up to the winning one, or 0 for an open game. Legality is the
    caller's duty.
    """
    clear(stones, g)
    swap = table.size * table.size
    for ply in range(moves.size):
        colour = 1 if ply % 2 == 0 else -1
        if moves[ply] == swap:
            swap_pieces(stones, g, table)
        elif place(stones, g, moves[ply], colour, table):
            return ply + 1
    return 0


@uncounted_kernel
def winning_cells(stones: Stones, g: int, colour: int, table: Geometry, cells: Int16Array) -> int:
    """Write to `cells` the winning cells of `colour`: one stone there connects its edges. Returns
    how many.
    """
    board, parent, touch = stones.cells[g], stones.parent[g], stones.touch[g]
    edges = table.edges[0 if colour > 0 else 1]
    number = 0
    for cell in range(edges.size):
        if board[cell] != 0:
            continue
        reach = edges[cell]
        for k in range(6):
            neighbour = table.neighbours[cell, k]
            if board[neighbour] == colour:
                reach |= touch[find(parent, neighbour)]
        if reach == BOTH_EDGES:
            cells[number] = cell
            number += 1
    return number
