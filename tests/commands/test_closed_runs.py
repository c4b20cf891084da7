"""A run that is refused or fails, at any point, leaves no process and no open logger behind."""

import errno
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from hexlit.commands.train import main
from hexlit.training import run as training_run
from tests.commands.tiny import TINY

ONE_EPOCH = [*TINY, "trainer.max_epochs=1", "hydra.run.dir=run"]


@pytest.mark.parametrize(
    "override", ["+callbacks.mine._target_=os.getcwd", "init_from=nowhere.ckpt"]
)
def test_a_run_refused_at_set_up_leaves_none_of_its_processes(override: str) -> None:
    """They begin before the imports that take seconds, long before the task is made."""
    before = {child.pid for child in psutil.Process().children()}
    assert main([*ONE_EPOCH, "selfplay.workers=2", override]) == 2
    left = [child for child in psutil.Process().children() if child.pid not in before]
    assert [child for child in left if "spawn_main" in " ".join(child.cmdline())] == []


def test_a_run_that_cannot_write_its_summary_closes_its_loggers_as_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(path: Path, content: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    closed: list[bool] = []
    monkeypatch.setattr(
        training_run, "close_loggers", lambda loggers, failed: closed.append(failed)
    )
    with monkeypatch.context() as patched:
        patched.setattr(training_run, "write_json_atomic", full)
        assert main(ONE_EPOCH) == 2
    assert closed == [True]
    assert main(["resume=run"]) == 0
    assert closed == [True, False]
