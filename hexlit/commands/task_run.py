"""One training of any task: its settings, the hardware, the task and the display brought together."""

import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.commands.command_line import choices
from hexlit.commands.report_files import write_beside
from hexlit.commands.tasks import known_tasks
from hexlit.errors import NO_WINDOWS, UsageError
from hexlit.tasks.run_config import RunConfig

if TYPE_CHECKING:
    import lightning as L
    from rich.console import Console


def train_task(
    settings: RunConfig,
    folder: Path,
    *,
    callbacks: "Sequence[L.Callback]" = (),
    run_name: str | None = None,
    started: float | None = None,
    trial: bool = False,
    console: "Console | None" = None,
    saved: Callable[[Path], None] = lambda path: None,
) -> dict[str, Any]:
    """Train with `settings` in `folder`, and return the summary; see `hexlit.training.run.run`.

    Output for people goes to `console`, None for the terminal; only the first of several ranks shows anything. At the
    end a report is written there, unless `settings` turn it off.
    """
    if sys.platform == "win32":
        raise UsageError(NO_WINDOWS)
    started = time.monotonic() if started is None else started
    begun = known_tasks()[settings.task].begin(settings)

    from rich.console import Console

    from hexlit.accelerate.ranks import ranks
    from hexlit.reporting.screen import Waiting

    writes = ranks().writes
    console = console or (Console() if writes else Console(file=io.StringIO()))
    title = f"hexlit train · {settings.name}"
    with Waiting(title, "loading PyTorch", begun.status, console=console) as waiting:
        from hexlit.accelerate.profile import build_profile
        from hexlit.reporting.progress import TrainingProgress
        from hexlit.training.run import HasEndedError, RunOptions, run

        waiting.what = "setting up"
        task = begun.make(console)  # imports the task
        callbacks = [*callbacks, *_own_callbacks(settings)]
        trainer = settings.trainer

        def display_from(epoch: int) -> TrainingProgress:
            return TrainingProgress(
                trainer.max_epochs,
                max_time=trainer.max_seconds,
                first_epoch=epoch,
                title=title,
                console=console,
                after=waiting,
            )

        profile = build_profile(settings.hardware, settings.device_defaults, shares_a_study=trial)
        try:
            summary = run(
                settings,
                task,
                folder,
                profile,
                display_from,
                RunOptions(
                    callbacks=callbacks,
                    run_name=run_name,
                    started=started,
                    trial=trial,
                    saved=saved,
                    facts=choices(),
                    tags=list(dict.fromkeys([settings.task, settings.subject, settings.name, profile.device.type])),
                ),
            )
        except HasEndedError as ended:
            summary = dict(ended.args[0])
            console.print(_told(summary), soft_wrap=True, highlight=False, markup=False)
            return summary
    if settings.report and writes:
        path = write_beside(folder)
        if path is not None and not trial:
            console.print(f"Report: {os.path.relpath(path)}", soft_wrap=True, highlight=False, markup=False)
    return summary


def _own_callbacks(settings: RunConfig) -> "list[L.Callback]":
    """The callbacks of the section `callbacks`.

    Raises:
        UsageError: one has no class, or a class that is no callback of Lightning, or does not take its arguments.
    """
    import lightning as L
    from hydra.utils import get_class, instantiate

    result = []
    for name, node in settings.callbacks.items():
        target = node.get("_target_") if isinstance(node, dict) else None
        key = f"callbacks.{name}._target_"
        if not isinstance(target, str):
            raise UsageError(f"{key}: name the class of the callback, +{key}=package.Class")
        try:
            known = issubclass(get_class(target), L.Callback)  # nothing else is ever called
            made = instantiate(node) if known else None
        except Exception as error:
            raise UsageError(f"{key}={target}: {error.__cause__ or error}") from error
        if made is None:
            raise UsageError(f"{key}={target}: must be a subclass of lightning.Callback")
        result.append(made)
    return result


def _told(summary: dict[str, Any]) -> str:
    """That the run has ended, and with what."""
    reached = summary.get("strength") or summary.get("val") or {}
    figures = ", ".join(f"{name} {value:.4g}" for name, value in reached.items() if isinstance(value, int | float))
    with_what = f", with {figures}" if figures else ""
    return f"This run has done all its {summary['epochs']} epochs{with_what}. A larger trainer.max_epochs trains on."
