"""Plain Monte Carlo tree search: UCT with uniformly random rollouts (Kocsis and Szepesvári 2006; Coulom 2006).

Every simulation walks down the tree by upper confidence bounds, adds one untried move at the last node, and plays
random games from there. It has no priors and knows only the rules of Hex, with one exception. At the root it plays a
win in one move, and stops one of the opponent. Source: Teytaud and Teytaud 2010, "On the huge benefit of decisive moves
in Monte-Carlo tree search algorithms".
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.engine import Stones, copy_stones, empty_stones, place, place_all, winning_cells
from hexlit.hex.frame import frame_action, frame_board
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import inline, uncounted_kernel
from hexlit.hex.playout import playouts
from hexlit.hex.rng import MOVE, PLAYOUT, draw, stones_key

_NONE = -1


class _Nodes(NamedTuple):
    """Room for a tree of N nodes, the root first; only nodes begun by `_add` are valid."""

    move: NDArray[np.int16]
    """Cell of the move to the node, `[N]`."""
    parent: NDArray[np.int32]
    """`[N]`."""
    child: NDArray[np.int32]
    """Child added last, `[N]`."""
    sibling: NDArray[np.int32]
    """Child of the same parent that was added before, `[N]`."""
    children: NDArray[np.int32]
    """Number of children, `[N]`."""
    visits: NDArray[np.int32]
    """Simulations through the node, `[N]`."""
    wins: NDArray[np.int64]
    """Rollouts won by the player whose move led here, `[N]`."""


def _new_nodes(number: int) -> _Nodes:
    parent, child, sibling, children, visits = np.empty((5, number), np.int32)
    return _Nodes(np.empty(number, np.int16), parent, child, sibling, children, visits, np.empty(number, np.int64))


@inline
def _add(nodes: _Nodes, node: int, parent: int, move: int) -> None:
    """Begin `node` as the child of `parent` after `move`."""
    nodes.move[node], nodes.parent[node], nodes.child[node], nodes.sibling[node] = move, parent, _NONE, _NONE
    nodes.children[node], nodes.visits[node], nodes.wins[node] = 0, 0, 0
    if parent != _NONE:
        nodes.sibling[node] = nodes.child[parent]
        nodes.child[parent] = node
        nodes.children[parent] += 1


@inline
def _best_child(nodes: _Nodes, node: int, rollouts: int, exploration: float) -> int:
    """Child with the highest upper confidence bound of its share of wins."""
    best, highest = _NONE, -1.0
    log = np.log(nodes.visits[node])
    child = nodes.child[node]
    while child != _NONE:
        visits = nodes.visits[child]
        bound = nodes.wins[child] / (visits * rollouts) + exploration * np.sqrt(log / visits)
        if bound > highest:
            best, highest = child, bound
        child = nodes.sibling[child]
    return best


@inline
def _untried_move(nodes: _Nodes, node: int, cells: NDArray[np.int8], bits: np.uint64, room: NDArray[np.int16]) -> int:
    """A move that has no child at `node` yet, drawn by `bits`; there must be one."""
    for cell in range(room.size):
        room[cell] = cells[cell] == 0
    child = nodes.child[node]
    while child != _NONE:
        room[nodes.move[child]] = 0
        child = nodes.sibling[child]
    number = 0
    for cell in range(room.size):
        if room[cell]:
            room[number] = cell
            number += 1
    return int(room[bits % np.uint64(number)])


@inline
def _simulate(
    nodes: _Nodes,
    used: int,
    stones: Stones,
    empty: int,
    rollouts: int,
    exploration: float,
    k: np.uint64,
    table: Geometry,
    room: NDArray[np.int16],
) -> int:
    """One simulation from position 0 of `stones`, with `empty` cells; returns the nodes used after it."""
    copy_stones(stones, 0, stones, 1)
    cells = stones.cells[1]
    node, colour, added, won = 0, 1, False, False
    while not added and not won:
        if nodes.children[node] < empty:
            move = _untried_move(nodes, node, cells, draw(k, 0), room)
            _add(nodes, used, node, move)
            node, added = used, True
        else:
            node = _best_child(nodes, node, rollouts, exploration)
        won = place(stones, 1, nodes.move[node], colour, table)
        colour = -colour
        empty -= 1
    # Wins of the player who moved last; `colour` is to move.
    wins = rollouts
    if not won:
        black = playouts(cells[:-1], colour, rollouts, draw(k, 1), table.size, room)
        wins = rollouts - black if colour > 0 else black
    while node != _NONE:
        nodes.visits[node] += 1
        nodes.wins[node] += wins
        wins = rollouts - wins
        node = nodes.parent[node]
    return used + added


@uncounted_kernel
def _search(
    own: NDArray[np.int8],
    rollouts: int,
    exploration: float,
    seed: int,
    table: Geometry,
    stones: Stones,
    nodes: _Nodes,
    room: NDArray[np.int16],
) -> tuple[int, float]:
    """The most visited move of an undecided position in the mover's frame, and the position's value in [-1, 1].

    `stones` is room for two positions, `nodes` for the root and one node per simulation, `room` int16 `[size*size]`.
    """
    place_all(stones, 0, own, table)
    k = stones_key(own, seed, MOVE)
    for colour in (1, -1):
        decisive = winning_cells(stones, 0, colour, table, room)
        if decisive > 0:
            # With two winning cells the opponent wins by the second; after stopping a single one nothing is searched.
            value = 1.0 if colour > 0 else -1.0 if decisive > 1 else 0.0
            return int(room[draw(k, 0) % np.uint64(decisive)]), value
    empty = 0
    for cell in range(own.size):
        empty += own[cell] == 0
    _add(nodes, 0, _NONE, _NONE)
    stream = stones_key(own, seed, PLAYOUT)
    used = 1
    for simulation in range(nodes.move.size - 1):
        used = _simulate(nodes, used, stones, empty, rollouts, exploration, draw(stream, simulation), table, room)
    # Ties in visits go to the move with more wins, then to the one added last, which was drawn at random.
    best = nodes.child[0]
    child = best
    while child != _NONE:
        if (nodes.visits[child], nodes.wins[child]) > (nodes.visits[best], nodes.wins[best]):
            best = child
        child = nodes.sibling[child]
    # The root counts the wins of the player who moved there: the opponent.
    return int(nodes.move[best]), 1.0 - 2.0 * nodes.wins[0] / (nodes.visits[0] * rollouts)


def uct_moves(
    cells: NDArray[np.int8],
    to_move: NDArray[np.int8],
    simulations: int,
    rollouts: int,
    exploration: float,
    seed: int,
    table: Geometry,
    moves: NDArray[np.int16],
    values: NDArray[np.float64],
) -> None:
    """Write a move of each of the undecided positions `cells` int8 `[B, size*size]` to `moves` int16 `[B]`.

    `values` float64 `[B]` gets the mean result of all rollouts, in [-1, 1] for the player to move.
    """
    stones, nodes, room = empty_stones(2, table.size), _new_nodes(simulations + 1), np.empty(cells.shape[1], np.int16)
    for row in range(len(cells)):
        own = frame_board(cells[row], int(to_move[row]), table.size)
        move, values[row] = _search(own, rollouts, exploration, seed, table, stones, nodes, room)
        moves[row] = frame_action(move, int(to_move[row]), table.size)
