"""`hexlit train` end to end: what a run costs,
what it may cost, and the best epoch that it ends with.
"""

import math
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from omegaconf import DictConfig, OmegaConf

from hexlit.accelerate.profile import build_profile
from hexlit.arena.ratings import NEARLY, macs_to_perfect
from hexlit.arena.strength import Strength, evaluation_batch
from hexlit.commands.application import typed
from hexlit.nets.tower import forward_flops
from hexlit.selfplay.placement import EvaluatorHost, weights_of
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.config import HexTrainConfig
from tests.commands.test_train import Run, same_weights, train

EARLY = ("trainer.max_epochs=12", "trainer.patience=2", "trainer.ema_decay=0.5")


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that ends early."""
    return train(tmp_path_factory.mktemp("early"), *EARLY)


def strength_of(run: Run, name: str, *, final: bool) -> dict[str, Any]:
    """The run's measurement of one of its checkpoints."""
    composed = OmegaConf.merge(
        OmegaConf.structured(HexTrainConfig), OmegaConf.load(run.folder / ".hydra" / "config.yaml")
    )
    config = typed(cast(DictConfig, composed), HexTrainConfig)
    profile = build_profile(config.accelerator)
    batch = evaluation_batch(config.evaluation, 3, profile.evaluation_batch)
    net = load_network(run.folder / "checkpoints" / name).net
    host = EvaluatorHost(net.config, size=3, swap=False, batch=batch, profile=profile)
    strength = Strength(config.evaluation, config.search, size=3, swap=False, batch=batch)
    return dict(strength.measure(host.refreshed(weights_of(net)), final=final))


def test_the_cost_of_a_run_is_its_evaluations_and_its_examples(early: Run) -> None:
    """Of every epoch, and of the whole run; the strength that is measured costs nothing."""
    forward, total = (
        forward_flops(load_network(early.folder / "checkpoints" / "last.ckpt").net.config, 3),
        0,
    )
    evaluations = [
        int(row["evaluations"]) for row in early.table("phases.csv") if row["phase"] == "selfplay"
    ]
    examples = [int(row["examples"]) for row in early.table("steps.csv")]
    rows = early.table("metrics.csv")
    for row, evaluated, seen in zip(rows, evaluations, examples, strict=True):
        total += forward * (evaluated + 3 * seen)
        assert float(row["cost.flops"]) == pytest.approx(total, rel=1e-6)
    cost = early.summary["cost"]
    assert isinstance(cost, dict)
    assert cost["flops"] == total > 0
    seconds = [float(row["cost.seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    assert 0 < seconds[-1] <= cost["wall_seconds"]


def test_the_rate_and_the_comparable_loss_of_every_epoch_are_in_the_metrics(early: Run) -> None:
    """The rate is that of the epoch's last step, of a hundred that warm up."""
    steps = 0
    for number, (row, times) in enumerate(
        zip(early.table("metrics.csv"), early.table("steps.csv"), strict=True)
    ):
        policy, value = float(row["train.policy_loss"]), float(row["train.value_loss"])
        assert float(row["train.comparable_loss"]) == pytest.approx(
            0.14 * policy + 0.86 * value, rel=1e-4
        )
        steps += int(times["steps"])
        cosine = 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * number / 12))
        assert float(row["train.lr"]) == pytest.approx(1.5e-2 * steps / 101 * cosine, rel=1e-4)


def test_a_run_that_ended_early_is_summed_up_by_its_best_epoch(early: Run) -> None:
    """Measured with all positions, by the weights of `best.ckpt`,
    whose recorded score comes out again.
    """
    rows, best = early.table("metrics.csv"), early.summary["best"]
    assert isinstance(best, dict)
    scores = [float(row["strength.score"]) for row in rows]
    assert len(rows) == early.summary["epochs"] == best["epoch"] + 3
    assert (best["monitor"], best["restored"]) == ("strength.score", True)
    assert (best["value"], best["epoch"]) == (
        pytest.approx(max(scores), abs=1e-6),
        scores.index(max(scores)),
    )
    saved = torch.load(early.folder / "checkpoints" / "best.ckpt", weights_only=True)
    assert saved["epoch"] == best["epoch"]
    quick = strength_of(early, "best.ckpt", final=False)
    recorded = rows[best["epoch"]]
    for name in ("score", "openings_right", "search_optimality", "policy_optimality"):
        assert quick[name] == pytest.approx(float(recorded[f"strength.{name}"]), abs=1e-6)
    found = strength_of(early, "best.ckpt", final=True)
    summed = cast(dict[str, Any], early.summary["strength"])
    numbers = [name for name, value in found.items() if isinstance(value, float)]
    assert {name: summed[name] for name in numbers} == pytest.approx(
        {name: found[name] for name in numbers}, abs=1e-6
    )


@pytest.mark.slow  # several whole runs
def test_runs_of_equal_operations_end_alike_whatever_they_are_allowed_beside(
    early: Run, tmp_path: Path
) -> None:
    """The budget decides how many epochs there are, and the learning rate falls with it."""
    spent = [float(row["cost.flops"]) for row in early.table("metrics.csv")]
    limit = spent[1] + 0.5 * (spent[2] - spent[1])
    overrides = [
        f"trainer.max_flops={limit:.0f}",
        "evaluation.every_epochs=100",
        "selfplay.workers=2",
    ]
    runs = []
    for epochs in (1000, 5000):
        (tmp_path / str(epochs)).mkdir()
        runs.append(train(tmp_path / str(epochs), *overrides, f"trainer.max_epochs={epochs}"))
    for run in runs:
        rows = run.table("metrics.csv")
        assert 1 <= len(rows) < 5
        costs = [0.0, *(float(row["cost.flops"]) for row in rows)]
        assert costs[-1] <= limit or len(rows) == 1
        assert 2 * costs[-1] - costs[-2] > limit
        assert run.summary["strength"], "the last epoch is measured, whenever it comes"
    assert same_weights(*runs)


def test_a_finished_budget_is_not_exceeded_by_resuming(tmp_path: Path) -> None:
    """No epoch more, and no games for one."""
    run = train(tmp_path, "trainer.max_flops=1", "trainer.max_epochs=9")
    games, cost = run.summary["games"], cast(dict[str, Any], run.summary["cost"])
    again = train(tmp_path, "trainer.max_flops=1", "trainer.max_epochs=9", f"resume={run.folder}")
    assert again.summary["epochs"] == len(again.table("metrics.csv")) == 1
    assert again.summary["games"] == len(again.games) == games
    assert cast(dict[str, Any], again.summary["cost"])["flops"] == cost["flops"]


def test_the_way_to_perfect_play_is_counted_to_the_first_evaluation_near_it(tmp_path: Path) -> None:
    """Over a resumption, too. On 3×3 sixty-four simulations soon play all but perfectly."""
    settings = ("evaluation.perfect_pairs=12", "evaluation.simulations=300", "trainer.max_epochs=6")
    run = train(tmp_path, *settings, "trainer.max_flops=1")
    train(tmp_path, "resume=run", "trainer.max_flops=null", base=())
    rows = [row for row in run.table("metrics.csv") if row["strength.elo_to_perfect"]]
    assert len(rows) == 6
    near = [float(row["strength.elo_to_perfect"]) >= -NEARLY for row in rows]
    assert any(near)
    first = near.index(True)
    macs = [float(row["cost.actor_macs"]) for row in rows]
    ways = [float(row["strength.macs_to_perfect"]) for row in rows]
    assert ways[first:] == pytest.approx([macs[first]] * (6 - first))
    for row, spent, way in zip(rows[:first], macs, ways, strict=False):
        assert way == pytest.approx(
            macs_to_perfect(spent, float(row["strength.elo_to_perfect"])), rel=1e-4
        )


def test_the_way_to_perfect_play_may_be_measured_late(tmp_path: Path) -> None:
    """The rows of earlier epochs have no such column."""
    rare = ("evaluation.perfect_pairs=2", "evaluation.every_epochs=2", "trainer.max_epochs=2")
    assert float(train(tmp_path, *rare).table("metrics.csv")[1]["strength.macs_to_perfect"]) > 0
