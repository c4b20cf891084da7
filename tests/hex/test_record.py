"""A finished game."""

import dataclasses

import numpy as np
import pytest

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


def test_records_share_nothing_and_do_not_change() -> None:
    first, second = (GameRecord(i, 3, False, np.zeros(0, np.int16), 0, Ending.UNFINISHED) for i in range(2))
    assert first.values is not second.values
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.winner = 1  # type: ignore[misc]


def test_endings_are_stored_as_plain_words() -> None:
    assert [str(ending) for ending in Ending] == ["connected", "resigned", "forfeited", "unfinished"]
    assert Ending("resigned") is Ending.RESIGNED
