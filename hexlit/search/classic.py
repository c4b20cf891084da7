"""Searches of the programs before neural networks: alpha-beta over two-distance potentials, and
plain UCT.

Both work on positions in the mover's frame: the player to move at the root is Black.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.distance import DistanceRoom, distance_order, distance_room, distance_value
from hexlit.hex.engine import Stones, copy_stones, empty_stones, place, place_all, winning_cells
from hexlit.hex.frame import frame_action, frame_board
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import inline, uncounted_kernel
from hexlit.hex.playout import playouts
from hexlit.hex.rng import MOVE, PLAYOUT, draw, stones_key, uniform
from hexlit.search.tree import NONE

MovesAndValues = tuple[NDArray[np.int16], NDArray[np.float64]]
"""Moves int16 `[B]`, and their values float64 `[B]` for the players who move."""

_WIN = 1e6  # less the number of moves to it: above every static value
_TIE = 1e-6  # moves with a smaller difference of values are drawn at random


class _Line(NamedTuple):
    """The nodes from the root to the current one, one per ply."""

    moves: NDArray[np.int16]
    """Moves to search, the best first, `[depth, size*size]`."""
    listed: NDArray[np.int16]
    """Number of these moves, `[depth]`."""
    tried: NDArray[np.int16]
    """Number of them begun so far, `[depth]`."""
    best: NDArray[np.float64]
    """Highest value so far for the player to move, `[depth]`."""
    alpha: NDArray[np.float64]
    """Value that the player to move has in another line, `[depth]`."""
    beta: NDArray[np.float64]
    """From this value on the opponent prefers another line, `[depth]`."""
    scores: NDArray[np.float64]
    """Scratch space, `[size*size]`."""
    threats: NDArray[np.int16]
    """Scratch space, `[size*size]`."""


@inline
def _list_best(
    stones: Stones, ply: int, width: int, room: DistanceRoom, line: _Line, table: Geometry
) -> None:
    """List the `width` empty cells with the highest
    static scores as the moves of `ply`, the best first.
    """
    scores, moves = line.scores, line.moves[ply]
    distance_order(stones, ply, room, table, scores)
    number = 0
    for cell in range(scores.size):
        if stones.cells[ply, cell] != 0 or (
            number == width and scores[cell] <= scores[moves[number - 1]]
        ):
            continue
        i = min(number, width - 1)
        while i > 0 and scores[moves[i - 1]] < scores[cell]:
            moves[i] = moves[i - 1]
            i -= 1
        moves[i] = cell
        number = min(number + 1, width)
    line.listed[ply] = number


@inline
def _enter(
    stones: Stones,
    ply: int,
    alpha: float,
    beta: float,
    width: int,
    room: DistanceRoom,
    line: _Line,
    table: Geometry,
) -> None:
    """Begin the node at `ply`: list its moves, or settle it if there is a win in one move."""
    line.alpha[ply], line.beta[ply], line.best[ply] = alpha, beta, -np.inf
    line.tried[ply], line.listed[ply] = 0, 0
    # Moves that win at once, or else those that stop the opponent from winning at once.
    for rival in range(2):
        colour = 1 if (ply + rival) % 2 == 0 else -1
        wins = winning_cells(stones, ply, colour, table, line.moves[ply])
        if wins > rival and ply > 0:
            line.best[ply] = ply + 2 - _WIN if rival else _WIN - ply - 1
            return
        if wins > 0:
            line.listed[ply] = wins
            return
    _list_best(stones, ply, width, room, line, table)


@inline
def _leaf_value(
    stones: Stones, ply: int, room: DistanceRoom, line: _Line, table: Geometry
) -> float:
    """Value of the position at `ply` for its player to move;
    it looks no further than a win in one move.
    """
    colour = 1 if ply % 2 == 0 else -1
    for player in (colour, -colour):
        wins = winning_cells(stones, ply, player, table, line.threats)
        if player == colour and wins > 0:
            return _WIN - ply - 1
        if wins > 1:
            return ply + 2 - _WIN
    return distance_value(stones, ply, colour, room, table)


@uncounted_kernel
def _alpha_beta(
    stones: Stones, width: int, room: DistanceRoom, line: _Line, k: np.uint64, table: Geometry
) -> int:
    """Best move of the undecided position 0 of `stones` (`[depth + 1]` positions); ties are broken
    by draws of `k`.

    Its value is then `line.best[0]`.
    """
    depth, chosen = line.best.size, -1
    ply, alpha, beta = 0, -np.inf, np.inf
    entering = True
    while True:
        if entering:
            _enter(stones, ply, alpha, beta, width, room, line, table)
            entering = False
        if line.tried[ply] < line.listed[ply] and line.best[ply] < line.beta[ply]:
            move = line.moves[ply, line.tried[ply]]
            line.tried[ply] += 1
            copy_stones(stones, ply, stones, ply + 1)
            if place(stones, ply + 1, move, 1 if ply % 2 == 0 else -1, table):
                value = _WIN - ply - 1
            elif ply + 1 < depth:
                # At the root alpha is a little below the best value, so that the values of moves
                # that tie are exact.
                least = line.best[0] - _TIE if ply == 0 else max(line.alpha[ply], line.best[ply])
                alpha, beta = -line.beta[ply], -least
                ply += 1
                entering = True
                continue
            else:
                value = -_leaf_value(stones, ply + 1, room, line, table)
        elif ply > 0:
            ply -= 1
            value = float(-line.best[ply + 1])
            move = line.moves[ply, line.tried[ply] - 1]
        else:
            return chosen
        if ply == 0:
            value += _TIE * uniform(k, move)
        if value > line.best[ply]:
            line.best[ply] = value
            if ply == 0:
                chosen = int(move)


def alpha_beta_moves(
    cells: NDArray[np.int8],
    to_move: NDArray[np.int8],
    depth: int,
    width: int,
    seed: int,
    table: Geometry,
) -> MovesAndValues:
    """The best moves of the undecided positions `cells` int8 `[B, size*size]`.

    It is negamax of a fixed `depth`. At every node it searches only the `width` moves with the best
    evaluations, the best first. It sees wins in one move at every node; if the opponent threatens
    one, it searches only the moves that stop it. Values are above 0 if the player to move stands
    better.
    """
    area = table.size**2
    stones, room = empty_stones(depth + 1, table.size), distance_room(area)
    moves, (listed, tried) = np.empty((depth, area), np.int16), np.zeros((2, depth), np.int16)
    best, alpha, beta = np.empty((3, depth))
    line = _Line(moves, listed, tried, best, alpha, beta, np.empty(area), np.empty(area, np.int16))

    def search(own: NDArray[np.int8]) -> tuple[int, float]:
        place_all(stones, 0, own, table)
        move = _alpha_beta(stones, width, room, line, np.uint64(stones_key(own, seed, MOVE)), table)
        return move, float(line.best[0])

    return _search_each(cells, to_move, search, table.size)


def _search_each(
    cells: NDArray[np.int8],
    to_move: NDArray[np.int8],
    search: Callable[[NDArray[np.int8]], tuple[int, float]],
    size: int,
) -> MovesAndValues:
    """The moves and values that `search` returns; it takes a position in the mover's frame."""
    moves, values = np.empty(len(cells), np.int16), np.empty(len(cells))
    for row, colour in enumerate(to_move.tolist()):
        move, values[row] = search(frame_board(cells[row], colour, size))
        moves[row] = frame_action(move, colour, size)
    return moves, values


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


@inline
def _add(nodes: _Nodes, node: int, parent: int, move: int) -> None:
    """Begin `node` as the child of `parent` after `move`."""
    nodes.move[node], nodes.parent[node], nodes.child[node], nodes.sibling[node] = (
        move,
        parent,
        NONE,
        NONE,
    )
    nodes.children[node], nodes.visits[node], nodes.wins[node] = 0, 0, 0
    if parent != NONE:
        nodes.sibling[node] = nodes.child[parent]
        nodes.child[parent] = node
        nodes.children[parent] += 1


@inline
def _best_child(nodes: _Nodes, node: int, rollouts: int, exploration: float) -> int:
    """Child with the highest upper confidence bound of its share of wins."""
    best, highest = NONE, -1.0
    log = np.log(nodes.visits[node])
    child = nodes.child[node]
    while child != NONE:
        visits = nodes.visits[child]
        bound = nodes.wins[child] / (visits * rollouts) + exploration * np.sqrt(log / visits)
        if bound > highest:
            best, highest = child, bound
        child = nodes.sibling[child]
    return best


@inline
def _untried_move(
    nodes: _Nodes, node: int, cells: NDArray[np.int8], bits: np.uint64, room: NDArray[np.int16]
) -> int:
    """A move that has no child at `node` yet, drawn by `bits`; there must be one."""
    for cell in range(room.size):
        room[cell] = cells[cell] == 0
    child = nodes.child[node]
    while child != NONE:
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
    """One simulation from position 0 of `stones`,
    with `empty` cells; returns the nodes used after it.
    """
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
    while node != NONE:
        nodes.visits[node] += 1
        nodes.wins[node] += wins
        wins = rollouts - wins
        node = nodes.parent[node]
    return used + added


@uncounted_kernel
def _uct(
    own: NDArray[np.int8],
    rollouts: int,
    exploration: float,
    seed: int,
    table: Geometry,
    stones: Stones,
    nodes: _Nodes,
    room: NDArray[np.int16],
) -> tuple[int, float]:
    """The most visited move of an undecided position in the mover's frame, and the position's value
    in [-1, 1].

    `stones` is room for two positions, `nodes` for the root and one node per simulation, `room`
    int16 `[size*size]`.
    """
    place_all(stones, 0, own, table)
    k = stones_key(own, seed, MOVE)
    for colour in (1, -1):
        decisive = winning_cells(stones, 0, colour, table, room)
        if decisive > 0:
            # With two winning cells the opponent wins by the second; after stopping a single one
            # nothing is searched.
            value = 1.0 if colour > 0 else -1.0 if decisive > 1 else 0.0
            return int(room[draw(k, 0) % np.uint64(decisive)]), value
    empty = 0
    for cell in range(own.size):
        empty += own[cell] == 0
    _add(nodes, 0, NONE, NONE)
    stream = stones_key(own, seed, PLAYOUT)
    used = 1
    for simulation in range(nodes.move.size - 1):
        used = _simulate(
            nodes, used, stones, empty, rollouts, exploration, draw(stream, simulation), table, room
        )
    # Ties in visits go to the move with more wins, then to the one added last, which was drawn at
    # random.
    best = nodes.child[0]
    child = best
    while child != NONE:
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
) -> MovesAndValues:
    """A move of each of the undecided positions `cells` int8 `[B, size*size]`.

    It is UCT with uniformly random rollouts (Kocsis and Szepesvári 2006; Coulom 2006). Every
    simulation walks down the tree by upper confidence bounds, adds one untried move at the last
    node, and plays random games from there. It has no priors and knows only the rules of Hex, with
    one exception. At the root it plays a win in one move, and stops one of the opponent. Source:
    Teytaud and Teytaud 2010, "On the huge benefit of decisive moves in Monte-Carlo tree search
    algorithms". Values are the mean results of all rollouts, in [-1, 1] for the player to move.
    """
    stones, room, number = (
        empty_stones(2, table.size),
        np.empty(cells.shape[1], np.int16),
        simulations + 1,
    )
    parent, child, sibling, children, visits = np.empty((5, number), np.int32)
    wins = np.empty(number, np.int64)
    nodes = _Nodes(np.empty(number, np.int16), parent, child, sibling, children, visits, wins)

    def search(own: NDArray[np.int8]) -> tuple[int, float]:
        return _uct(own, rollouts, exploration, seed, table, stones, nodes, room)

    return _search_each(cells, to_move, search, table.size)
