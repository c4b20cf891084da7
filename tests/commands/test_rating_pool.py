"""A training run that rates its networks, epoch by epoch, also when it is interrupted."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from hexlit.arena.ratings import RatingPool
from hexlit.commands.train import main
from tests.commands.test_train import Run, as_a_process, train
from tests.commands.tiny import TINY

RATED = [
    *("accelerator.threads=1", "trainer.max_epochs=4", "evaluation.pool.every_epochs=2"),
    "evaluation.pool.pairs=3",
]


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(tmp_path_factory.mktemp("rated"), *RATED)


def ratings(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run.folder / "ratings.json").read_text())
    return found


def test_a_run_rates_its_networks_and_logs_it(rated: Run) -> None:
    document = ratings(rated)
    assert [row["name"] for row in document["ratings"]] == [
        "random",
        "rollouts",
        "epoch 1",
        "epoch 3",
    ]
    assert [(row["epoch"], row["opponent"]) for row in document["results"]] == [
        (1, "random"),
        (1, "rollouts"),
        (3, "random"),
        (3, "rollouts"),
        (3, "epoch 1"),
    ]
    assert all(sum(row["pairs"]) == 3 for row in document["results"])
    rows = rated.table("metrics.csv")
    assert [row["rating.elo"] != "" for row in rows] == [False, True, False, True]
    assert float(rows[3]["rating.elo"]) == pytest.approx(document["ratings"][3]["elo"], abs=1e-3)
    assert (
        float(rows[3]["rating.elo_low"])
        <= float(rows[3]["rating.elo"])
        <= float(rows[3]["rating.elo_high"])
    )
    assert [row["epoch"] for row in rated.table("phases.csv") if row["phase"] == "rating"] == [
        "1",
        "3",
    ]
    kept = [
        torch.load(path, weights_only=True)
        for path in sorted((rated.folder / "checkpoints" / "pool").iterdir())
    ]
    assert len(kept) == 2
    last = rated.weights
    assert all(torch.equal(tensor, last[f"net.{name}"]) for name, tensor in kept[1].items())


def test_a_run_that_is_interrupted_after_a_rating_ends_with_the_same_ones(
    rated: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted before the checkpoint of that epoch: the epoch is played and rated again."""
    play = RatingPool.play

    def interrupted(pool: RatingPool, epoch: int, *others: Any) -> Any:
        rating = play(pool, epoch, *others)
        if epoch == 3:
            raise KeyboardInterrupt
        return rating

    with monkeypatch.context() as patch, as_a_process(tmp_path):
        patch.setattr(RatingPool, "play", interrupted)
        assert main([*TINY, *RATED, "hydra.run.dir=run"]) == 130
    run = Run(tmp_path / "run")
    assert len(ratings(run)["results"]) == 5
    with as_a_process(tmp_path):
        assert main([f"resume={run.folder}"]) == 0
    assert ratings(run) == ratings(rated)
