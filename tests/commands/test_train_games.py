"""`hexlit train` on recorded games: validation,
the six experiments, and the way on to self-play.
"""

from pathlib import Path

import lightning as L
import pytest
import torch
from torch import Tensor

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.config import DataConfig, HexTrainConfig
from hexlit.tasks.hex.data import GamesDataModule
from hexlit.training.evaluation import EarlyStopping
from tests.commands.recorded import save_games
from tests.commands.test_train import Run, same_weights, train
from tests.commands.tiny import TINY

ON_GAMES = [override for override in TINY if not override.startswith("selfplay.")]
LONG = (
    *("accelerator.precision=32-true", "optimizer.lr=0.05", "optimizer.warmup_steps=0"),
    *("trainer.max_epochs=30", "trainer.patience=2"),
)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_games(tmp_path_factory.mktemp("recorded") / "games")


def supervised(folder: Path, games: Path, *overrides: str) -> Run:
    """A tiny run on recorded games."""
    settings = ("experiment=balanced_weights", f"data.path={games}", "evaluation.every_epochs=0")
    return train(folder, *settings, *overrides, base=ON_GAMES)


ENDED_WITH: dict[str, Tensor] = {}
"""The weights that the run of `learned` had at its end."""


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory, games: Path) -> Run:
    """A run that continues beyond its best epoch and returns to it."""
    end = EarlyStopping.on_fit_end

    def keep(stopping: EarlyStopping, trainer: L.Trainer, module: L.LightningModule) -> None:
        end(stopping, trainer, module)
        ENDED_WITH.update({name: tensor.clone() for name, tensor in module.state_dict().items()})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EarlyStopping, "on_fit_end", keep)
        return supervised(tmp_path_factory.mktemp("learned"), games, *LONG)


def test_a_run_without_self_play_names_no_engine_of_it(learned: Run) -> None:
    assert "self-play" not in str(learned.summary["device"])


def weights_of(run: Run, name: str) -> dict[str, Tensor]:
    """Of a checkpoint of `run`."""
    state: dict[str, Tensor] = torch.load(
        run.folder / "checkpoints" / f"{name}.ckpt", weights_only=True
    )["state_dict"]
    return state


def validated(run: Run, games: Path, name: str) -> dict[str, float]:
    """Losses of a checkpoint of `run` on the games held out,
    by the formulas written out for all positions at once.
    """
    profile = build_profile(AcceleratorConfig(device="cpu", threads=1))
    cache = run.folder.parent / "cache"
    config = HexTrainConfig(board=3, seed=0, data=DataConfig(source="games", path=str(games)))
    data = GamesDataModule(config, profile, cache)
    batches = list(data.val_dataloader())
    planes = torch.cat([batch.planes for batch in batches])
    policy = torch.cat([batch.policy for batch in batches])
    value = torch.cat([batch.value for batch in batches])
    net = load_network(run.folder / "checkpoints" / f"{name}.ckpt").net.eval()
    with torch.no_grad():
        output = net(planes.float())
    taken = (planes[:, 0] + planes[:, 1]).flatten(1) > 0
    chances = output.policy_logits[:, :9].masked_fill(taken, -torch.inf).softmax(1)
    played = (chances * policy).sum(1)
    wins = (1 + torch.tanh(output.value_logit)) / 2
    result = torch.where(value > 0, wins, 1 - wins)
    right = chances.argmax(1) == policy.argmax(1)
    return {
        "policy_loss": float(-played.log().mean()),
        "value_loss": float(-result.log().mean()),
        "top1_accuracy": float(right.float().mean()),
    }


def test_a_run_on_recorded_games_validates_every_epoch_and_ends_three_after_its_best(
    learned: Run,
) -> None:
    rows = learned.table("metrics.csv")
    losses = [float(row["val.loss"]) for row in rows]
    best = learned.summary["best"]
    assert isinstance(best, dict)
    assert best["epoch"] == losses.index(min(losses))
    assert len(rows) == best["epoch"] + 3 < 30
    assert best["restored"] is True
    found = learned.summary["val"]
    assert isinstance(found, dict)
    for name, value in found.items():
        assert float(rows[best["epoch"]][f"val.{name}"]) == pytest.approx(value, rel=1e-5)
    assert set(found) == {
        *("loss", "comparable_loss", "policy_loss", "value_loss", "top1_accuracy", "top5_accuracy"),
        *(f"value_{name}" for name in ("brier", "log_loss", "calibration_error", "sign_accuracy")),
    }
    assert 0 < found["top1_accuracy"] < found["top5_accuracy"] <= 1


def test_it_ends_with_the_weights_of_its_best_epoch_whose_losses_are_those_on_record(
    learned: Run, games: Path
) -> None:
    """Looked for in the checkpoint, on the held out games, by formulas of the test's own."""
    best, last = weights_of(learned, "best"), weights_of(learned, "last")
    assert all(torch.equal(tensor, ENDED_WITH[name]) for name, tensor in best.items())
    assert not all(torch.equal(tensor, ENDED_WITH[name]) for name, tensor in last.items())
    rows = learned.table("metrics.csv")
    losses = [float(row["val.loss"]) for row in rows]
    for name, row in (("best", rows[losses.index(min(losses))]), ("last", rows[-1])):
        found = validated(learned, games, name)
        assert {key: float(row[f"val.{key}"]) for key in found} == pytest.approx(found, rel=1e-4)
        loss = 0.5 * found["policy_loss"] + 0.5 * found["value_loss"]
        assert float(row["val.loss"]) == pytest.approx(loss, rel=1e-4)
        comparable = 0.14 * found["policy_loss"] + 0.86 * found["value_loss"]
        assert float(row["val.comparable_loss"]) == pytest.approx(comparable, rel=1e-4)


def test_self_play_begins_with_a_network_that_was_trained_on_games(
    learned: Run, tmp_path: Path
) -> None:
    run = train(
        tmp_path, f"init_from={learned.folder}", "optimizer.lr=1e-12", "trainer.max_epochs=1"
    )
    begun = torch.load(run.folder / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
    given = torch.load(learned.folder / "checkpoints" / "best.ckpt", weights_only=True)[
        "state_dict"
    ]
    moved = [name for name in given if "running" not in name and "num_batches" not in name]
    assert all(torch.allclose(begun[name], given[name], atol=1e-6) for name in moved)


def test_imported_games_are_mixed_into_self_play(games: Path, tmp_path: Path) -> None:
    run = train(tmp_path, f"data.path={games}", "data.mix_share=0.5")
    (tmp_path / "plain").mkdir()
    plain = train(tmp_path / "plain")
    assert [row["steps"] for row in run.table("steps.csv")] == [
        row["steps"] for row in plain.table("steps.csv")
    ]
    assert run.table("metrics.csv")[0]["train.loss"] != plain.table("metrics.csv")[0]["train.loss"]
    assert not same_weights(run, plain)
