"""A run that has reached its aim,
several measurements running, ends; and a resumed one remembers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from hexlit.training.budget import Budget
from hexlit.training.config import TrainerConfig
from hexlit.training.evaluation import EarlyStopping, EvaluationPhase, StopAtTarget, ending_of
from hexlit.training.loggers import MetricsCsv
from hexlit.training.phases import PhaseClock
from hexlit.training.task import Evaluation
from tests.training.test_evaluation import Display, Model, fit
from tests.training.trainers import as_they_are, quiet_trainer

LEAST = {"score": 0.9, "share": 0.5}


def judged(target: StopAtTarget, scores: Sequence[float], share: float = 0.5) -> list[bool]:
    return [
        target.judge(n + 1, {"score": score, "share": share, "map": [1.0]})
        for n, score in enumerate(scores)
    ]


def test_so_many_measurements_in_a_row_reach_the_target() -> None:
    """One that falls short in between begins the count again; once reached it stays so."""
    target = StopAtTarget(LEAST, 2)
    assert judged(target, [0.95, 0.89, 0.9, 0.91, 0.1]) == [False, False, False, True, True]
    assert target.reached_after == 4


def test_a_checkpoint_keeps_the_count() -> None:
    first, second = StopAtTarget(LEAST, 2), StopAtTarget(LEAST, 2)
    judged(first, [0.95])
    second.load_state_dict(asdict(first))
    assert second.judge(2, {"score": 0.95, "share": 1.0})
    assert second.reached_after == 2


@pytest.mark.parametrize(("least", "wanted"), [(LEAST | {"score": 0.99}, 2), (LEAST, 3)])
def test_other_thresholds_than_those_of_the_checkpoint_begin_the_count_again(
    least: dict[str, float], wanted: int
) -> None:
    first, second = StopAtTarget(LEAST, 2), StopAtTarget(least, wanted)
    judged(first, [0.95, 0.95])
    second.load_state_dict(asdict(first))
    assert (second.running, second.reached_after) == (0, None)


class Measured:
    """Figures that get better; which of them were final."""

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = iter(scores)
        self.calls: list[bool] = []

    def __call__(self, final: bool) -> Mapping[str, Any]:
        self.calls.append(final)
        return {"score": -1.0 if final else next(self.scores), "share": 1.0}


def run(
    scores: Sequence[float], folder: Path, *, epochs: int = 9, every: int = 1
) -> tuple[L.Trainer, Measured, StopAtTarget]:
    measured = Measured(scores)
    phase = EvaluationPhase(
        Evaluation("strength", measured, every, LEAST, 2), PhaseClock(None), Display()
    )
    target = phase.target
    assert target is not None
    last = ModelCheckpoint(
        folder, "last", enable_version_counter=False, save_on_train_epoch_end=True
    )
    return fit(epochs, [phase, MetricsCsv(folder), last]), measured, target


def test_a_run_that_reached_its_target_ends_and_is_measured_for_good_by_figures_that_decided_nothing(
    tmp_path: Path,
) -> None:
    trainer, measured, target = run([0.1, 0.9, 0.2, 0.9, 0.9, 0.1], tmp_path)
    assert trainer.current_epoch == target.reached_after == 5
    assert measured.calls == [False] * 5 + [True]
    rows = (tmp_path / "metrics.csv").read_text().splitlines()
    column = rows[0].split(",").index("strength.score")
    assert [float(row.split(",")[column]) for row in rows[1:]] == pytest.approx(
        [0.1, 0.9, 0.2, 0.9, -1.0]
    )


def test_the_last_epoch_may_still_reach_it(tmp_path: Path) -> None:
    trainer, measured, target = run([0.9, 0.9], tmp_path, epochs=3, every=2)
    assert (trainer.current_epoch, target.reached_after) == (3, 3)
    assert measured.calls == [False, False, True]


def test_a_run_that_had_reached_its_target_ends_at_once_when_it_is_resumed(tmp_path: Path) -> None:
    run([0.9] * 9, tmp_path)
    phase = EvaluationPhase(
        Evaluation("strength", Measured([]), 1, LEAST, 2), PhaseClock(None), Display()
    )
    assert phase.target is not None
    trainer = quiet_trainer(9, callbacks=[phase])
    trainer.fit(
        Model(),
        as_they_are([[torch.ones(4, 1)]]),
        ckpt_path=tmp_path / "last.ckpt",
        weights_only=True,
    )
    assert trainer.global_step == 2 * 3, "the steps of two epochs"
    assert phase.latest["score"] == -1.0


def test_a_run_knows_why_it_ended(tmp_path: Path) -> None:
    nothing = EarlyStopping(TrainerConfig(), Path("best.ckpt"))

    def why(trainer: L.Trainer, target: StopAtTarget | None = None, **arguments: Any) -> object:
        found = ending_of(trainer, target, nothing, **arguments)
        return found["why"], found["epochs"], found["asked"]

    trainer, _, target = run([0.9] * 9, tmp_path)
    assert why(trainer, target) == ("target", 2, 9)
    assert why(fit(3, []), StopAtTarget(LEAST, 2)) == ("epochs", 3, 3)
    spent = iter(range(0, 100, 10))
    assert why(fit(9, [Budget("trainer.max_flops", 25.0, lambda: float(next(spent)))])) == (
        "trainer.max_flops",
        2,
        9,
    )

    class Pruned(L.Callback):
        def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
            trainer.should_stop = True

    assert why(fit(3, [Pruned()])) == ("stopped", 1, 3)
    assert why(fit(3, [Pruned()]), interrupted_after=2) == ("interrupted", 2, 3)
