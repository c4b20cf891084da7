"""The cost of a run: every evaluation once,
every example of a step three times, over all sessions.
"""

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning as L
import pytest

from hexlit.training.loggers import MetricsCsv
from hexlit.training.run import Cost
from tests.training.test_evaluation import fit


def cost_of(
    forward: int,
    evaluations: Callable[[], int],
    training: int | None = None,
    ago: float = 0.0,
    earlier: float = 0.0,
) -> Cost:
    started = time.monotonic() - ago
    work: Any = SimpleNamespace(
        training_flops=lambda: training or forward, data_flops=lambda: forward * evaluations()
    )
    return Cost(work, started, earlier)


class Play(L.Callback):
    """Ten evaluations before every epoch."""

    evaluations = 0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.evaluations += 10


def test_an_evaluation_counts_once_and_an_example_three_times(tmp_path: Path) -> None:
    play = Play()
    cost = cost_of(7, lambda: play.evaluations)
    fit(2, [play, cost, MetricsCsv(tmp_path)])  # three steps of four examples
    assert cost.flops == 7 * (2 * 10 + 3 * 2 * 12)
    header, *rows = [
        line.split(",") for line in (tmp_path / "metrics.csv").read_text().splitlines()
    ]
    assert [float(row[header.index("cost.flops")]) for row in rows] == [7 * 46, 7 * 92]
    assert [float(row[header.index("cost.actor_macs")]) for row in rows] == [7 * 10 / 2, 7 * 20 / 2]
    first, second = (float(row[header.index("cost.seconds")]) for row in rows)
    assert 0 < first < second <= cost.seconds


def test_what_only_training_computes_counts_three_times_for_each_example() -> None:
    cost = cost_of(7, lambda: 10, training=9)
    fit(1, [cost])
    assert cost.flops == 7 * 10 + 9 * 3 * 12


def test_the_examples_and_the_time_of_earlier_sessions_count() -> None:
    first = cost_of(2, lambda: 0, ago=40.0)
    fit(1, [first])
    second = cost_of(2, lambda: 0, ago=45.0, earlier=first.state_dict()["seconds"])
    second.load_state_dict(first.state_dict())
    assert second.seconds == pytest.approx(85, abs=5)
    fit(1, [second])
    assert second.flops == 2 * first.flops == 2 * 2 * 3 * 12
