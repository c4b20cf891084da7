"""`best.yaml`: the best trial, and how to train like it."""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from optuna.distributions import IntDistribution

from hexlit.tuning.result_files import write_results
from tests.tuning.sweeps import Made, complete, failed, losses, make_job, make_sweep, pruned

FIXED = [
    "experiment=hex7",
    "+sweep=lr",
    "sweep.n_trials=20",
    "sweep@_global_=lr",
    "hydra/sweeper=optuna",
    "hydra.sweeper.n_jobs=2",
    "trainer.max_epochs=6",
    "++trainer.max_time=00:01:00",
    "optimizer.lr=0.5",
    "accelerator.threads=2",
    "~logger",
]


def written(folder: Path) -> dict[str, Any]:
    write_results(folder, figures=False)
    found = OmegaConf.to_container(OmegaConf.load(folder / "best.yaml"))
    assert isinstance(found, dict)
    return {str(key): value for key, value in found.items()}


@pytest.mark.row("D11")
def test_the_best_trial_is_written_with_what_trains_like_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    attrs = {"overrides": ["experiment=hex7", "trainer.max_epochs=6", "optimizer.lr=1e-3", "accelerator.threads=1"]}
    trials = [complete(0.3), complete(0.8, params={"optimizer.lr": 0.001}, attrs=attrs)]
    folder = make_sweep(Path("runs/hex7/s"), trials, overrides=FIXED)
    assert written(folder) == {
        "trial": 1,
        "value": 0.8,
        "objective": "strength.score",
        "params": {"optimizer.lr": 0.001},
        "overrides": ["experiment=hex7", "accelerator.threads=2", "~logger", "optimizer.lr=1e-3"],
        "left_out": ["trainer.max_epochs=6", "++trainer.max_time=00:01:00"],
    }
    assert (folder / "best.yaml").read_text().splitlines()[0] == "# hexlit train +best=runs/hex7/s"


def test_a_budget_that_was_sampled_is_kept(tmp_path: Path) -> None:
    epochs = IntDistribution(1, 50)
    made = complete(0.3, params={"trainer.max_epochs": 7}, distributions={"trainer.max_epochs": epochs})
    found = written(make_sweep(tmp_path / "s", [made], overrides=["trainer.max_epochs=3"]))
    assert (found["overrides"], found["left_out"]) == (["trainer.max_epochs=7"], [])


def test_the_comparable_loss_that_ranks_is_there(tmp_path: Path) -> None:
    trials = [complete(1.0, metrics=losses([1.0], [0.9])), complete(3.0, metrics=losses([1.0], [0.2]))]
    found = written(make_sweep(tmp_path / "s", trials, {"train.loss": "minimize"}))
    assert (found["trial"], found["value"]) == (1, 3.0)
    assert found["comparable"] == pytest.approx(0.14 + 0.86 * 0.2)


def test_of_several_objectives_the_best_in_the_first_is_taken(tmp_path: Path) -> None:
    trials = [Made(values=(0.5, 1.0)), Made(values=(0.9, 9.0)), Made(values=(0.2, 8.0))]
    found = written(make_sweep(tmp_path / "s", trials, {"strength.score": "maximize", "seconds": "minimize"}))
    assert (found["trial"], found["values"], found["objective"]) == (1, [0.9, 9.0], ["strength.score", "seconds"])


def test_without_a_success_an_old_file_goes(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", [failed(), pruned()])
    (folder / "best.yaml").write_text("trial: 3\n")
    write_results(folder, figures=False)
    assert not (folder / "best.yaml").exists()


def test_a_job_of_a_plain_multirun_is_repeated_with_all_its_overrides(tmp_path: Path) -> None:
    for number in range(2):
        overrides = [f"seed={number}", "net=tiny", "trainer.max_epochs=2"]
        make_job(tmp_path / "s", number, overrides, strength__score=[0.5 + number])
    (tmp_path / "s" / "multirun.yaml").write_text("hydra: {overrides: {task: ['seed=0,1', net=tiny]}}")
    found = written(tmp_path / "s")
    assert (found["trial"], found["overrides"]) == (1, ["net=tiny", "seed=1"])
