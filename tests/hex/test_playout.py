"""Random games and random continuations."""

import itertools
import math

import numpy as np
import pytest

from hexlit.hex.engine import empty_stones
from hexlit.hex.geometry import geometry
from hexlit.hex.playout import playouts, random_games
from hexlit.hex.rng import PLAYOUT, key
from tests.hex import reference


@pytest.mark.parametrize("size", [2, 3, 5, 8, 11])
def test_random_games_end_exactly_at_the_winning_move(size: int) -> None:
    games = 100
    moves, lengths = np.zeros((games, size * size), np.int16), np.zeros(games, np.int16)
    wins = random_games(games, 7, geometry(size), moves, empty_stones(1, size), lengths)
    black = 0
    for row, length in zip(moves.tolist(), lengths.tolist(), strict=True):
        assert sorted(row) == list(range(size * size))
        cells = [0] * (size * size)
        for ply, move in enumerate(row[:length]):
            assert reference.winner(cells, size) == 0
            cells[move] = 1 if ply % 2 == 0 else -1
        assert reference.winner(cells, size) == (1 if length % 2 else -1)
        black += length % 2
    assert wins == black


def test_the_seed_decides_the_games() -> None:
    def played(seed: int) -> list[list[int]]:
        moves = np.zeros((20, 25), np.int16)
        random_games(20, seed, geometry(5), moves, empty_stones(1, 5), np.zeros(20, np.int16))
        return moves.tolist()

    assert played(1) == played(1) != played(2)
    assert len({tuple(game) for game in played(1)}) == 20


def exact_share_of_black(cells: list[int], size: int, to_move: int) -> float:
    """Share of all ways to share out the empty cells,
    the mover getting the larger half, that Black wins.
    """
    empty = [cell for cell, stone in enumerate(cells) if stone == 0]
    fills = list(itertools.combinations(empty, len(empty) // 2))
    wins = 0
    for theirs in fills:
        full = [
            stone or (-to_move if cell in theirs else to_move) for cell, stone in enumerate(cells)
        ]
        wins += reference.connects(full, size, reference.BLACK)
    return wins / len(fills)


@pytest.mark.parametrize("to_move", [1, -1])
@pytest.mark.parametrize(
    ("size", "cells"),
    [
        (2, [0, 0, 0, 0]),
        (3, [0] * 9),
        (3, [0, 1, 0, 0, 0, 0, -1, 0, 0]),
        (3, [0, 0, -1, 1, 0, -1, 1, 0, 0]),
        (4, [1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, -1]),
    ],
)
def test_playouts_estimate_the_exact_share_of_wins_and_leave_the_board_alone(
    size: int, cells: list[int], to_move: int
) -> None:
    count = 20_000
    exact = exact_share_of_black(cells, size, to_move)
    board, room = np.array(cells, np.int8), np.zeros(size * size, np.int16)
    wins = playouts(board, to_move, count, np.uint64(key(1, size, 0, PLAYOUT)), size, room)
    assert board.tolist() == cells
    assert wins / count == pytest.approx(
        exact, abs=4.5 * math.sqrt(exact * (1 - exact) / count) + 1e-12
    )
