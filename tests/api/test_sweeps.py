from pathlib import Path

import pytest
from optuna.distributions import FloatDistribution

import hexlit
from hexlit.api.runs import Sweep, _folder_of
from hexlit.commands import tasks
from tests.commands.tiny import TINY
from tests.tuning.sweeps import complete, failed, make_sweep, pruned


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    space = {"optimizer.lr": FloatDistribution(1e-5, 1e-1, log=True)}
    trials = [
        complete(
            0.9,
            intermediate={0: 0.5, 1: 0.9},
            end=60,
            params={"optimizer.lr": 0.01},
            distributions=space,
        ),
        complete(
            0.7,
            intermediate={0: 0.4, 1: 0.7},
            end=70,
            params={"optimizer.lr": 0.001},
            distributions=space,
        ),
        pruned(
            intermediate={0: 0.1},
            start=60,
            end=80,
            params={"optimizer.lr": 1e-4},
            distributions=space,
        ),
        failed(start=80, end=90, attrs={"failure": "out of memory"}),
    ]
    folder = make_sweep(tmp_path_factory.mktemp("sweep") / "made", trials)
    found = hexlit.load(folder)
    assert isinstance(found, Sweep)
    return found


def test_trials_are_a_data_frame_the_best_first(sweep: Sweep) -> None:
    trials = sweep.trials
    assert trials["trial"].tolist() == [0, 1, 2, 3]
    assert trials["state"].tolist() == ["complete", "complete", "pruned", "failed"]
    assert trials["optimizer.lr"].tolist()[:3] == [0.01, 0.001, 1e-4]
    assert trials["failure"].tolist()[3] == "out of memory"
    assert sweep.best == {"optimizer.lr": 0.01}


def test_a_notebook_shows_the_leaderboard_and_the_figures(sweep: Sweep) -> None:
    shown = sweep._repr_html_()
    assert "2 complete · 1 pruned · 1 failed" in shown
    assert "out of memory" in shown
    assert {"history", "intermediate", "slices", "timeline"} <= set(sweep.figures)
    assert "<svg" in sweep.figures["intermediate"]._repr_svg_()


def test_a_sweep_is_where_the_command_would_put_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    tasks.register()
    assert _folder_of(["sweep=quick"]).parent == tmp_path / "runs" / "quick"
    assert (
        _folder_of(["sweep=quick", "hydra.sweeper.study_name=mine"])
        == tmp_path / "runs" / "quick" / "mine"
    )
    assert _folder_of(["sweep=quick", "hydra.sweep.dir=here"]) == tmp_path / "here"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(hexlit.UsageError, match="sweep=NAME"):
        _folder_of(["seed=1,2"])


@pytest.mark.slow
def test_a_sweep_runs_in_processes_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    more = ["sweep=quick", "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=2"]
    swept = hexlit.sweep(*TINY, *more, quiet=True)
    assert swept.trials["state"].tolist() == ["complete", "complete"]
    assert swept.best_run.task == "hex"
