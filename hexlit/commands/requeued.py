"""A job that Slurm has started again, after its time limit or the loss of its machine: its run continues."""

import os
from pathlib import Path

_OF_A_RUN = ("checkpoints", "phases.csv")
"""Names in the folder of a run that has begun."""


def requeued(folder: Path) -> str | None:
    """The value of `resume` that continues the run in `folder`; None unless Slurm has started this job again."""
    restarts = os.environ.get("SLURM_RESTART_COUNT", "0")
    again = restarts.isdecimal() and int(restarts) > 0
    return str(folder) if again and any((folder / name).exists() for name in _OF_A_RUN) else None
