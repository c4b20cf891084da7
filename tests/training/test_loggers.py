"""Loggers: Weights & Biases offline unless asked, never a prompt, never a hang."""

import os
from pathlib import Path
from typing import Any

import pytest

from hexlit.tracking.metric_names import Metric, MetricTable
from hexlit.training.config import LoggerConfig
from hexlit.training.loggers import WandbRows, build_loggers, close_loggers
from tests.commands.preloaded import run_apart
from tests.wandb_records import offline_runs

pytestmark = pytest.mark.usefixtures("no_account")

CONF = Path(__file__).parents[2] / "conf" / "logger"
NAMES = MetricTable()


def wandb_of(
    config: LoggerConfig, folder: Path, names: MetricTable = NAMES, **description: Any
) -> WandbRows:
    (rows,) = build_loggers(config, folder, names, name="run", kind="train", **description)
    assert isinstance(rows, WandbRows)
    return rows


def test_two_offline_runs_in_one_process_get_their_own_and_the_environment_stays(
    tmp_path: Path,
) -> None:
    before = os.environ.get("WANDB_MODE")
    for number in range(2):
        folder = tmp_path / f"run{number}"
        rows = wandb_of(LoggerConfig(), folder)
        rows.log_metrics({"epoch": 0, "train/loss": float(number)}, step=1)
        close_loggers([rows])
        (run,) = offline_runs(folder)
        assert run.id == rows.version
        assert [row["train/loss"] for row in run.rows] == [number]
    assert len({run.id for run in offline_runs(tmp_path)}) == 2
    assert os.environ.get("WANDB_MODE") == before


def test_nothing_imports_wandb_where_only_the_table_is_asked_for(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from hexlit.training.loggers import *\n"
        "from hexlit.training.run import run\n"
        "from hexlit.training.config import *\n"
        "built = build_loggers(LoggerConfig(wandb=WandbConfig(mode='disabled')), Path(sys.argv[1]), MetricTable())\n"
        "close_loggers(built)\n"
        "sys.exit('wandb' in sys.modules)\n"
    )
    done = run_apart(program, str(tmp_path), folder=CONF.parents[1], seconds=120)
    assert done.returncode == 0


def test_an_epoch_is_a_row_under_grouped_names_over_all_axes(tmp_path: Path) -> None:
    """One table maps the dots of metrics.csv to groups."""
    names = MetricTable([Metric("made.units", axis=True)])
    rows = wandb_of(LoggerConfig(), tmp_path, names, facts={"a": {"b": 1}}, tags=["x"])
    for epoch in range(2):
        first = {"epoch": float(epoch), "train/loss": 2.0 - epoch, "made.units": 10.0 * (epoch + 1)}
        rows.log_metrics(first, step=3 * epoch)
        rows.log_metrics({"epoch": float(epoch), "cost.seconds": 5.0 + epoch}, step=3 * epoch)
    close_loggers([rows])
    (run,) = offline_runs(tmp_path)
    told = ("_step", "epoch", "train/step", "made/units", "train/loss", "time/wall_seconds")
    assert [[row[name] for name in told] for row in run.rows] == [
        [0, 0, 0, 10, 2, 5],
        [1, 1, 3, 20, 1, 6],
    ]
    assert set(run.axes.items()) >= {
        ("made/units", "epoch"),
        ("time/wall_seconds", "epoch"),
        ("*", "epoch"),
    }
    assert run.summary["train/loss"] == {"min": 1, "last": 1}
    assert (run.config, run.tags) == ({"a": {"b": 1}}, ("x",))


def test_the_best_is_that_of_all_sessions_of_a_run(tmp_path: Path) -> None:
    values: list[float] = []
    for session, losses in enumerate(([3.0, 1.0], [2.0])):
        rows = wandb_of(LoggerConfig(), tmp_path, resumed=session > 0)
        for number, loss in enumerate(losses):
            rows.log_metrics({"epoch": 2 * session + number, "val.loss": loss}, step=1)
        values += losses
        rows.note_best({"val.loss": values, "val.none": []})
        close_loggers([rows])
    first, second = offline_runs(tmp_path)
    assert first.id == second.id
    assert first.summary["val/loss"] == {"min": 1, "last": 1}
    assert second.summary["val/loss"] == {"min": 1, "last": 2}


def test_no_prompt_with_stdin_closed_and_no_noise(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from hexlit.training.loggers import *\n"
        "from hexlit.training.config import *\n"
        "config = LoggerConfig(wandb=WandbConfig(mode='online'))\n"
        "built = build_loggers(config, Path(sys.argv[1]), MetricTable(), name='run', kind='train')\n"
        "built[0].log_metrics({'epoch': 0, 'loss': 1.0}, step=1)\n"
        "close_loggers(built)\n"
    )
    done = run_apart(program, str(tmp_path), folder=CONF.parents[1], seconds=120)
    assert done.returncode == 0, done.stderr
    assert len(offline_runs(tmp_path)) == 1
    assert done.stdout == ""
    assert "no API key was found" in done.stderr
    assert "wandb:" not in done.stderr
