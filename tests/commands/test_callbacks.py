"""Callbacks of one's own, named on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from hexlit.commands.train import main
from tests.commands.tiny import TINY
from tests.tables import rows_of

MODULE = """
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping

class WeightNorm(L.Callback):
    def __init__(self, power=2.0):
        self.power = power

    def on_train_epoch_end(self, trainer, pl_module):
        norm = sum(float(p.detach().norm(self.power)) for p in pl_module.net.parameters())
        pl_module.log("mine.norm", norm)


class Fails(L.Callback):
    def __init__(self, what, at_once=False):
        self.error = {"type": TypeError("mine"), "file": FileNotFoundError(2, "mine", "mine.txt")}[what]
        if at_once:
            raise self.error

    def on_train_start(self, trainer, pl_module):
        if isinstance(self.error, TypeError):
            b"\\xff".decode()
        raise self.error


class Stops(EarlyStopping):
    def __init__(self):
        super().__init__("train.loss")

    def on_train_epoch_end(self, trainer, pl_module):
        trainer.should_stop = True
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_callbacks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def test_its_figures_are_columns_of_the_metrics_and_its_arguments_are_settings() -> None:
    mine = ["+callbacks.mine._target_=my_callbacks.WeightNorm", "+callbacks.mine.power=1.0"]
    assert main([*TINY, "trainer.max_epochs=1", *mine, "hydra.run.dir=run"]) == 0
    (row,) = rows_of(Path("run/metrics.csv"))
    assert float(row["mine.norm"]) > 0


def summary_of(run: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return summary


def test_a_run_that_it_ends_has_the_final_figures() -> None:
    stops = ["+callbacks.mine._target_=my_callbacks.Stops"]
    assert main([*TINY, "trainer.max_epochs=3", *stops, "hydra.run.dir=run"]) == 0
    summary = summary_of(Path("run"))
    assert (summary["epochs"], summary["ending"]["why"]) == (1, "stopped")
    assert summary["strength"]["positions"] == 20, "not the 10 of an evaluation between"


def test_its_figure_decides_the_best_epoch() -> None:
    """It is logged after the hooks of the run."""
    mine = [
        "+callbacks.mine._target_=my_callbacks.WeightNorm",
        "trainer.monitor=mine.norm",
        "trainer.monitor_mode=max",
    ]
    assert main([*TINY, *mine, "hydra.run.dir=run"]) == 0
    norms = [float(row["mine.norm"]) for row in rows_of(Path("run/metrics.csv"))]
    best = summary_of(Path("run"))["best"]
    assert best["epoch"] == norms.index(max(norms))
    assert best["value"] == pytest.approx(max(norms))


def test_a_figure_that_it_never_logs_costs_no_result() -> None:
    """It might have come with any epoch, up to the last:
    one line after the first, and one at the end.
    """
    mine = ["+callbacks.mine._target_=my_callbacks.WeightNorm", "trainer.monitor=mine.nrom"]
    assert main([*TINY, *mine, "trainer.max_epochs=3", "hydra.run.dir=run"]) == 0
    log = Path("run/train.log").read_text()
    said = "trainer.monitor=mine.nrom: no metric of that name; did you mean mine.norm?"
    assert log.count(said) == 2
    assert log.count("a callback might log it later") == 1
    assert summary_of(Path("run"))["best"]["epoch"] is None
    assert Path("run/checkpoints/last.ckpt").exists()


@pytest.mark.parametrize("name", ["mine.norm", "train.los", "rating.elo", "elo"])
def test_a_figure_that_nothing_can_log_is_refused_after_the_first_epoch(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main([*TINY, "trainer.max_epochs=9", f"trainer.monitor={name}", "hydra.run.dir=run"]) == 2
    )
    err = capsys.readouterr().err.splitlines()
    near = "did you mean train.loss?" if name == "train.los" else "there are "
    said = f"trainer.monitor={name}: no metric of that name; {near}"
    assert said in err[-1]
    assert len(rows_of(Path("run/metrics.csv"))) <= 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["+callbacks.mine.power=1"], "callbacks.mine._target_=None: "),
        (["+callbacks.mine._target_=os.getcwd"], "callbacks.mine._target_=os.getcwd: "),
        (["+callbacks.mine._target_=pathlib.Path"], "must be a subclass of lightning.Callback"),
        (
            ["+callbacks.mine._target_=my_callbacks.Nothing"],
            "callbacks.mine._target_=my_callbacks.Nothing: ",
        ),
        (
            ["+callbacks.mine._target_=my_callbacks.WeightNorm", "+callbacks.mine.x=1"],
            "unexpected keyword argument",
        ),
    ],
)
def test_a_mistake_is_one_line(
    overrides: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TINY, "trainer.max_epochs=1", *overrides, "hydra.run.dir=run"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert message in err[-1]
    assert not any("Traceback" in line for line in err)


@pytest.mark.parametrize("more", [[], ["+callbacks.mine.at_once=true"]])
@pytest.mark.parametrize("what", ["type", "file"])
def test_a_bug_in_it_keeps_its_traceback(
    what: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    mine = ["+callbacks.mine._target_=my_callbacks.Fails", f"+callbacks.mine.what={what}"]
    assert main([*TINY, "trainer.max_epochs=1", *mine, *more, "hydra.run.dir=run"]) == 1
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert "my_callbacks.py" in err


def test_a_bug_in_its_module_keeps_its_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_broken_callbacks.py").write_text("value = {}['missing']")
    mine = ["+callbacks.mine._target_=my_broken_callbacks.Mine"]
    assert main([*TINY, "trainer.max_epochs=1", *mine, "hydra.run.dir=run"]) == 1
    assert "KeyError: 'missing'" in capsys.readouterr().err
