"""`hexlit train`: a new run of a task, a resumed run, or a trial of a sweep."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hexlit.accelerate.ranks import ranks
from hexlit.commands import run_folder, tasks
from hexlit.commands.application import run, typed
from hexlit.commands.composing import Composed, flags_and_overrides
from hexlit.commands.early_checks import refuse_missing
from hexlit.commands.rank_processes import STARTED, folder_arguments, other_ranks
from hexlit.commands.run_folder import (
    requeued,
    resumable,
    resumed_arguments,
    resumed_folder,
    settings_writer,
)
from hexlit.commands.saved_overrides import trusted
from hexlit.commands.task_sweep import TaskProgram
from hexlit.errors import UsageError
from hexlit.selfplay.config import boards_in_turn
from hexlit.tasks.run_config import RunConfig
from hexlit.training.config import RunOptions
from hexlit.tuning import sweeper
from hexlit.tuning.space import quoted
from hexlit.tuning.sweep_folder import read_yaml
from hexlit.tuning.trial import ticket_of

if TYPE_CHECKING:
    from rich.console import Console

sweeper.register(TaskProgram())


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(train, "train", argv, prepare=whole_arguments)


def whole_arguments(argv: list[str]) -> list[str]:
    """`argv` with the arguments of the sweep's best trial and of the run to continue; Hydra then
    knows their task.
    """
    if os.environ.pop(STARTED, None) is None:
        folder = resumed_folder(argv)
        if folder is not None and flags_and_overrides(argv)[0].multirun:
            raise UsageError(
                f"resume={folder}: leave --multirun out; sweep.resume=true continues a sweep"
            )
        argv = [*resumed_arguments(best_arguments(boards_in_turn(argv))), *folder_arguments()]
    tasks.register(argv)
    return argv


def best_arguments(argv: list[str]) -> list[str]:
    """`argv`; with `+best=FOLDER`, the overrides of the best trial of that sweep, then those of
    `argv`.
    """
    named = [argument for argument in argv if argument.startswith(("+best=", "best="))]
    value = named[-1].partition("=")[2].strip("'\"") if named else "null"
    if value == "null":
        return argv
    path = Path(value).resolve()
    path = path if path.suffix == ".yaml" else path / "best.yaml"
    result = read_yaml(path) if value else None
    if not isinstance(result, dict) or "overrides" not in result:
        raise UsageError(
            f"best={value}: no sweep with a best trial ({path} names no overrides); best=null is none"
        )
    own = [argument for argument in argv if argument not in named]
    keys = {argument.lstrip("+").partition("=")[0] for argument in own}
    saved = trusted([str(override) for override in result["overrides"]], own, path, "best")
    taken = [one for one in saved if one.lstrip("+").partition("=")[0] not in keys]
    return [*taken, *own, f"best={quoted(str(path.parent))}"]


def train(composed: Composed) -> None:
    """Train with the composed configuration."""
    began = time.monotonic()
    folder = composed.folder
    ticket = ticket_of(os.environ)
    if composed.is_job:  # the folder of the sweep alone is held so far
        run_folder.claim(folder)
    if composed.is_job or ticket is not None:  # the sweep's results include refused ones
        settings_writer(composed)()
    settings = typed(composed.config, RunConfig)
    refuse_unfit(settings, composed)
    if ticket is not None:
        devices = settings.accelerator.devices
        if (devices or 1) > 1 or ranks().several:
            raise UsageError(
                f"accelerator.devices={devices}: a trial of a sweep trains on one device; leave it out"
            )
        from hexlit.commands.trial_training import train_trial

        train_trial(settings, composed, ticket)
        return
    refuse_missing(settings)
    refuse_sweep(settings, composed, "hexlit train --multirun with hydra/sweeper=optuna")
    if composed.is_job:
        settings.resume = requeued(folder)
        sweep = Path(composed.hydra.sweep.dir).absolute()
        wandb = settings.logger.wandb
        named = wandb.group or os.environ.get("WANDB_RUN_GROUP")
        wandb.group = named or f"{sweep.parent.name}-{sweep.name}"
    if ranks().writes:  # the first line of a run comes before imports that take seconds
        where = f"{'begins' if settings.resume is None else 'continues'} in {os.path.relpath(folder)}; loading PyTorch"
        print(f"hexlit train · {settings.name} · {settings.subject} · {where}", flush=True)
    with resumable("hexlit train", folder, composed.overrides):
        train_in_folder(settings, composed, started=began)


def refuse_sweep(settings: RunConfig, composed: Composed, right: str) -> None:
    """Refuse the settings of a sweep for a single run; `right` is the command for sweeps."""
    chosen = composed.hydra.runtime.choices.get("sweep", "none")
    asked = {f"sweep={chosen}": chosen != "none", "sweep.resume=true": settings.sweep.resume}
    for what, is_asked in (asked | {"sweep.join=true": settings.sweep.join}).items():
        if is_asked and settings.resume is None:
            raise UsageError(f"{what}: a sweep is run by {right}")


def refuse_unfit(settings: RunConfig, composed: Composed) -> None:
    """Refuse overrides without effect under the other settings, and packages and files that are
    missing.
    """
    for override in composed.overrides:
        section = override.lstrip("+~").partition("=")[0].partition(".")[0]
        if section in settings.without_effect:
            raise UsageError(f"{override}: {settings.without_effect[section]}")
    settings.check_installed()


def train_in_folder(
    settings: RunConfig,
    composed: Composed,
    *,
    console: "Console | None" = None,
    started: float | None = None,
) -> None:
    """Train in the folder of `composed`, and save its settings there; see `train_task`.

    A new run saves them at once. A resumed one does so at its first checkpoint: if it fails or is
    killed before, the folder stays unchanged. A run whose folder was removed ends at its next
    checkpoint.
    """
    from hexlit.commands.task_run import train_task

    write_settings = settings_writer(composed)
    if settings.resume is None and ranks().writes:
        write_settings()

    def saved() -> None:
        run_folder.check()
        write_settings()

    with other_ranks(settings.accelerator.devices, composed):
        options = RunOptions(
            time.monotonic() if started is None else started, saved=saved, facts=composed.choices()
        )
        train_task(settings, composed.folder, options, console)
