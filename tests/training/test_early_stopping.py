"""Early stopping: training ends where it no longer helps,
and the best epoch's weights come back, whole.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning as L
import pytest
import torch
from torch import Tensor, nn

from hexlit.errors import UsageError
from hexlit.training.config import TrainerConfig
from hexlit.training.evaluation import EarlyStopping, EpochCheckpoints, EvaluationPhase
from hexlit.training.phases import PhaseClock
from hexlit.training.task import Evaluation
from tests.training.test_evaluation import Display
from tests.training.test_module import Regression, batches
from tests.training.trainers import as_they_are, quiet_trainer

State = dict[str, Tensor]


def normed() -> nn.Module:
    """A layer and a batch norm."""
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))


class Keep(L.Callback):
    """The whole state after every epoch; what Python keeps is a deep copy."""

    def __init__(self) -> None:
        self.states: list[State] = []

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.states.append(
            {name: tensor.clone() for name, tensor in pl_module.state_dict().items()}
        )


def trained(
    scores: Sequence[float],
    *,
    epochs: int,
    every: int = 1,
    folder: Path | None = None,
    resume: bool = False,
    stop_after: int | None = None,
    **settings: Any,
) -> tuple[Regression, EarlyStopping, L.Trainer, list[State]]:
    """A run that is measured every so many epochs,
    to the given `scores`; its checkpoints lie in `folder`.
    """
    usual: dict[str, Any] = {"patience": 2, "ema_decay": 0.5, "gradient_clip_val": 0.0}
    watched: dict[str, Any] = {"monitor": "strength.score", "monitor_mode": "max"}
    module = Regression(layers=normed, optimizer={"name": "adamw"}, **usual | watched | settings)
    folder, config, keep = folder or Path(tempfile.mkdtemp()), module.trainer_config, Keep()
    stopping = EarlyStopping(config, folder / "best.ckpt", ["strength"])
    left = iter(scores)
    phase = EvaluationPhase(
        Evaluation("strength", lambda final: {"score": next(left)}, every),
        PhaseClock(None),
        Display(),
    )
    callbacks: list[L.Callback] = [phase, stopping, keep]
    callbacks.append(EpochCheckpoints(stopping, folder, lambda: None))
    trainer = quiet_trainer(stop_after or epochs, callbacks=callbacks, enable_checkpointing=True)
    path = folder / "last.ckpt" if resume else None
    trainer.fit(module, as_they_are(batches(3, 8)), ckpt_path=path, weights_only=True)
    return module, stopping, trainer, keep.states


def same(one: State, other: State) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_that_gets_no_better_ends_with_the_weights_of_its_best_epoch_bit_for_bit() -> None:
    """With the running average of the weights and the statistics of batch norm;
    a shallow copy would be the last's.
    """
    module, stopping, trainer, states = trained([0.5, 0.9, 0.7, 0.8, 1.0], epochs=10)
    assert trainer.current_epoch == 4
    assert (stopping.best_epoch, stopping.restored) == (1, True)
    assert same(dict(module.state_dict()), states[1])
    assert {name.rpartition(".")[2] for name in states[1]} >= {
        "weight",
        "running_var",
        "n_averaged",
    }
    changed = {name for name in states[1] if not torch.equal(states[1][name], states[3][name])}
    assert changed == set(states[1]), "else the test could not tell"
    assert stopping.summary() == {
        "monitor": "strength.score",
        "value": pytest.approx(0.9),
        "epoch": 1,
        "restored": True,
    }


@pytest.mark.parametrize(
    ("scores", "settings", "epochs", "best"),
    [
        ([0.5, 0.5, 0.5, 0.9], {}, 3, 0),
        ([0.5, float("nan"), 0.4, 0.9], {}, 3, 0),
        ([0.5, 0.4, 0.6, 0.5, 0.7, 0.1], {}, 6, 4),
        ([0.5, 0.4, 0.3, 0.4, 0.6], {"monitor_mode": "min"}, 5, 2),
        ([0.5, 0.4, 0.6, 0.5, 0.4, 0.3, 0.9], {"patience": 3}, 6, 2),
        # The best is one of the measured epochs; Lightning still knows the old value in between.
        ([0.5, 0.4, 0.3, 0.9], {"epochs": 30, "every": 3}, 9, 2),
    ],
    ids=[
        "equal is not better",
        "nan is not better",
        "never two in a row",
        "lowest",
        "patience",
        "measured ones count",
    ],
)
def test_the_best_epoch_and_the_end(
    scores: list[float], settings: dict[str, Any], epochs: int, best: int
) -> None:
    module, stopping, trainer, states = trained(scores, **{"epochs": 6} | settings)
    assert (trainer.current_epoch, stopping.best_epoch) == (epochs, best)
    assert same(dict(module.state_dict()), states[best])


def test_a_best_last_epoch_stays_and_no_patience_changes_nothing() -> None:
    module, stopping, _, states = trained([0.5, 0.9], epochs=2)
    assert (stopping.best_epoch, stopping.restored) == (1, False)
    assert same(dict(module.state_dict()), states[1])
    module, stopping, trainer, states = trained([0.9, 0.5, 0.4, 0.3], epochs=4, patience=None)
    assert (trainer.current_epoch, stopping.best_epoch, stopping.restored) == (4, 0, False)
    assert same(dict(module.state_dict()), states[3])


def test_the_best_epoch_is_the_one_of_the_best_checkpoint(tmp_path: Path) -> None:
    module, stopping, _, _ = trained([0.5, 0.9, 0.9, 0.1], epochs=9, folder=tmp_path)
    saved = torch.load(tmp_path / "best.ckpt", weights_only=True)
    assert saved["epoch"] == stopping.best_epoch == 1
    assert same(saved["state_dict"], dict(module.state_dict()))
    last = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert last["epoch"] == 3
    assert not same(last["state_dict"], dict(module.state_dict())), "which a run goes on from"


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_a_resumed_run_keeps_its_patience_and_its_best_weights(
    stop_after: int, tmp_path: Path
) -> None:
    scores = [0.5, 0.9, 0.7, 0.8]
    expected, _, _, _ = trained(scores, epochs=9)
    trained(scores, epochs=9, folder=tmp_path, stop_after=stop_after)
    module, stopping, trainer, _ = trained(
        scores[stop_after:], epochs=9, folder=tmp_path, resume=True
    )
    assert (trainer.current_epoch, stopping.best_epoch) == (4, 1)
    assert same(dict(module.state_dict()), dict(expected.state_dict()))


def test_a_resumed_run_that_had_ended_early_trains_no_further(tmp_path: Path) -> None:
    expected, _, _, _ = trained([0.5, 0.9, 0.7, 0.8], epochs=9, folder=tmp_path)
    module, stopping, trainer, states = trained([], epochs=9, folder=tmp_path, resume=True)
    assert states == []
    assert (trainer.current_epoch, stopping.restored) == (4, True)
    assert same(dict(module.state_dict()), dict(expected.state_dict()))


def test_patience_that_comes_with_a_resume_knows_the_best_epoch_before(tmp_path: Path) -> None:
    _, _, _, before = trained([0.9, 0.5], epochs=9, folder=tmp_path, stop_after=2, patience=None)
    module, stopping, trainer, _ = trained([0.3, 0.6], epochs=9, folder=tmp_path, resume=True)
    assert (trainer.current_epoch, stopping.best_epoch, stopping.restored) == (3, 0, True)
    assert same(dict(module.state_dict()), before[0])


def test_another_metric_than_before_is_refused_in_a_resumed_run(tmp_path: Path) -> None:
    trained([0.9], epochs=9, folder=tmp_path, stop_after=1)
    others: list[dict[str, Any]] = [{"monitor": "train.loss"}, {"monitor_mode": "min"}]
    for other in others:
        with pytest.raises(
            UsageError,
            match=r"started with trainer.monitor=strength.score and .*mode=max; keep them",
        ):
            trained([0.5], epochs=9, folder=tmp_path, resume=True, **other)


@pytest.mark.parametrize(
    ("monitor", "every", "after", "near"),
    [
        ("train.los", 9, 1, r"did you mean train\.loss\?"),
        ("strength.skore", 2, 2, r"did you mean strength\.score\?"),
        ("score", 9, 1, "there are .*train.loss"),
        ("mine.x", 9, 1, "there are .*train.loss"),
    ],
)
def test_a_name_that_nothing_has_is_refused_once_that_can_be_known(
    monitor: str, every: int, after: int, near: str
) -> None:
    said = rf"^trainer.monitor={monitor}: no metric of that name; {near}"
    with pytest.raises(UsageError, match=said):
        trained([0.1] * after, epochs=9, every=every, monitor=monitor)


def test_the_checkpoints_of_a_best_epoch_are_one_file_and_of_another_two(tmp_path: Path) -> None:
    for scores, alike in (([0.1, 0.9], True), ([0.9, 0.1], False)):
        folder = tmp_path / str(alike)
        trained(scores, epochs=2, folder=folder)
        best, last = folder / "best.ckpt", folder / "last.ckpt"
        assert best.samefile(last) == alike
        epochs = [torch.load(path, weights_only=True)["epoch"] for path in (best, last)]
        assert epochs == ([1, 1] if alike else [0, 1])


def test_losses_that_do_not_compare_choose_no_epoch() -> None:
    config = TrainerConfig(monitor="train.loss", monitor_mode="min", patience=1)
    own = False, True, False, True
    stopping = EarlyStopping(config, Path("best.ckpt"), losses_compare=iter(own).__next__)
    for epoch, loss in enumerate((1.0, 3.0, 1.0, 2.0)):
        trainer = SimpleNamespace(
            callback_metrics={"train.loss": loss}, current_epoch=epoch, should_stop=False
        )
        stopping.on_train_epoch_end(trainer, None)  # type: ignore[arg-type]
    assert (stopping.best_epoch, stopping.best, stopping.patience_exhausted) == (3, 2.0, False)
