"""Memory and times of every epoch, and the warning when there is much memory."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.training.usage import RunUsage


class Charts:
    """A module, and a logger, that keep what they get."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.rows.append(metrics)

    log_dict = log_metrics


def usage_of(folder: Path, peaks: dict[str, int | None], limit: float = 8000) -> RunUsage:
    usage = RunUsage(folder, build_profile(AcceleratorConfig(device="cpu", memory_warning=limit)))
    usage.peaks = lambda epoch: peaks  # type: ignore[method-assign]
    return usage


def epoch_end(usage: RunUsage, epoch: int = 3) -> tuple[dict[str, float], dict[str, float]]:
    """What the module logs, and what charts get besides."""
    module, charts = Charts(), Charts()
    trainer: Any = SimpleNamespace(loggers=[charts], current_epoch=epoch, global_step=7)
    logging_module: Any = module
    usage.on_train_epoch_end(trainer, logging_module)
    return module.rows[0], charts.rows[0]


@pytest.mark.parametrize(("limit", "expected"), [(8000.0, 0), (1499.0, 1)])
def test_one_warning_names_the_figure_and_the_threshold(
    tmp_path: Path, limit: float, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Above 8,000 MB unless another threshold is set."""
    usage = usage_of(tmp_path, {"host": 1_500_000_000, "device": 10**9}, limit)
    with caplog.at_level(logging.WARNING, "hexlit"):
        for _ in range(3):
            epoch_end(usage)
    assert len(caplog.records) == expected
    if expected:
        assert "host_mb is 1500, above accelerator.memory_warning=1499" in caplog.text


def test_phases_of_this_epoch_go_to_charts_and_not_to_the_table(tmp_path: Path) -> None:
    usage = usage_of(tmp_path, {})
    for epoch in range(2):
        with usage.clock.phase("training", epoch) as phase:
            phase.add(examples=10 * (epoch + 1))
    logged, charts = epoch_end(usage, epoch=1)
    totals = usage.clock.epoch_rows(1)["training"]
    assert logged == {}
    assert charts["epoch"] == 1.0
    assert charts["time.training_seconds"] == totals.wall_seconds
    assert charts["throughput.training_examples_per_second"] == totals.rate("examples")
