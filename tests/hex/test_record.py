"""A finished game."""

import numpy as np

from hexlit.hex.record import Ending, GameRecord


def test_an_imported_game_has_no_searched_policies_or_values() -> None:
    record = GameRecord(1, 3, False, np.array([4, 0], np.int16), 0, Ending.UNFINISHED)
    searched = (record.values, record.simulations, record.policy_plies, record.policies)
    assert [len(column) for column in searched] == [0] * 4
    assert record.values.dtype == np.float32
    assert record.policies.dtype == np.float16
