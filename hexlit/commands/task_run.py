"""One training of any task: its settings, the hardware, the task and the display brought together."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.commands.tasks import known_tasks
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
) -> dict[str, Any]:
    """Train as `settings` say, in `folder`, and return the summary; see `hexlit.training.run.run`.

    What people see of it goes to `console`, None for the terminal.
    """
    started = time.monotonic() if started is None else started
    make = known_tasks()[settings.task].begin(settings)

    from rich.console import Console

    from hexlit.accelerate.profile import build_profile
    from hexlit.reporting.progress import TrainingProgress
    from hexlit.training.run import run

    console = console or Console()
    task = make(console)
    trainer = settings.trainer

    def display_from(epoch: int) -> TrainingProgress:
        return TrainingProgress(
            trainer.max_epochs,
            max_time=trainer.max_seconds,
            first_epoch=epoch,
            title=f"hexlit train · {settings.name}",
            console=console,
        )

    profile = build_profile(settings.hardware, settings.device_defaults)
    return run(
        settings,
        task,
        folder,
        profile,
        display_from,
        callbacks=callbacks,
        run_name=run_name,
        started=started,
        trial=trial,
    )
