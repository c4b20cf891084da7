"""A command that is called from Python leaves the process as it was."""

import logging
import os
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig

from hexlit.commands import tasks
from hexlit.commands.composing import Composed
from hexlit.commands.in_process import called
from hexlit.commands.train import whole_arguments
from hexlit.errors import UsageError
from hexlit.hex.jit import kernel_threads, use_threads
from hexlit.tasks.run_config import RunConfig

QUICK = ["logger=csv", "board=3"]


@pytest.fixture(autouse=True)
def _elsewhere() -> None:
    tasks.register()


def train(task: Callable[..., Any], arguments: list[str]) -> Any:
    with called("train", RunConfig, arguments, prepare=whole_arguments) as command:
        return task(*command)


def state() -> dict[str, Any]:
    return {
        "environment": dict(os.environ),
        "argv": list(sys.argv),
        "filters": list(warnings.filters),
        "log": [list(logging.getLogger("hexlit").handlers), logging.getLogger("hexlit").level],
        "draws": [
            random.getstate(),
            np.random.get_state()[1].tolist(),  # type: ignore[index]  # noqa: NPY002
            torch.get_rng_state().tolist(),
        ],
        "threads": torch.get_num_threads(),
        "kernels": kernel_threads(),
        "products": torch.get_float32_matmul_precision(),
        "hydra": [GlobalHydra.instance().hydra, HydraConfig.instance().cfg],
        "file": sys.modules["__main__"].__dict__.get("__file__"),
    }


def disturb(settings: Any, command: Composed) -> int:
    os.environ["WANDB_MODE"] = "offline"
    os.environ.pop("HOME", None)
    warnings.filterwarnings("ignore")
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    torch.set_num_threads(1)
    use_threads(1)
    torch.set_float32_matmul_precision("medium")
    return int(settings.board)


def test_nothing_that_a_task_changes_is_left_also_after_a_mistake_and_after_a_bug(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "script.py", raising=False)
    before = state()
    assert train(disturb, QUICK) == 3
    assert state() == before
    for error in (UsageError("board=3: too small"), ZeroDivisionError()):

        def task(settings: Any, command: Composed, error: Exception = error) -> None:
            disturb(settings, command)
            raise error

        with pytest.raises(type(error)):
            train(task, QUICK)
        assert state() == before


def test_the_callers_own_hydra_stays() -> None:
    with initialize_config_module("hexlit.conf", version_base="1.3"):
        theirs = GlobalHydra.instance().hydra
        assert train(lambda settings, command: settings.board, QUICK) == 3
        assert GlobalHydra.instance().hydra is theirs
        assert compose("train", ["board=5"]).board == 5


def test_the_folder_has_a_log_and_warnings_go_the_callers_way(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def task(settings: Any, command: Composed) -> Path:
        logging.getLogger("hexlit.some").info("a detail")
        logging.getLogger("hexlit.some").warning("a warning")
        return command.folder

    folder = train(task, [*QUICK, "name=mine"])
    assert folder.parent == Path.cwd() / "runs" / "mine"
    said = (folder / "train.log").read_text(encoding="utf-8")
    assert "a detail" in said
    assert "a warning" in said
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        "a warning"
    ]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            "trainer.max_epoch=3",
            "unknown key 'trainer.max_epoch': did you mean 'trainer.max_epochs'",
        ),
        ("--multirun", "LexerNoViableAlt"),
    ],
)
def test_mistakes_are_told_in_one_line(
    argument: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        train(disturb, [argument])
    assert "\n" not in str(caught.value)
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_that_lightning_made_an_exit_is_an_interrupt_again() -> None:
    def task(settings: Any, command: Composed) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            sys.exit(1)

    with pytest.raises(KeyboardInterrupt):
        train(task, QUICK)
