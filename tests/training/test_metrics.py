"""One row of metrics an epoch, and the file whole at every instant but for its last line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from hexlit.training.evaluation import EvaluationPhase
from hexlit.training.loggers import MetricsCsv
from hexlit.training.phases import PhaseClock
from hexlit.training.tables import EpochTable
from hexlit.training.task import Evaluation
from tests.tables import rows_of
from tests.training.test_evaluation import Display, Model, fit
from tests.training.trainers import as_they_are, quiet_trainer


class Logs(L.Callback):
    """Logs a number under each of the names in an epoch."""

    def __init__(self, *names: Sequence[str]) -> None:
        self.names = names

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        pl_module.log_dict(dict.fromkeys(self.names[trainer.current_epoch], 7.0))


class LogsLate(Model):
    """Lightning calls the module's own hook after those of most callbacks."""

    def on_train_epoch_end(self) -> None:
        self.log("late", float("nan"))


def test_an_epoch_is_a_row_with_dotted_names_and_empty_values_where_nothing_was_logged(
    tmp_path: Path,
) -> None:
    """Lightning remembers the values of earlier epochs, which the table does not repeat."""
    fit(3, [Logs([], ["strength/games"], ["a"]), MetricsCsv(tmp_path)])
    rows = rows_of(tmp_path / "metrics.csv")
    assert list(rows[0]) == ["epoch", "step", "train.loss", "strength.games", "a"]
    assert [(row["epoch"], row["step"]) for row in rows] == [("0", "2"), ("1", "5"), ("2", "8")]
    assert [row["strength.games"] for row in rows] == ["", "7", ""]
    losses = [float(row["train.loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[2]
    assert [entry.name for entry in tmp_path.iterdir()] == ["metrics.csv"]


def test_what_the_module_logs_last_is_in_the_row(tmp_path: Path) -> None:
    trainer = quiet_trainer(callbacks=[MetricsCsv(tmp_path)], enable_checkpointing=True)
    trainer.fit(LogsLate(), as_they_are([[torch.ones(4, 1)]]))
    assert rows_of(tmp_path / "metrics.csv")[0]["late"] == "nan"
    assert "late" not in MetricsCsv(tmp_path).columns()


def test_a_checkpoint_comes_after_the_row_of_its_epoch(tmp_path: Path) -> None:
    """A run killed right after it therefore has every row before it when it is resumed."""
    rows: list[int] = []

    class Checkpoints(ModelCheckpoint):
        def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
            rows.append(len(rows_of(tmp_path / "metrics.csv")))

    phase = EvaluationPhase(
        Evaluation("strength", lambda final: {"score": 0.5}, 3), PhaseClock(None), Display()
    )
    fit(5, [phase, MetricsCsv(tmp_path), Checkpoints()])
    assert rows == [1, 2, 3, 4, 5]
    assert [row["strength.score"] for row in rows_of(tmp_path / "metrics.csv")] == [
        "",
        "",
        "0.5",
        "",
        "0.5",
    ]


def test_resume_drops_the_rows_that_are_done_again_and_keeps_the_columns(tmp_path: Path) -> None:
    fit(3, [Logs(["extra"], ["extra"], []), MetricsCsv(tmp_path)])
    before = rows_of(tmp_path / "metrics.csv")
    second = MetricsCsv(tmp_path)
    second.table.resume(2)
    assert rows_of(tmp_path / "metrics.csv") == before[:2]
    assert second.columns()["epoch"] == [0, 1]


def test_a_row_is_appended_and_a_new_column_writes_the_table_anew(tmp_path: Path) -> None:
    table = EpochTable(tmp_path / "metrics.csv")
    table.append({"epoch": 0, "a": 0.1})
    files = [(tmp_path / "metrics.csv").stat().st_ino]
    rows: list[dict[str, Any]] = [{"a": 2.0}, {}, {"b": "x,y", "a": 4}, {"b": None}]
    for epoch, row in enumerate(rows, start=1):
        table.append({"epoch": epoch} | row)
        files.append((tmp_path / "metrics.csv").stat().st_ino)
    assert files[0] == files[1] == files[2] != files[3] == files[4]
    assert (tmp_path / "metrics.csv").read_text() == (
        'epoch,a,b\n0,0.1,\n1,2,\n2,,\n3,4,"x,y"\n4,,\n'
    )


def test_a_table_that_was_removed_does_not_go_on_without_its_header(tmp_path: Path) -> None:
    table = EpochTable(tmp_path / "metrics.csv")
    table.append({"epoch": 0, "a": 1.0})
    (tmp_path / "metrics.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"metrics\.csv"):
        table.append({"epoch": 1, "a": 1.0})


def test_a_line_torn_by_a_kill_is_dropped_and_its_row_written_again(tmp_path: Path) -> None:
    """Wherever the line was torn, and whether the run resumes before that epoch or not."""
    path = tmp_path / "metrics.csv"
    table = EpochTable(path)
    for epoch in range(3):
        table.append({"epoch": epoch, "a": 0.25, "b": 1000})
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        assert [row["epoch"] for row in EpochTable(path).rows] == [0, 1]
        resumed = EpochTable(path)
        resumed.append({"epoch": 2, "a": 0.25, "b": 1000})
        assert path.read_bytes() == whole
        resumed.resume(2)
        assert path.read_bytes() == whole[:start]
