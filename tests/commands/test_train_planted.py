"""A run whose loss is no number, that spends time and memory where it is told to, or without its device."""

import json
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from torch import Tensor

from hexlit.accelerate import device
from hexlit.commands.train import main
from hexlit.selfplay.actor import SelfPlay
from hexlit.tasks.hex.module import HexModule
from hexlit.tasks.hex.task import HexTask
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


@pytest.mark.row("C18")
def test_a_nan_loss_ends_the_run_in_one_line_with_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    losses = HexModule.losses
    calls = 0

    def nan(module: HexModule, output: Any, batch: Any) -> dict[str, Tensor]:
        nonlocal calls
        calls += 1
        found = losses(module, output, batch)
        return {name: value * float("nan") for name, value in found.items()} if calls == 2 else found

    monkeypatch.setattr(HexModule, "losses", nan)
    code, _, _ = train(tmp_path)
    err = capfd.readouterr().err
    assert code == 2
    assert "Traceback" not in err
    assert "the loss is nan at step 1 of epoch 0; the batch is saved in" in err
    saved = torch.load(tmp_path / "run" / "nan_batch.pt", weights_only=True)
    assert saved["batch"][0].shape == (32, 5, 3, 3)


PLANTED_BYTES = 500 * 2**20


@pytest.mark.row("E3")
@pytest.mark.row("A23")
def test_time_and_memory_are_found_where_they_were_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another clock, each phase has at least what was spent within it; memory was held for more than a second."""
    play, measure = SelfPlay.play, HexTask._measure
    start, step = HexModule.on_train_epoch_start, HexModule.training_step
    spent: dict[str, list[float]] = {"selfplay": [], "training": [], "evaluation": []}
    held: list[int] = []
    began_at: list[float] = []

    def slow_play(actor: SelfPlay, *arguments: Any, **settings: Any) -> Any:
        began = time.perf_counter()
        time.sleep(0.3)
        found = play(actor, *arguments, **settings)
        spent["selfplay"].append(time.perf_counter() - began)
        return found

    def slow_start(module: HexModule) -> None:
        began_at.append(time.perf_counter())
        spent["training"].append(0.0)
        time.sleep(0.5)
        start(module)

    def timed_step(module: HexModule, *arguments: Any) -> Any:
        found = step(module, *arguments)
        spent["training"][-1] = time.perf_counter() - began_at[-1]
        return found

    def slow_measure(task: HexTask, final: bool) -> Any:
        began = time.perf_counter()
        if not held:  # only once: the last sample of the run has none of it
            held.append(psutil.Process().memory_info().rss + PLANTED_BYTES)
            memory = np.ones(PLANTED_BYTES, np.uint8)
            time.sleep(1.2)  # samples are a second apart
            del memory
        found = measure(task, final)
        spent["evaluation"].append(time.perf_counter() - began)
        return found

    monkeypatch.setattr(SelfPlay, "play", slow_play)
    monkeypatch.setattr(HexModule, "on_train_epoch_start", slow_start)
    monkeypatch.setattr(HexModule, "training_step", timed_step)
    monkeypatch.setattr(HexTask, "_measure", slow_measure)
    began = time.monotonic()
    code, _, _ = train(tmp_path)
    lasted = time.monotonic() - began
    assert code == 0
    rows = [(row["phase"], float(row["wall_seconds"])) for row in rows_of(tmp_path / "run" / "phases.csv")]
    for name, expected in spent.items():
        found = [seconds for phase, seconds in rows if phase == name]
        assert len(found) >= 2
        inside = expected[-len(found) :]  # before the first epoch a game may be tried out
        assert all(row > least for row, least in zip(found, inside, strict=True)), name
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert 0.98 * summary["wall_seconds"] <= sum(seconds for _, seconds in rows) <= summary["wall_seconds"] <= lasted
    assert summary["memory"]["host_peak_bytes"] >= 0.98 * held[0]


@pytest.mark.row("A2")
def test_a_broken_accelerator_falls_back_to_the_cpu_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found automatically, it is passed over."""
    monkeypatch.setattr(device, "why_missing", lambda asked: "" if asked.type != "mps" else "none")
    broken = "no kernel image is available for execution on the device"
    monkeypatch.setattr(device, "trial_failure", lambda asked: broken if asked.type == "cuda" else "")
    tiny = [override for override in TINY if override != "accelerator=cpu"]
    with as_a_process(tmp_path):
        logging.getLogger().handlers.clear()
        code = main([*tiny, "trainer.max_epochs=1", "hydra.run.dir=run"])
    log = (tmp_path / "run" / "train.log").read_text()
    assert code == 0
    assert log.count("continuing with cpu") == 1
    assert broken in log
