"""A trial's process is watched: what it takes is what the driver says, or else what the trial itself does."""

import sys
import threading
from pathlib import Path

import pytest

from hexlit.accelerate.machine import COLUMNS, ProcessTree, ResourceSample
from hexlit.tuning import runner
from hexlit.tuning.runner import GIB, Ending, Job, Limits, ProcessRunner
from hexlit.tuning.ticket import TrialTicket
from hexlit.tuning.under_way import UnderWay

WHY = "the driver names none of this container's processes"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_LOOK_EVERY", 0.05)


def ending(folder: Path, limits: Limits, monkeypatch: pytest.MonkeyPatch, *, driver: int | None, told: int) -> Ending:
    """A trial that sleeps for a second; the driver reports the device memory `driver`, the trial itself `told`."""

    def sample(tree: ProcessTree) -> ResourceSample:
        return ResourceSample(1.0, 1, 0.0, GIB, driver, None, {} if driver is not None else {"device_bytes": WHY})

    monkeypatch.setattr(ProcessTree, "sample", sample)
    monkeypatch.setattr(
        ProcessRunner, "_arguments", lambda self, job: [sys.executable, "-S", "-c", "import time; time.sleep(1)"]
    )
    trial = folder / "trial-000"
    (trial / "seed-1").mkdir(parents=True)
    row = dict.fromkeys(COLUMNS, "") | {"device_bytes": str(told)}
    (trial / "seed-1" / "resources.csv").write_text(f"{','.join(COLUMNS)}\n{','.join(row.values())}\n1.0,torn")
    ticket = TrialTicket(None, str(folder), "s", 0, 0, ["score"], "score", None, None, 1, "g", "id")
    run = ProcessRunner("train", limits, threading.Event())
    return [run.run(Job(ticket, trial, []), UnderWay(lambda: None)) for _ in range(2)][-1]


@pytest.mark.row("D7")
@pytest.mark.row("D8")
@pytest.mark.parametrize(("driver", "told", "ends"), [(None, 3, True), (None, 1, False), (1, 3, False), (3, 1, True)])
def test_a_device_budget_is_kept_by_the_drivers_figure_or_else_by_the_trials_own(
    driver: int | None, told: int, ends: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    limits = Limits(device_bytes=2 * GIB)
    taken = None if driver is None else driver * GIB
    found = ending(tmp_path, limits, monkeypatch, driver=taken, told=told * GIB)
    said = "over its memory budget: 3.00 GiB of sweep.device_memory_budget=2"
    assert found.failure == (said if ends else None)
    assert found.device_peak_bytes == (told * GIB if driver is None else taken)
    warnings = [record.message for record in caplog.records]
    expected = [
        f"sweep.device_memory_budget: {WHY}; torch's own figure counts instead, and on a cpu nothing is limited"
    ]
    assert warnings == (expected if driver is None else []), "once, however many trials"


@pytest.mark.row("D8")
@pytest.mark.row("F23")
def test_a_limit_is_kept_while_the_database_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign of life that waits for the database does not stop the watch over time."""
    monkeypatch.setattr(runner, "SIGN_OF_LIFE", 0.1)
    monkeypatch.setattr(
        ProcessRunner, "_arguments", lambda self, job: [sys.executable, "-S", "-c", "import time; time.sleep(10)"]
    )
    back = threading.Event()
    signs: list[bool] = []
    ticket = TrialTicket(None, str(tmp_path), "s", 0, 0, ["score"], "score", None, None, 1, "g", "id")
    (tmp_path / "trial-000").mkdir()
    job = Job(ticket, tmp_path / "trial-000", [])
    run = ProcessRunner("train", Limits(seconds=0.6), threading.Event())
    found = run.run(job, UnderWay(lambda: signs.append(back.wait(20))))
    assert signs == [], "one waits, and no other beside it"
    back.set()
    assert found.failure == "over its time: 1 s of sweep.trial_timeout=0.6"


def test_without_a_budget_nobody_is_warned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = ending(tmp_path, Limits(), monkeypatch, driver=None, told=3 * GIB)
    assert (found.failure, found.device_peak_bytes, caplog.records) == (None, 3 * GIB, [])
