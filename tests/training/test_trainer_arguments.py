"""Arguments of Lightning's Trainer that a run takes, and those that it refuses."""

import inspect
import logging
from pathlib import Path

import lightning as L
import pytest

from hexlit.commands.train import main
from hexlit.training.config import NOT_TAKEN, TrainerConfig
from tests.commands.test_train import train

TAKEN = set(vars(TrainerConfig()))


def test_limits_a_profiler_and_a_trial_run_are_lightnings(tmp_path: Path) -> None:
    run = train(tmp_path, "trainer.limit_train_batches=2", "trainer.profiler=simple")
    assert {row["steps"] for row in run.table("steps.csv")} == {"2"}
    assert "training_step" in (run.folder / "fit-profile.txt").read_text()


def test_a_trial_run_is_one_step(tmp_path: Path) -> None:
    run = train(tmp_path, "trainer.fast_dev_run=true", "trainer.detect_anomaly=true")
    assert [row["steps"] for row in run.table("steps.csv")] == ["1"]
    assert run.summary["epochs"] == 1


@pytest.mark.parametrize("name", sorted(NOT_TAKEN))
def test_the_others_are_refused_with_the_reason(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a run has begun, whose folder is gone then, and its log with it."""
    monkeypatch.chdir(tmp_path)
    assert name in inspect.signature(L.Trainer.__init__).parameters
    assert name not in TAKEN
    message = f"hexlit train: trainer.{name}: a run does not take it: {NOT_TAKEN[name]}\n"
    for plus in ("", "+"):
        assert main([f"{plus}trainer.{name}=1"]) == 2
        assert capsys.readouterr().err == message
    assert list(tmp_path.iterdir()) == []
    assert not [one for one in logging.getLogger().handlers if type(one) is logging.FileHandler]


def test_names_that_both_have_are_lightnings() -> None:
    """All but what only a run has."""
    own = {"max_flops", "patience", "monitor", "monitor_mode", "ema_decay"}
    assert TAKEN - own <= set(inspect.signature(L.Trainer.__init__).parameters)
