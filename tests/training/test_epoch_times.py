"""The use of an epoch's time, for loggers that draw charts."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hexlit.training.loggers import EpochTimes, MetricsCsv, RowsAreWhole
from hexlit.training.phases import PhaseClock
from hexlit.training.steps import StepClock


class Charts:
    """A logger that keeps what it gets."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.rows.append(metrics)


@pytest.mark.row("E3")
@pytest.mark.row("E16")
def test_phases_of_this_epoch_go_to_charts_and_not_to_the_table(tmp_path: Path) -> None:
    clock = PhaseClock(None, units=("examples",))
    for epoch in range(2):
        with clock.phase("training", epoch) as phase:
            phase.add(examples=10 * (epoch + 1))
    charts, table = Charts(), MetricsCsv(tmp_path)
    trainer: Any = SimpleNamespace(loggers=[table, charts], current_epoch=1, global_step=7)
    module: Any = None
    EpochTimes(clock, StepClock(None, torch.device("cpu"))).on_train_epoch_end(trainer, module)
    (row,) = charts.rows
    totals = clock.epoch_rows(1)["training"]
    assert row["epoch"] == 1.0
    assert row["time.training_seconds"] == totals.wall_seconds
    assert row["throughput.training_examples_per_second"] == totals.rate("examples")
    assert not table.path.exists()


@pytest.mark.row("F12")
def test_a_row_ends_when_a_phase_of_the_next_epoch_begins() -> None:
    ended: list[str] = []
    run: Any = SimpleNamespace(flush=lambda: ended.append("row"))
    clock = PhaseClock(None)
    clock.listeners.append(RowsAreWhole(run))
    for name, epoch, rows in (("compiling", 4, 0), ("making", 4, 0), ("training", 4, 0), ("making", 5, 1)):
        with clock.phase(name, epoch):
            assert len(ended) == rows
