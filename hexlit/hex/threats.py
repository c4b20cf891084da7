"""Wins in one move."""

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.engine import BOTH_EDGES, Stones, find
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import borrowing_kernel


@borrowing_kernel
def winning_cells(stones: Stones, g: int, colour: int, table: Geometry, cells: NDArray[np.int16]) -> int:
    """Write to `cells` the winning cells of `colour`: one stone there connects its edges. Returns how many."""
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
