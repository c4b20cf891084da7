"""The mover's frame, against NumPy."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.hex.encoding import (
    MAY_SWAP,
    OPPONENT,
    OPPONENT_EDGES,
    OWN,
    OWN_EDGES,
    PLANES,
    blank_planes,
    encode,
)
from hexlit.hex.symmetry import exchange_colours

SIZES = [2, 3, 5, 8, 13]


def random_positions(
    size: int, batch: int = 50
) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.bool_]]:
    random = np.random.default_rng(size)
    cells = random.integers(-1, 2, (batch, size * size)).astype(np.int8)
    to_move = random.choice(np.array([-1, 1], np.int8), batch)
    return cells, to_move, random.random(batch) < 0.5


def reference_planes(cells: NDArray[np.int8], to_move: int, may_swap: bool) -> NDArray[np.int8]:
    """One position, with the array operations that the definition names."""
    size = round(len(cells) ** 0.5)
    board = cells.reshape(size, size)
    if to_move < 0:
        board = board.T
    planes = np.zeros((PLANES, size, size), np.int8)
    planes[OWN] = board == to_move
    planes[OPPONENT] = board == -to_move
    planes[OWN_EDGES, 0] = planes[OWN_EDGES, -1] = 1
    planes[OPPONENT_EDGES, :, 0] = planes[OPPONENT_EDGES, :, -1] = 1
    planes[MAY_SWAP] = may_swap
    return planes


@pytest.mark.parametrize("size", SIZES)
def test_planes_equal_their_definition(size: int) -> None:
    cells, to_move, may_swap = random_positions(size)
    planes = encode(cells, to_move, may_swap)
    assert planes.dtype == np.int8
    expected = [
        reference_planes(*position)
        for position in zip(cells, to_move.tolist(), may_swap.tolist(), strict=True)
    ]
    assert np.array_equal(planes, np.stack(expected))


@pytest.mark.parametrize("size", SIZES)
def test_a_position_and_its_colour_exchanged_mirror_image_look_the_same_to_their_movers(
    size: int,
) -> None:
    cells, to_move, may_swap = random_positions(size)
    assert np.array_equal(
        encode(cells, to_move, may_swap), encode(exchange_colours(cells), -to_move, may_swap)
    )


def test_blank_planes_show_an_empty_board() -> None:
    empty = encode(np.zeros((2, 9), np.int8), np.array([1, -1], np.int8))
    assert np.array_equal(blank_planes(2, 3), empty)
