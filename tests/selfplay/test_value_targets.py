"""Value targets from results and searches."""

from dataclasses import replace

import numpy as np
import pytest

from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.window import value_targets


def game(seed: int, plies: int = 9) -> GameRecord:
    random = np.random.default_rng(seed)
    return GameRecord(
        seed,
        5,
        False,
        random.permutation(25)[:plies].astype(np.int16),
        1 if seed % 2 else -1,
        Ending.CONNECTED,
        values=random.uniform(-1, 1, plies).astype(np.float32),
        policy_plies=np.flatnonzero(random.random(plies) < 0.6).astype(np.int16),
    )


def reference(record: GameRecord, ply: int, share: float, decay: float) -> float:
    """The weighted sum, written out for one position."""
    mover = 1 if ply % 2 == 0 else -1
    searched, weight = 0.0, 1.0
    for later in range(ply, len(record.moves)):
        sign = 1 if (later - ply) % 2 == 0 else -1
        searched += weight * (1 - decay) * sign * float(record.values[later])
        weight *= decay
    searched += weight * record.winner * mover
    return (1 - share) * record.winner * mover + share * searched


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("share", [0.25, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_targets_are_the_weighted_sum_of_later_searches_and_the_result(seed: int, share: float, decay: float) -> None:
    record = game(seed)
    expected = [reference(record, ply, share, decay) for ply in record.policy_plies.tolist()]
    found = value_targets(record, share, decay)
    assert found.dtype == np.float32
    assert found == pytest.approx(expected, abs=1e-6)
    assert np.abs(found).max() <= 1


def test_games_that_end_sooner_than_the_mean_reaches_tell_their_result() -> None:
    record = replace(game(1, plies=2), policy_plies=np.array([0, 1], np.int16))
    assert value_targets(record, 1.0, 0.999) == pytest.approx([1, -1], abs=0.01)
    without = replace(record, policy_plies=np.zeros(0, np.int16))
    assert len(value_targets(without, 1.0, 0.5)) == 0
