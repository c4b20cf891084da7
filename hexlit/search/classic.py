"""The search of the programs before neural networks: alpha-beta over two-distance potentials.

It works on positions in the mover's frame: the player to move at the root is Black.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import Int8Array, Int16Array
from hexlit.hex.distance import DistanceRoom, distance_order, distance_room, distance_value
from hexlit.hex.engine import Stones, copy_stones, empty_stones, place, place_all, winning_cells
from hexlit.hex.frame import frame_action, frame_board
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import inline, uncounted_kernel
from hexlit.hex.rng import MOVE, stones_key, uniform

MovesAndValues = tuple[Int16Array, NDArray[np.float64]]
"""Moves int16 `[B]`, and their values float64 `[B]` for the players who move."""

_WIN = 1e6  # less the number of moves to it: above every static value
_TIE = 1e-6  # moves with a smaller difference of values are drawn at random


class _Line(NamedTuple):
    """The nodes from the root to the current one, one per ply."""

    moves: Int16Array
    """Moves to search, the best first, `[depth, size*size]`."""
    listed: Int16Array
    """Number of these moves, `[depth]`."""
    tried: Int16Array
    """Number of them begun so far, `[depth]`."""
    best: NDArray[np.float64]
    """Highest value so far for the player to move, `[depth]`."""
    alpha: NDArray[np.float64]
    """Value that the player to move has in another line, `[depth]`."""
    beta: NDArray[np.float64]
    """From this value on the opponent prefers another line, `[depth]`."""
    scores: NDArray[np.float64]
    """Scratch space, `[size*size]`."""
    threats: Int16Array
    """Scratch space, `[size*size]`."""


@inline
def _list_best(
    stones: Stones, ply: int, width: int, room: DistanceRoom, line: _Line, table: Geometry
) -> None:
    """List the `width` empty cells with the highest static scores as the moves of `ply`, the best
    first.
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
    """Value of the position at `ply` for its player to move; it looks no further than a win in one
    move.
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
    cells: Int8Array,
    to_move: Int8Array,
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
    stones = empty_stones(depth + 1, table.size)
    room = distance_room(area)
    moves = np.empty((depth, area), np.int16)
    listed, tried = np.zeros((2, depth), np.int16)
    best, alpha, beta = np.empty((3, depth))
    line = _Line(moves, listed, tried, best, alpha, beta, np.empty(area), np.empty(area, np.int16))
    chosen = np.empty(len(cells), np.int16)
    values = np.empty(len(cells))
    for row, colour in enumerate(to_move.tolist()):
        board = frame_board(cells[row], colour, table.size)
        place_all(stones, 0, board, table)
        key = np.uint64(stones_key(board, seed, MOVE))
        move = _alpha_beta(stones, width, room, line, key, table)
        chosen[row] = frame_action(move, colour, table.size)
        values[row] = line.best[0]
    return chosen, values
