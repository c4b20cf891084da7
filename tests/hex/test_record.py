"""A finished game."""

import numpy as np

from hexlit.hex.record import Ending, GameRecord


def test_an_imported_game_has_no_searched_policies_or_values() -> None:
    record = GameRecord(1, 3, False, np.array([4, 0], np.int16), 0, Ending.UNFINISHED)
    assert (
        len(record.values)
        == len(record.simulations)
        == len(record.policy_plies)
        == len(record.policies)
        == len(record.surprises)
        == 0
    )
    assert record.values.dtype == np.float32
    assert record.policies.dtype == np.float16
