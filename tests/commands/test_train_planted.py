"""A run whose loss is no number, or without its device."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from hexlit.accelerate import device
from hexlit.commands.train import main
from hexlit.tasks.hex.module import HexModule
from tests.commands.test_train import as_a_process
from tests.commands.tiny import TINY
from tests.tables import rows_of


def train(folder: Path, *overrides: str) -> tuple[int, list[dict[str, str]], str]:
    """Exit code, rows of steps.csv, and the run's log."""
    with as_a_process(folder):
        code = main([*TINY, *overrides, "hydra.run.dir=run"])
    steps, log = folder / "run" / "steps.csv", folder / "run" / "train.log"
    rows = rows_of(steps) if steps.exists() else []
    return code, rows, log.read_text() if log.exists() else ""


def test_a_nan_loss_ends_the_run_in_one_line_with_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    losses = HexModule.losses
    calls = 0

    def nan(module: HexModule, output: Any, batch: Any) -> dict[str, Tensor]:
        nonlocal calls
        calls += bool(batch[0].any())  # empty boards only measure the time of a step
        found = losses(module, output, batch)
        return (
            {name: value * float("nan") for name, value in found.items()} if calls == 2 else found
        )

    monkeypatch.setattr(HexModule, "losses", nan)
    code, _, _ = train(tmp_path)
    err = capfd.readouterr().err
    assert code == 2
    assert "Traceback" not in err
    assert "the loss is nan at step 1 of epoch 0; the batch is saved in" in err
    saved = torch.load(tmp_path / "run" / "nan_batch.pt", weights_only=True)
    assert saved["batch"][0].shape == (32, 5, 3, 3)


def test_a_broken_accelerator_falls_back_to_the_cpu_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found automatically, it is passed over."""
    monkeypatch.setattr(device, "why_missing", lambda asked: "" if asked.type != "mps" else "none")
    broken = "no kernel image is available for execution on the device"
    monkeypatch.setattr(
        device, "trial_failure", lambda asked: broken if asked.type == "cuda" else ""
    )
    tiny = [override for override in TINY if override != "accelerator=cpu"]
    with as_a_process(tmp_path):
        logging.getLogger().handlers.clear()
        code = main([*tiny, "trainer.max_epochs=1", "hydra.run.dir=run"])
    log = (tmp_path / "run" / "train.log").read_text()
    assert code == 0
    assert log.count("continuing with cpu") == 1
    assert broken in log
