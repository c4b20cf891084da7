"""A trial's process is watched: what it takes is what the driver says,
or else what the trial itself does.
"""

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hexlit.accelerate.machine import COLUMNS, ProcessTree, ResourceSample
from hexlit.tuning import processes
from hexlit.tuning.config import SweepConfig
from hexlit.tuning.processes import GIB, Attempt, TrialProcess, ask_the_controller
from hexlit.tuning.trial import TrialTicket

WHY = "the driver names none of this container's processes"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_LOOK_EVERY", 0.05)


def sleeper(folder: Path) -> str:
    """A program that takes no notice of its arguments."""
    path = folder / "sleeper"
    path.write_text("#!/bin/sh\nsleep 1\n")
    path.chmod(0o755)
    return str(path)


def ending(
    folder: Path,
    limits: SweepConfig,
    monkeypatch: pytest.MonkeyPatch,
    *,
    driver: int | None,
    told: int,
) -> Attempt:
    """A trial that sleeps for a second;
    the driver reports the device memory `driver`, the trial itself `told`.
    """

    def sample(tree: ProcessTree) -> ResourceSample:
        return ResourceSample(
            1.0, 1, 0.0, GIB, driver, None, {} if driver is not None else {"device_bytes": WHY}
        )

    monkeypatch.setattr(ProcessTree, "sample", sample)
    start = [sleeper(folder)]
    processes._warn_of_own_figure.cache_clear()
    trial = folder / "trial-000"
    (trial / "seed-1").mkdir(parents=True)
    row = dict.fromkeys(COLUMNS, "") | {"device_bytes": str(told)}
    (trial / "seed-1" / "resources.csv").write_text(
        f"{','.join(COLUMNS)}\n{','.join(row.values())}\n1.0,torn"
    )
    ticket = TrialTicket(None, str(folder), "s", 0, 0, ["score"], "score", None, 1, "g", "id")
    for _ in range(2):
        attempt = Attempt(ticket, [], start=start, folder=trial)
        TrialProcess(attempt).wait(limits, threading.Event())
    return attempt


@pytest.mark.parametrize(
    ("driver", "told", "ends"),
    [
        (None, 3, True),
        (None, 1, False),
        (1, 3, False),
        (3, 1, True),
    ],
)
def test_a_device_budget_is_kept_by_the_drivers_figure_or_else_by_the_trials_own(
    driver: int | None, told: int, ends: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    limits = SweepConfig(device_memory_budget=2.0)
    taken = None if driver is None else driver * GIB
    found = ending(tmp_path, limits, monkeypatch, driver=taken, told=told * GIB)
    said = "over its memory budget: 3.00 GiB of sweep.device_memory_budget=2"
    assert found.failure == (said if ends else None)
    assert found.peaks["device"] == (told * GIB if driver is None else taken)
    warnings = [record.message for record in caplog.records]
    expected = [
        f"sweep.device_memory_budget: {WHY}; torch's own figure counts, and on a cpu nothing is limited"
    ]
    assert warnings == (expected if driver is None else []), "once, however many trials"


@pytest.fixture
def watcher() -> Iterator[object]:
    slurm = pytest.importorskip("submitit.slurm.slurm", reason="an extra")
    before = slurm.SlurmJob.watcher
    ask_the_controller()
    yield slurm.SlurmJob.watcher
    slurm.SlurmJob.watcher = before


def test_the_controller_says_what_became_of_jobs(
    watcher: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "7|RUNNING|node1\n8_0|CANCELLED|\n8_1|REQUEUE_HOLD|\n99|COMPLETED|node2\n"
    asked: list[list[str]] = []

    def answer(command: list[str], shell: bool) -> bytes:
        asked.append(command)
        return lines.encode()

    monkeypatch.setattr(subprocess, "check_output", answer)
    for job in ("7", "8_0", "8_1", "9"):
        watcher.register_job(job)  # type: ignore[attr-defined]
    watcher.update()  # type: ignore[attr-defined]
    assert [command[0] for command in asked] == ["squeue"]
    done = {job: watcher.is_done(job, mode="cache") for job in ("7", "8_0", "8_1", "9")}  # type: ignore[attr-defined]
    assert done == {"7": False, "8_0": True, "8_1": False, "9": True}, (
        "9 is forgotten, so that it has ended"
    )
