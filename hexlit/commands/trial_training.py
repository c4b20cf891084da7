"""A trial of a sweep: one training, or one per seed, judged by the study."""

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import lightning as L

from hexlit.accelerate.memory import is_out_of_memory
from hexlit.accelerate.profile import build_profile
from hexlit.commands.composing import Composed
from hexlit.commands.run_folder import requeued
from hexlit.commands.task_run import train_task
from hexlit.errors import UsageError
from hexlit.reporting.run_files import flat
from hexlit.tasks.run_config import RunConfig
from hexlit.training.budget import progress
from hexlit.training.config import RunOptions, TrainerConfig
from hexlit.training.evaluation import EarlyStopping, others_of
from hexlit.training.loggers import wandb_rows
from hexlit.training.phases import ONCE
from hexlit.tuning.config import BUDGET_STEPS
from hexlit.tuning.pruning import Pruning
from hexlit.tuning.trial import RunningTrial, TrialTicket, running_trial


def train_trial(settings: RunConfig, composed: Composed, ticket: TrialTicket) -> None:
    """Work on the trial of `ticket` in the folder of `composed`."""
    settings.logger.wandb.group = settings.logger.wandb.group or ticket.group
    began = time.monotonic()

    def micro_batch(error: Exception) -> int | None:
        """Examples that went through the network at once when memory ran out; None for another
        error.
        """
        full = is_out_of_memory(error)
        return (
            build_profile(settings.hardware, settings.device_defaults).micro_batch if full else None
        )

    with running_trial(ticket, micro_batch) as trial:
        trial.note(max_epochs=settings.trainer.max_epochs * ticket.seeds)
        for number in range(trial.seeds_ended, ticket.seeds):
            train_seed(settings, composed, trial, number)
            if trial.pruned:
                break
        trial.note(seconds=round(time.monotonic() - began, 3))


def train_seed(settings: RunConfig, composed: Composed, trial: RunningTrial, number: int) -> None:
    """Train with seed number `number`, in a subfolder if there are several."""
    place = composed.folder / ("" if trial.ticket.seeds == 1 else f"seed-{number}")
    place.mkdir(exist_ok=True)
    seeded = replace(settings, seed=(settings.seed + number) % 2**32, resume=requeued(place))
    epochs = settings.trainer.max_epochs
    by_budget = settings.sweep.compare_at == "budget"
    pruning = TrialPruning(
        trial,
        trial.ticket.monitor,
        first_step=trial.seeds_ended * (BUDGET_STEPS if by_budget else epochs),
        step_of=step_of_budget if by_budget else None,
    )
    name = "-".join(
        [trial.ticket.group, trial.ticket.sweep_id, *place.relative_to(trial.ticket.folder).parts]
    )
    callbacks = [pruning, WandbNotes(trial, pruning)]
    facts = composed.choices()
    options = RunOptions(
        callbacks=callbacks, run_name=name, trial=True, given_up=lambda: trial.pruned, facts=facts
    )
    summary = train_task(seeded, place, options)
    figures = {name: float(value) for name, value in flat(summary) if type(value) in (int, float)}
    refuse_unknown(trial, pruning.metrics or figures, rare=())  # figures: no epoch was left
    trial.note(**{name: value for name, value in summary["memory"].items() if value is not None})
    trial.end_seed(pruning.metrics | figures, pruning.epochs)
    if trial.pruned:
        left = time_left(summary, settings.trainer, pruning.epochs, trial.ticket.seeds - number - 1)
        trial.note(saved_seconds=round(left, 3))


def time_left(
    summary: Mapping[str, Any], trainer: TrainerConfig, epochs: int, seeds_left: int
) -> float:
    """Seconds that a training pruned after `epochs` epochs would still have taken, including
    further seeds.

    The estimate uses its pace, without its start, for all its epochs or as far as its budgets
    allow.
    """
    flops = summary["cost"]["flops"]
    phases = summary["phases"].items()
    pace = sum(row["wall_seconds"] or 0.0 for name, row in phases if name not in ONCE) / max(
        1, epochs
    )

    def seconds_of(further: int, seconds_spent: float, flops_spent: float) -> float:
        limits = [further * pace]
        if trainer.max_seconds is not None:
            limits.append(trainer.max_seconds - seconds_spent)
        if trainer.max_flops and flops:
            limits.append((trainer.max_flops - flops_spent) * epochs * pace / flops)
        return max(0.0, min(limits))

    rest = seconds_of(trainer.max_epochs - epochs, summary["wall_seconds"], flops or 0.0)
    return rest + seeds_left * seconds_of(trainer.max_epochs, 0.0, 0.0)


def step_of_budget(trainer: L.Trainer) -> int:
    """Number of parts of its budget that a training has spent."""
    return min(BUDGET_STEPS - 1, int(BUDGET_STEPS * progress(trainer, trainer.current_epoch + 1)))


class TrialPruning(Pruning):
    """Prunes a trial, and ends it after its first epoch where no later one can log its metrics."""

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Report the metric of this epoch; raises `UsageError`."""
        super().on_train_epoch_end(trainer, pl_module)
        callbacks: Any = trainer.callbacks  # type: ignore[attr-defined]
        [stopping] = [one for one in callbacks if isinstance(one, EarlyStopping)]
        if self._trial is not None and not stopping.others_log:
            refuse_unknown(self._trial, self.metrics, stopping.rare)


def refuse_unknown(
    trial: RunningTrial, metrics: Mapping[str, float], rare: Collection[str]
) -> None:
    """Refuse names that no run of the task logs, by the `metrics` of an epoch.

    Metrics with a prefix of `rare` may come in a later epoch. The pruner compares metrics of epochs
    alone. An objective that is none may be a figure of `summary.json`, unless it is named like a
    loss.
    """
    ticket = trial.ticket
    expected = {}
    for name in ticket.objectives:
        if name.startswith(("train.", "val.")):
            expected[name] = "sweep.objective"
    if trial.may_prune:
        judged = ticket.monitor in ticket.objectives
        expected[ticket.monitor] = "sweep.objective" if judged else "sweep.monitor"
    for name, key in expected.items():
        if name not in metrics and name.partition(".")[0] not in rare:
            others = others_of(name, sorted(metrics))
            raise UsageError(f"{key}={name}: no epoch logs such a metric; {others}")


class WandbNotes(L.Callback):
    """Notes on Weights & Biases for the run of a trial: its number, and how it ended."""

    def __init__(self, trial: RunningTrial, pruning: Pruning) -> None:
        """The notes of `trial`; `pruning` has its metrics."""
        self._trial = trial
        self._pruning = pruning

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Note the trial's number and overrides."""
        ticket = self._trial.ticket
        facts = {
            "study": ticket.group,
            "trial": ticket.number,
            "overrides": self._trial.attributes.get("overrides"),
        }
        _note(trainer, config=facts)

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Note its state and its objectives."""
        metrics = self._pruning.metrics
        objectives = self._trial.ticket.objectives
        summary = {
            "state": "pruned" if self._trial.pruned else "complete",
            "objective": {name: metrics.get(name) for name in objectives},
            "objective_value": metrics.get(objectives[0]),
        }
        _note(trainer, summary=summary)

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Note that it failed, and why."""
        reason = (str(exception).splitlines() or [""])[0]
        _note(
            trainer, summary={"state": "failed", "failure": f"{type(exception).__name__}: {reason}"}
        )


def _note(trainer: L.Trainer, **entries: Mapping[str, Any]) -> None:
    """Write entries into the `config` or the `summary` of the W&B run, if there is one."""
    if (rows := wandb_rows(trainer.loggers)) is not None:
        rows.tracked.note(**entries)
