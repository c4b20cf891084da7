"""One training of any task: its settings, the hardware, the task and the display brought
together.
"""

import io
import os
import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.commands.report_files import write_beside
from hexlit.commands.tasks import known_tasks
from hexlit.errors import UsageError, error_of_foreign_code
from hexlit.tasks.run_config import RunConfig
from hexlit.training.config import RunOptions

if TYPE_CHECKING:
    import lightning as L
    from rich.console import Console


def train_task(
    settings: RunConfig, folder: Path, options: RunOptions, console: "Console | None" = None
) -> dict[str, Any]:
    """Train with `settings` in `folder`, and return the summary; see `hexlit.training.run.run`.

    Output for people goes to `console`, None for the terminal; only the first of several ranks
    shows anything. At the end a report is written there, unless `settings` turn it off.
    """
    entry = known_tasks()[settings.task]
    warmup = entry.make_warmup(settings)

    from rich.console import Console

    from hexlit.accelerate.ranks import ranks
    from hexlit.reporting.screen import Waiting

    writes = ranks().writes
    console = console or (Console() if writes else Console(file=io.StringIO()))
    title = f"hexlit train · {settings.name}"
    show = partial(console.print, soft_wrap=True, highlight=False, markup=False)
    with ExitStack() as stack:
        stack.callback(warmup.close)
        waiting = stack.enter_context(
            Waiting(title, "loading PyTorch", warmup.status, console=console)
        )
        from hexlit.accelerate.profile import build_profile

        profile = build_profile(
            settings.hardware, settings.device_defaults, shares_a_study=options.trial
        )
        if settings.hardware.device == "auto" and not options.trial:
            waiting.what = "choosing the device"
            profile, why = warmup.faster_profile(profile)
            if why:
                show(why)
        warmup.start(profile)
        from hexlit.reporting.progress import TrainingProgress
        from hexlit.training.optimizer import check_optimizer
        from hexlit.training.resuming import HasEndedError
        from hexlit.training.run import run

        check_optimizer(settings.optimizer)
        waiting.what = "setting up"
        task = entry.make_task(settings, console, warmup)
        stack.callback(task.close)
        tags = dict.fromkeys([settings.task, settings.subject, settings.name, profile.device.type])
        options = replace(
            options, callbacks=[*options.callbacks, *_user_callbacks(settings)], tags=list(tags)
        )

        def display_from(epoch: int) -> TrainingProgress:
            return TrainingProgress(
                settings.trainer.max_epochs,
                max_time=settings.trainer.max_seconds,
                first_epoch=epoch,
                title=title,
                console=console,
                after=waiting,
            )

        try:
            summary = run(settings, task, folder, profile, display_from, options)
        except HasEndedError as ended:
            show(ended_line(ended.summary, ended.why, settings))
            return ended.summary
    if settings.report and writes:
        path = write_beside(folder)
        if path is not None and not options.trial:
            show(f"Report: {os.path.relpath(path)}")
    return summary


TRAINS_ON = {
    "epochs": "A larger trainer.max_epochs trains on.",
    "target": "evaluation.target.enabled=false trains on.",
    "stopped": "Other settings of callbacks train on.",
}
"""Reason for the end of a run -> what continues it; for others it is their setting."""


def ended_line(summary: Mapping[str, Any], why: str, settings: RunConfig) -> str:
    """The line on a run that has ended and would train no further: why, what it reached, and how to
    train on.
    """
    epochs = summary["epochs"]
    most = settings.trainer.max_epochs
    reasons = {"target": "it reached its target", "stopped": "a callback ended it"}
    ended = f"This run has done all its {epochs} epochs"
    if why != "epochs":
        ended = f"This run has ended after {epochs} of {most} epochs ({reasons.get(why, f'{why} ended it')})"
    reached = summary.get("strength") or summary.get("val") or {}
    shown = [
        f"{name} {value:.4g}" for name, value in reached.items() if isinstance(value, int | float)
    ]
    figures = f", with {', '.join(shown)}" if shown else ""
    return f"{ended}{figures}. {TRAINS_ON.get(why, f'A larger {why} trains on, and so does {why}=null.')}"


def _user_callbacks(settings: RunConfig) -> "list[L.Callback]":
    """The callbacks of the section `callbacks`.

    Only the named class is called, with plain values: nothing below it is instantiated.

    Raises:
        UsageError: one has no class, or a class that is no callback of Lightning, or does not take
            its arguments.
        Exception: one raises any other error.
    """
    import lightning as L
    from hydra.utils import get_class

    result = []
    for name, node in settings.callbacks.items():
        arguments = dict(node) if isinstance(node, dict) else {}
        target = arguments.pop("_target_", None)
        if special := _special_key(arguments):
            rule = "arguments are plain values, without keys of Hydra"
            raise UsageError(f"callbacks.{name}.{special}: {rule}")
        try:
            callback_class = get_class(str(target))
            if not issubclass(callback_class, L.Callback):
                raise TypeError("must be a subclass of lightning.Callback")
            result.append(callback_class(**arguments))
        except Exception as error:
            if (bug := error_of_foreign_code(error)) is not None:
                raise bug from None
            raise UsageError(
                f"callbacks.{name}._target_={target}: {error.__cause__ or error}"
            ) from error
    return result


def _special_key(arguments: Any) -> str | None:
    """The first key of Hydra's `instantiate` within `arguments`, at any depth, such as
    `monitor._target_`.
    """
    if isinstance(arguments, list):
        arguments = dict(enumerate(arguments))
    if not isinstance(arguments, dict):
        return None
    for key, value in arguments.items():
        if re.fullmatch("_[a-z]+_", str(key)):
            return str(key)
        if below := _special_key(value):
            return f"{key}.{below}"
    return None
