"""Rotation by 180 degrees, and transpose with exchange of colours."""

import numpy as np
import pytest

from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import geometry
from hexlit.hex.symmetry import exchange_colours, rotate_moves
from tests.hex import reference


@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_symmetries_are_involutions(size: int) -> None:
    random = np.random.default_rng(size)
    cells = random.integers(-1, 2, (4, size * size)).astype(np.int8)
    moves = np.arange(size * size + 1)
    assert np.array_equal(exchange_colours(exchange_colours(cells)), cells)
    assert np.array_equal(rotate_moves(rotate_moves(moves, size), size), moves)


def test_rotation_keeps_the_winner_and_exchange_gives_the_win_to_the_other_player() -> None:
    random = np.random.default_rng(0)
    for _ in range(500):
        size = int(random.integers(2, 8))
        cells = random.integers(-1, 2, size * size).astype(np.int8)
        winner = reference.winner(cells.tolist(), size)
        assert reference.winner(cells[::-1].tolist(), size) == winner
        both = (
            reference.connects(cells.tolist(), size, 1),
            reference.connects(cells.tolist(), size, -1),
        )
        exchanged = exchange_colours(cells).tolist()
        assert (
            reference.connects(exchanged, size, -1),
            reference.connects(exchanged, size, 1),
        ) == both


def test_a_turned_game_is_the_turned_position() -> None:
    moves = np.array([3, 7, 12, 1, 0])
    board, turned = (
        GameBoard(4, moves=moves.tolist()),
        GameBoard(4, moves=rotate_moves(moves, 4).tolist()),
    )
    assert np.array_equal(turned.cells, board.cells[::-1])
    assert np.array_equal(turned.planes(), board.planes()[..., ::-1, ::-1])


def test_a_colour_exchanged_game_is_the_colour_exchanged_position() -> None:
    moves = np.array([3, 7, 12])
    cells = GameBoard(4, moves=moves.tolist()).cells
    mirrored = np.zeros(16, np.int8)
    for colour, move in zip((-1, 1, -1), geometry(4).transposed[moves], strict=True):
        mirrored[move] = colour
    assert np.array_equal(exchange_colours(cells), mirrored)
