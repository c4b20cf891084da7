"""The mover's frame, beside plain transposition of boards."""

import numpy as np
import pytest

from hexlit.hex.encoding import OPPONENT, OWN, encode
from hexlit.hex.engine import empty_stones, play_action
from hexlit.hex.frame import frame_action, frame_actions, frame_board, frame_map, frame_maps
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.jit import kernel


@kernel
def _play(stones, action, colour, table):  # type: ignore[no-untyped-def]
    play_action(stones, 0, action, colour, table)


@pytest.mark.parametrize("size", [2, 5, 11])
@pytest.mark.parametrize("colour", [BLACK, WHITE])
def test_actions_maps_and_boards_agree_and_lead_back(size: int, colour: int) -> None:
    """Black's frame is the board, White's is the transposed one; the swap action stays itself."""
    cells = size * size
    board = np.random.default_rng(size).integers(-1, 2, cells).astype(np.int8)
    expected = board if colour == BLACK else -board.reshape(size, size).T.ravel()
    np.testing.assert_array_equal(frame_board(board, colour, size), expected)
    planes = encode(board[None], np.array([colour], np.int8))[0]
    np.testing.assert_array_equal((planes[OWN] - planes[OPPONENT]).ravel(), expected)
    policy = np.random.default_rng(0).random(cells + 1).astype(np.float32)
    seen = frame_map(policy, colour, size)
    assert seen[cells] == policy[cells]
    for action in range(cells + 1):
        framed = frame_action(action, colour, size)
        assert seen[framed] == policy[action]
        assert frame_action(framed, colour, size) == action
    np.testing.assert_array_equal(frame_map(seen, colour, size), policy)
    both = frame_maps(np.stack([policy, policy]), np.array([BLACK, colour], np.int8), size)
    np.testing.assert_array_equal(both, np.stack([policy, seen]))
    actions = np.array([1, cells - 2])
    for got, action in zip(
        frame_actions(actions, np.full(2, colour, np.int8), size), actions, strict=True
    ):
        assert got == frame_action(int(action), colour, size)


@pytest.mark.parametrize("colour", [BLACK, WHITE])
def test_compiled_code_plays_an_action_of_the_frame_on_its_cell(colour: int) -> None:
    stones, table = empty_stones(1, 5), geometry(5)
    _play(stones, 7, colour, table)  # type: ignore[no-untyped-call]
    assert np.flatnonzero(stones.cells[0, :25]).tolist() == [frame_action(7, colour, 5)]
