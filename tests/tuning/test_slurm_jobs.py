"""The states of Slurm's jobs, from the lines of `squeue`; a real Slurm is tried with the services."""

import subprocess
from collections.abc import Iterator

import pytest

from hexlit.tuning.processes import ask_the_controller

pytestmark = pytest.mark.row("F24")


@pytest.fixture
def watcher() -> Iterator[object]:
    slurm = pytest.importorskip("submitit.slurm.slurm", reason="an extra")
    before = slurm.SlurmJob.watcher
    ask_the_controller()
    yield slurm.SlurmJob.watcher
    slurm.SlurmJob.watcher = before


def test_the_controller_says_what_became_of_jobs(watcher: object, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert done == {"7": False, "8_0": True, "8_1": False, "9": True}, "9 is forgotten, so that it has ended"
