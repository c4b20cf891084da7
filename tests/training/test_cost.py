"""The cost of a run: every evaluation once, every example of a step three times, over all sessions."""

from pathlib import Path
from typing import Any

import lightning as L
import pytest

from hexlit.training.budget import Cost
from hexlit.training.loggers import MetricsCsv
from tests.training.test_evaluation import fit


class Play(L.Callback):
    """Ten evaluations before every epoch."""

    evaluations = 0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.evaluations += 10


def test_an_evaluation_counts_once_and_an_example_three_times(tmp_path: Path) -> None:
    play, logger = Play(), MetricsCsv(tmp_path)
    seconds = iter([1.5, 2.5, 9.0])
    cost = Cost(7, evaluations=lambda: play.evaluations, seconds=lambda: next(seconds))
    fit(2, [play, cost], logger=logger)  # three steps of four examples
    assert cost.flops == 7 * (2 * 10 + 3 * 2 * 12)
    header, *rows = [line.split(",") for line in (tmp_path / "metrics.csv").read_text().splitlines()]
    assert [float(row[header.index("cost.flops")]) for row in rows] == [7 * 46, 7 * 92]
    assert [float(row[header.index("cost.seconds")]) for row in rows] == [1.5, 2.5]
    assert cost.summary() == {"flops": 7 * 92, "wall_seconds": 9.0}


@pytest.mark.row("F6")
def test_what_only_training_computes_counts_three_times_for_each_example() -> None:
    cost = Cost(7, evaluations=lambda: 10, training_flops=9)
    fit(1, [cost])
    assert cost.flops == 7 * 10 + 9 * 3 * 12


def test_the_examples_of_earlier_sessions_count() -> None:
    first, second = (Cost(2, evaluations=lambda: 0) for _ in range(2))
    fit(1, [first])
    second.load_state_dict(first.state_dict())
    fit(1, [second])
    assert second.flops == 2 * first.flops == 2 * 2 * 3 * 12


def test_large_numbers_stay_exact_where_a_logger_rounds_them(tmp_path: Path) -> None:
    cost = Cost(10**13 + 1, evaluations=lambda: 1)
    fit(1, [cost], logger=MetricsCsv(tmp_path))
    assert cost.flops == (10**13 + 1) * 37
    header, row = [line.split(",") for line in (tmp_path / "metrics.csv").read_text().splitlines()]
    assert float(row[header.index("cost.flops")]) == pytest.approx(cost.flops, rel=1e-6)
