"""Continuing a run: its checkpoint, compared with the settings, or the reason why nothing is left
to train.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hexlit.errors import UsageError
from hexlit.files import read_json
from hexlit.training.budget import budgets_of
from hexlit.training.checkpoints import BEST, CHECKPOINTS, LAST, check_same, read_checkpoint
from hexlit.training.evaluation import EarlyStopping, StopAtTarget
from hexlit.training.tables import EpochTable
from hexlit.training.task import RunSettings, Task


class HasEndedError(Exception):
    """Nothing is left to train.

    Attributes:
        summary: that of the run.
        why: the reason, one of those of `hexlit.training.evaluation.ending_of`.
    """

    def __init__(self, summary: Mapping[str, Any], why: str) -> None:
        super().__init__(why)
        self.summary, self.why = dict(summary), why


def resumed_checkpoint(
    config: RunSettings, task: Task, folder: Path, *, trial: bool
) -> tuple[Path | None, int, float]:
    """The checkpoint to continue from, the first epoch to do, and the seconds of those before; None
    for a run without one, new or killed early.

    A trial of a sweep that has ended continues too: its figures are still to be reported.

    Raises:
        UsageError: the checkpoint is damaged or was removed, or the run was started with other
            settings.
        HasEndedError: the run has ended, and its settings let it train no further.
    """
    path = folder / CHECKPOINTS / LAST
    if config.resume is None:
        return None, 0, 0.0
    if not path.exists():
        refuse_lost_checkpoint(path, folder)
        return None, 0, 0.0
    checkpoint = read_checkpoint(path)
    saved = checkpoint["hyper_parameters"]
    task.check_resume(saved, folder)
    # The values of the checkpoint would win: its optimizer and its schedule are taken over.
    now = {"optimizer": vars(config.optimizer), "trainer": {"ema_decay": config.trainer.ema_decay}}
    if config.optimizer.lr_scaling != "none":
        now["accelerator"] = {"train_batch": config.hardware.train_batch}
    check_same(
        folder, {name: values | saved.get("learning", {}) for name, values in now.items()}, now
    )
    best = checkpoint["callbacks"].get(EarlyStopping.__name__, {}).get("best_epoch")
    if config.trainer.patience is not None and best is not None:
        refuse_other_best(folder / CHECKPOINTS / BEST, best)
    done = int(checkpoint["epoch"]) + 1
    if done > config.trainer.max_epochs:
        least = f"the run in {folder} has {done} epochs; give that number to end it there, or more to train on"
        raise UsageError(f"trainer.max_epochs={config.trainer.max_epochs}: {least}")
    summary = read_json(folder / "summary.json")
    if summary.get("epochs") == done and not trial:  # else it was killed before its end
        why = why_ended(config, task, summary, checkpoint["callbacks"])
        if why is not None:
            raise HasEndedError(summary, why)
    return path, done, checkpoint["callbacks"]["Cost"]["seconds"]


def refuse_lost_checkpoint(path: Path, folder: Path) -> None:
    """Raise `UsageError` if the run in `folder`, which has no checkpoint at `path`, has had one.

    The first epoch ends with a checkpoint, so a run without one has no rows of a later epoch.
    """
    epochs = [row["epoch"] for row in EpochTable(folder / "phases.csv").rows]
    if (folder / "summary.json").exists() or any(epoch > 0 for epoch in epochs):
        rule = "a new run here would overwrite the results of the old one; restore the file, or train in another folder"
        raise UsageError(f"{path}: there is no such checkpoint to resume; {rule}")


def refuse_other_best(path: Path, epoch: int) -> None:
    """Raise `UsageError` unless the checkpoint at `path` is of `epoch` or later, as after a kill
    between both files.
    """
    now = int(read_checkpoint(path)["epoch"])
    if now < epoch:
        rule = (
            "restore the file, or set trainer.patience=null to keep the weights of the last epoch"
        )
        raise UsageError(
            f"{path}: is of epoch {now}, and trainer.patience needs that of epoch {epoch}; {rule}"
        )


def why_ended(
    config: RunSettings, task: Task, summary: Mapping[str, Any], states: Mapping[str, Any]
) -> str | None:
    """Why the run with this `summary` would end at once if it continued as configured; None if it
    would train.

    `states` are those of the callbacks in its checkpoint.
    """
    ending = summary.get("ending") or {}
    if summary["epochs"] >= config.trainer.max_epochs:
        return "epochs"
    state = ending.get("target")
    measured = task.evaluation() if state else None
    if state and measured is not None and measured.least is not None:
        target = StopAtTarget(measured.least, measured.in_a_row)
        target.load_state_dict(state)
        if target.reached_after is not None:
            return "target"
    stopping = EarlyStopping(config.trainer, Path(BEST))
    if EarlyStopping.__name__ in states:
        stopping.load_state_dict(states[EarlyStopping.__name__])
        if stopping.patience_exhausted:
            return "trainer.patience"
    flops = (summary.get("cost") or {}).get("flops") or 0
    for budget in budgets_of(config.trainer, lambda: 0.0, lambda: flops):
        if budget.state_key in states:
            budget.load_state_dict(states[budget.state_key])
            if budget.is_spent():
                return budget.setting
    return (
        "stopped"
        if ending.get("why") == "stopped" and summary.get("callbacks") == config.callbacks
        else None
    )
