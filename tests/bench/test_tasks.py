"""Training steps of any task, measured on one from outside the package that takes seconds."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.bench.config import BenchConfig
from hexlit.bench.training import measure_steps, measure_training, task_trainee
from hexlit.errors import UsageError
from hexlit.reporting.progress import TrainingProgress
from hexlit.training import module as training_module
from hexlit.training.task import Task

QUICK = BenchConfig(repeats=2, seconds=0.01)
SILENT = Console(quiet=True)
DISPLAY = TrainingProgress(1, title="", console=SILENT)
BATCH = 16  # of the task


class Makes:
    """Makes tasks that learn a line, and counts those that were made and closed."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.made: list[Task] = []
        self.closed = 0

    def __call__(self) -> Task:
        config = import_module("linetask.settings").LineConfig(**self.settings)
        task: Task = import_module("linetask.task").LineTask(config, SILENT)
        task.close = self.count  # type: ignore[method-assign]
        self.made.append(task)
        return task

    def count(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "outside")


@pytest.fixture
def profile() -> DeviceProfile:
    fields: dict[str, Any] = {"precision": "32-true", "train_batch": BATCH}
    return build_profile(AcceleratorConfig(device="cpu", threads=1, **fields))


def test_a_line_is_in_the_task_s_own_unit_and_its_parts_are_told(profile: DeviceProfile) -> None:
    with task_trainee("line", Makes(), DISPLAY) as trainee:
        found = measure_steps(trainee, QUICK, profile)
    assert (found.what, found.unit) == ("training line, batch 16", "points/s")
    assert found.median is not None
    assert found.milliseconds == pytest.approx(1000 * BATCH / found.median)
    assert "backward" in found.detail


def test_a_task_is_measured_as_it_is_and_in_the_faster_format_and_compiled(
    profile: DeviceProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler takes most of a minute, so one that does nothing stands in for it."""
    monkeypatch.setattr(
        training_module, "compile_for_training", lambda net, profile, trial, **how: 0.5
    )
    with task_trainee("line", Makes(), DISPLAY) as trainee:
        found = measure_training(trainee, QUICK, replace(profile, precision="bf16-mixed")).lines
    assert [line.precision for line in found] == ["32-true", "bf16-mixed", "bf16-mixed compiled"]
    assert [line.compile_seconds for line in found] == [None, None, 0.5]
    assert all(line.median and "of 32-true" in line.detail for line in found)


def test_every_line_has_fresh_weights_on_the_same_whole_batches_of_the_training_data(
    profile: DeviceProfile,
) -> None:
    with task_trainee("line", Makes(points=40), DISPLAY) as trainee:
        first, batches = trainee.set_up(profile)
        second, again = trainee.set_up(profile)
    assert first is not second
    shown = list(batches)
    assert [len(x) for x, _ in shown] == [
        BATCH,
        BATCH,
    ]  # the eight that are left are no whole batch
    assert torch.equal(shown[0][0].flatten(), torch.linspace(-1, 1, 40)[:BATCH])
    assert all(torch.equal(x, other) for (x, _), (other, _) in zip(shown, again, strict=True))


def test_all_tasks_are_closed_even_after_a_mistake(profile: DeviceProfile) -> None:
    makes = Makes(points=BATCH - 1)
    with (
        pytest.raises(UsageError, match=r"accelerator\.train_batch=16"),
        task_trainee("line", makes, DISPLAY) as trainee,
    ):
        measure_steps(trainee, QUICK, profile)
    assert makes.closed == len(makes.made) > 0
