"""Memory of every epoch, and the warning when there is much of it."""

import logging
from typing import Any

import pytest

from hexlit.training.guards import MemoryWatch


class Module:
    """Takes down what is logged."""

    def __init__(self) -> None:
        self.logged: dict[str, float] = {}

    def log_dict(self, figures: dict[str, float]) -> None:
        self.logged = figures


class Trainer:
    current_epoch = 3


def epoch_end(watch: MemoryWatch) -> dict[str, float]:
    module: Any = Module()
    trainer: Any = Trainer()
    watch.on_train_epoch_end(trainer, module)
    logged: dict[str, float] = module.logged
    return logged


@pytest.mark.row("D18")
def test_memory_is_logged_each_epoch_in_mb() -> None:
    """A value that cannot be read is left out, not 0."""
    asked: list[int] = []

    def peaks(epoch: int) -> dict[str, int | None]:
        asked.append(epoch)
        return {"host": 1_500_000_000, "device": None if len(asked) == 1 else 2 * 10**9}

    watch = MemoryWatch(8000, peaks)
    assert epoch_end(watch) == {"memory.host_mb": 1500.0}
    assert epoch_end(watch) == {"memory.host_mb": 1500.0, "memory.device_mb": 2000.0}
    assert asked == [3, 3]
    assert epoch_end(MemoryWatch(8000, lambda epoch: {"host": None})) == {}


@pytest.mark.row("D18")
@pytest.mark.parametrize(("limit", "expected"), [(8000.0, 0), (1499.0, 1)])
def test_one_warning_names_the_figure_and_the_threshold(
    limit: float, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Above 8,000 MB unless another threshold is set."""
    watch = MemoryWatch(limit, lambda epoch: {"host": 1_500_000_000, "device": 10**9})
    with caplog.at_level(logging.WARNING, "hexlit"):
        for _ in range(3):
            epoch_end(watch)
    assert len(caplog.records) == expected
    if expected:
        assert "host_mb is 1500, above accelerator.memory_warning=1499" in caplog.text
