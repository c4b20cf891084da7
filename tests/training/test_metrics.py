"""One row of metrics an epoch, and the file whole at every instant."""

import csv
import os
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from hexlit.errors import UsageError
from hexlit.training.evaluation import EvaluationPhase
from hexlit.training.loggers import LatestRow, MetricsCsv
from hexlit.training.phases import PhaseClock
from hexlit.training.task import Evaluation
from tests.training.test_evaluation import Display, fit


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def log(logger: MetricsCsv, metrics: dict[str, Any], step: int | None = None) -> None:
    logger.log_metrics(metrics, step)
    logger.save()


class Tiny(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.save_hyperparameters({"secret": "hunter2"})
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        loss: torch.Tensor = self.layer(batch[0]).square().mean()
        self.log("train/loss", loss, on_step=False, on_epoch=True)
        self.log("train/lr", 0.1, on_step=True, on_epoch=False)
        return loss

    def on_train_epoch_end(self) -> None:
        if self.current_epoch == 1:
            self.log("strength/search_optimality", 0.75)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


def test_a_real_trainer_fills_one_row_an_epoch_with_dotted_names_and_no_hyperparameters(tmp_path: Path) -> None:
    data = DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=1)
    trainer = L.Trainer(
        max_epochs=3,
        logger=MetricsCsv(tmp_path),
        log_every_n_steps=1,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    trainer.fit(Tiny(), data)
    rows = rows_of(tmp_path)
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    assert list(rows[0])[:2] == ["epoch", "step"]
    assert set(rows[0]) == {"epoch", "step", "train.lr", "train.loss", "strength.search_optimality"}
    assert [row["strength.search_optimality"] for row in rows] == ["", "0.75", ""]
    losses = [float(row["train.loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[2]
    assert [entry.name for entry in tmp_path.iterdir()] == ["metrics.csv"]
    assert "hunter2" not in (tmp_path / "metrics.csv").read_text()


def test_metrics_of_one_epoch_merge_and_nested_names_get_dots(tmp_path: Path) -> None:
    logger = MetricsCsv(tmp_path)
    log(logger, {"epoch": 0, "train": {"policy_loss": torch.tensor(1.5)}}, 10)
    log(logger, {"epoch": 0, "strength/games": 7}, 20)
    log(logger, {"epoch": 1, "train/value_loss": float("nan")}, 30)
    assert (tmp_path / "metrics.csv").read_text() == (
        "epoch,step,train.policy_loss,strength.games,train.value_loss\n0,20,1.5,7,\n1,30,,,nan\n"
    )


def test_metrics_without_an_epoch_belong_to_the_next_epoch_that_is_logged(tmp_path: Path) -> None:
    logger = MetricsCsv(tmp_path)
    log(logger, {"lr": 0.5})
    log(logger, {"epoch": 0, "loss": 1.0})
    log(logger, {"late": 2.0})
    logger.finalize("success")
    assert rows_of(tmp_path) == [{"epoch": "0", "step": "", "lr": "0.5", "loss": "1", "late": "2"}]


def test_a_new_metric_is_on_disk_at_once_and_repeated_ones_do_not_rewrite_the_file_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = MetricsCsv(tmp_path)
    log(logger, {"epoch": 0, "loss": 5.0}, 0)
    monkeypatch.setattr(os, "fsync", lambda descriptor: pytest.fail("written again"))
    for step in range(1, 100):
        log(logger, {"epoch": 0, "loss": 5.0 - step / 100}, step)
    monkeypatch.undo()
    assert rows_of(tmp_path)[0]["loss"] == "5"
    log(logger, {"epoch": 0, "strength": 1.0}, 100)
    assert rows_of(tmp_path)[0] == {"epoch": "0", "step": "100", "loss": "4.01", "strength": "1"}


def test_what_a_checkpoint_follows_is_on_disk(tmp_path: Path) -> None:
    logger = MetricsCsv(tmp_path)
    log(logger, {"epoch": 0, "loss": 5.0}, 0)
    log(logger, {"epoch": 0, "loss": 4.0}, 1)
    logger.after_save_checkpoint(None)
    assert rows_of(tmp_path)[0]["loss"] == "4"


def test_resume_drops_the_rows_that_are_done_again_and_keeps_the_columns(tmp_path: Path) -> None:
    first = MetricsCsv(tmp_path)
    for epoch in range(3):
        log(first, {"epoch": epoch, "loss": 3.0 - epoch, "extra": 1})
    second = MetricsCsv(tmp_path)
    second.resume(2)
    log(second, {"epoch": 2, "loss": 0.25})
    rows = rows_of(tmp_path)
    assert [row["loss"] for row in rows] == ["3", "2", "0.25"]
    assert [row["extra"] for row in rows] == ["1", "1", ""]


def test_a_write_that_fails_midway_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logger = MetricsCsv(tmp_path)
    log(logger, {"epoch": 0, "loss": 5.0})
    before = (tmp_path / "metrics.csv").read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        log(logger, {"epoch": 1, "loss": 4.0})
    assert (tmp_path / "metrics.csv").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["metrics.csv"]


def test_a_file_that_is_no_table_of_metrics_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("epoch,loss\nfirst,1\n")
    with pytest.raises(UsageError, match="metrics.csv line 2"):
        MetricsCsv(tmp_path)


@pytest.mark.row("A24")
def test_the_row_in_a_checkpoint_holds_what_its_epoch_logged_and_no_more(tmp_path: Path) -> None:
    """Lightning remembers the strength of an earlier epoch, which a resumed run would take for this one's."""
    phase = EvaluationPhase(Evaluation("strength", lambda final: {"score": 0.5}, 3), PhaseClock(None), Display())
    latest = LatestRow(MetricsCsv(tmp_path))
    rows: list[dict[str, float]] = []

    class Keep(L.Callback):
        def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
            rows.append(latest.state_dict()["row"])

    fit(5, [phase, latest, Keep()])
    assert ["strength.score" in row for row in rows] == [False, False, True, False, True]
    assert all("train.loss" in row for row in rows)


@pytest.mark.row("A24")
def test_a_row_that_was_only_begun_before_a_kill_is_made_whole_from_the_checkpoint(tmp_path: Path) -> None:
    """Validation is logged before the checkpoint, training after it."""
    log(MetricsCsv(tmp_path), {"epoch": 0, "val.loss": 0.5})
    table = MetricsCsv(tmp_path)
    latest = LatestRow(table)
    latest.load_state_dict({"row": {"epoch": 0, "step": 8, "val.loss": 0.5, "train.loss": 0.25}})
    latest.on_fit_start(None, None)  # type: ignore[arg-type]  # neither is looked at
    assert (tmp_path / "metrics.csv").read_text() == "epoch,step,val.loss,train.loss\n0,8,0.5,0.25\n"
