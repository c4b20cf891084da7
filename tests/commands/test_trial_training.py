"""The facts of a trial beside its metrics."""

import pytest

from hexlit.commands.trial_training import numbers, time_left
from hexlit.training.config import TrainerConfig


@pytest.mark.row("C12")
def test_the_time_saved_is_that_of_the_epochs_not_done_at_its_own_pace() -> None:
    """The start does not count, and no more time than the trial would have had."""
    phases = {"compiling": {"wall_seconds": 60.0}, "selfplay": {"wall_seconds": 6.0}, "training": {"wall_seconds": 4.0}}
    summary = {"phases": phases, "wall_seconds": 70.0, "cost": {"flops": 50}}
    assert time_left(summary, TrainerConfig(max_epochs=20), 5, 0) == 30.0
    assert time_left(summary, TrainerConfig(max_epochs=20), 5, 2) == 30.0 + 2 * 40.0
    assert time_left(summary, TrainerConfig(max_epochs=20, max_time="00:01:15"), 5, 1) == 5.0 + 40.0
    assert time_left(summary, TrainerConfig(max_epochs=20, max_time="00:00:30"), 5, 1) == 0.0 + 30.0
    assert time_left(summary, TrainerConfig(max_epochs=20, max_flops=60.0), 5, 1) == 2.0 + 12.0


def test_the_numbers_of_a_summary_have_dotted_names() -> None:
    summary = {"a": 1, "b": {"c": 2.5, "d": {"e": 3}, "text": "no", "truth": True, "none": None, "list": [1]}}
    assert dict(numbers(summary)) == {"a": 1.0, "b.c": 2.5, "b.d.e": 3.0}
