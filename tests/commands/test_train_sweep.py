"""`hexlit train --multirun sweep=...`, with real trainings on a tiny board."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
from omegaconf import OmegaConf
from optuna.trial import FrozenTrial

from hexlit.commands.train import main
from hexlit.tuning.storage import open_storage
from tests.commands.preloaded import HEXLIT, run_apart
from tests.commands.test_train import as_a_process
from tests.commands.tiny import TINY
from tests.tables import rows_of
from tests.wandb_records import offline_runs

POINTS = "optimizer.lr=0.003,0.03"


@dataclass(frozen=True)
class Sweep:
    """The folder of a sweep."""

    folder: Path

    @property
    def trials(self) -> list[FrozenTrial]:
        study = optuna.load_study(study_name=None, storage=open_storage(None, self.folder))
        return sorted(study.get_trials(), key=lambda trial: str(trial.params))

    def results(self, trial: FrozenTrial) -> dict[str, Any]:
        """Everything of a trial that no clock has a part in."""
        folder = self.folder / trial.user_attrs["folder"]
        rows = rows_of(folder / "metrics.csv")
        timed = ("seconds", "per_second", "memory.", "share")
        plain = [
            {k: v for k, v in row.items() if not any(word in k for word in timed)} for row in rows
        ]
        weights = torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
        return {
            "values": trial.values,
            "metrics": plain,
            "weights": {k: v.tolist() for k, v in weights.items()},
        }


def sweep(folder: Path, *overrides: str) -> Sweep:
    """A sweep of two points."""
    tiny = [
        override
        for override in TINY
        if not override.startswith(("accelerator.threads", "logger=", "optimizer.lr="))
    ]
    fixed = [
        "--multirun",
        "hydra/sweeper=optuna",
        "hydra/sweeper/sampler=grid",
        "hydra.sweep.dir=sweep",
        POINTS,
    ]
    done = run_apart(HEXLIT, "train", *fixed, *tiny, *overrides, folder=folder)
    assert done.returncode == 0, done.stderr
    return Sweep(folder / "sweep")


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return sweep(
        tmp_path_factory.mktemp("sweep"), "accelerator.threads=1", "logger.wandb.project=tiny"
    )


@pytest.mark.slow
def test_a_training_comes_to_the_same_beside_another(side_by_side: Sweep, tmp_path: Path) -> None:
    """On a CPU with the same threads, every metric and every weight. Both say how long all took."""
    alone = sweep(tmp_path, "accelerator.threads=1", "hydra.sweeper.n_jobs=1", "logger=csv")
    assert [trial.params for trial in alone.trials] == [
        trial.params for trial in side_by_side.trials
    ]
    for one, other in zip(alone.trials, side_by_side.trials, strict=True):
        assert alone.results(one) == side_by_side.results(other)
    results = [
        json.loads((one.folder / "overall_results.json").read_text())
        for one in (alone, side_by_side)
    ]
    assert [one["n_jobs"] for one in results] == [1, 2]
    assert all(one["seconds"] > 0 for one in results)


def test_every_trial_is_a_run_and_the_sweep_another_of_the_same_group(side_by_side: Sweep) -> None:
    """W&B: one group; trials with their overrides,
    state and value; one run that sums the sweep up.
    """
    *trials, summed = sorted(offline_runs(side_by_side.folder), key=lambda run: run.kind == "sweep")
    assert len({run.id for run in trials}) == len(trials) == len(side_by_side.trials) == 2
    assert {run.group for run in (*trials, summed)} == {"hex5-sweep"}
    assert {run.kind for run in trials} == {"trial"}
    runs = {run.config["trial"]: run for run in trials}
    for trial in side_by_side.trials:
        run = runs[trial.number]
        assert f"optimizer.lr={trial.params['optimizer.lr']}" in run.config["overrides"]
        assert run.config["optimizer"]["lr"] == trial.params["optimizer.lr"]
        assert run.summary["state"] == "complete"
        assert run.summary["objective_value"] == pytest.approx(trial.value)
        assert {artifact["type"] for artifact in run.artifacts} == {"run_table"}, (
            "checkpoints of trials stay here"
        )
    assert sorted(row["sweep/trial"] for row in summed.rows) == [0, 1]
    assert summed.rows[-1]["sweep/best"] == max(
        float(trial.value or 0) for trial in side_by_side.trials
    )
    assert summed.media("table-file") == {"sweep/trials": [1]}
    assert summed.summary["counts"]["complete"] == 2
    assert summed.summary["best"]["values"][0] == summed.rows[-1]["sweep/best"]
    made = next(artifact for artifact in summed.artifacts if artifact["type"] == "sweep")
    assert set(made["files"]) == {"overall_results.json", "leaderboard.csv", "best.yaml"}
    assert summed.axes["*"] == "sweep/trial"


def test_the_best_trial_is_trained_in_full(side_by_side: Sweep, tmp_path: Path) -> None:
    """With what was found, and without the trial's budget."""
    with as_a_process(tmp_path):
        code = main(
            [
                f"+best={side_by_side.folder}",
                "trainer.max_epochs=1",
                "hydra.run.dir=run",
                "logger=csv",
            ]
        )
    assert code == 0
    config = OmegaConf.load(tmp_path / "run" / ".hydra" / "config.yaml")
    best = max(side_by_side.trials, key=lambda trial: float(trial.value or 0))
    assert config.optimizer.lr == best.params["optimizer.lr"]
    assert config.board == 3
    assert config.trainer.max_epochs == 1
    assert config.best == str(side_by_side.folder)
    kept = OmegaConf.load(side_by_side.folder / "best.yaml")
    assert kept.left_out == ["trainer.max_epochs=2"]


def test_a_pruned_training_leaves_whole_files(tmp_path: Path) -> None:
    """Soft: the epoch ends, checkpoints and tables are written, and W&B is told."""
    pruner = [
        "hydra/sweeper/pruner=threshold",
        "hydra.sweeper.pruner.lower=2",
        "hydra.sweeper.pruner.n_warmup_steps=0",
    ]
    tiny = [override for override in TINY if not override.startswith("logger=")]
    fixed = [
        "--multirun",
        "hydra/sweeper=optuna",
        "hydra.sweep.dir=sweep",
        "optimizer.lr=interval(0.001,0.01)",
    ]
    command = ["train", *fixed, *tiny, *pruner, "hydra.sweeper.n_trials=1"]
    assert run_apart(HEXLIT, *command, folder=tmp_path).returncode == 2, "none came to its end"
    pruned = Sweep(tmp_path / "sweep")
    [trial] = pruned.trials
    assert trial.state.name == "PRUNED"
    assert len(pruned.results(trial)["metrics"]) == 1
    assert json.loads((pruned.folder / "trial-000" / "summary.json").read_text())["epochs"] == 1
    assert offline_runs(pruned.folder / "trial-000")[0].summary["state"] == "pruned"
    assert not list(pruned.folder.rglob("*.tmp"))


@pytest.mark.slow
def test_an_objective_that_no_epoch_logs_ends_the_trial_after_the_first(tmp_path: Path) -> None:
    asked = ["sweep.objective=train.los", "hydra.sweeper.direction=minimize"]
    fixed = ["hydra/sweeper=optuna", "hydra.sweep.dir=sweep", POINTS, "hydra.sweeper.n_trials=1"]
    done = run_apart(HEXLIT, "train", "--multirun", *TINY, *fixed, *asked, folder=tmp_path)
    assert done.returncode == 2
    assert "sweep.objective=train.los: no epoch logs such a metric" in done.stderr
    epochs = (tmp_path / "sweep" / "trial-000" / "metrics.csv").read_text().splitlines()[1:]
    assert len(epochs) < 2
