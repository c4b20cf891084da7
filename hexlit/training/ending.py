"""Why a run has ended, and how far it had come."""

import os
import shlex
from pathlib import Path
from typing import Any

import lightning as L

from hexlit.training.budget import Budget
from hexlit.training.config import TrainerConfig
from hexlit.training.early_stopping import EarlyStopping
from hexlit.training.proof import Proof

PROVED, ALL_EPOCHS, PATIENCE, STOPPED, INTERRUPTED = "proved", "epochs", "trainer.patience", "stopped", "interrupted"
"""Reasons beside the settings of the budgets; `stopped`: another callback ended it, such as a pruner."""


def ending_of(
    trainer: L.Trainer, *, proof: Proof | None, stopping: EarlyStopping, interrupted_after: int | None = None
) -> dict[str, Any]:
    """Entries for `summary.json`: the reason `why`, the `epochs` done, the number `asked`, and the state of the
    `proof`.

    `interrupted_after` is the number of epochs in the checkpoint that an interrupted run had begun with.
    """
    epochs = int(trainer.current_epoch)
    budgets = [b for b in trainer.callbacks if isinstance(b, Budget) and b.ended]  # type: ignore[attr-defined]
    if interrupted_after is not None:
        why, epochs = INTERRUPTED, max(epochs, interrupted_after)
    elif proof is not None and proof.proved_after is not None:
        why = PROVED
    elif trainer.max_epochs is not None and 0 <= trainer.max_epochs <= epochs:
        why = ALL_EPOCHS
    elif budgets:
        why = budgets[0].setting
    else:
        why = PATIENCE if stopping.in_vain else STOPPED
    return {
        "why": why,
        "epochs": epochs,
        "asked": trainer.max_epochs,
        "proof": None if proof is None else proof.summary(),
    }


def command_to_go_on(folder: Path, trainer: TrainerConfig) -> str:
    """The shell command that continues the run in `folder` to its last epoch."""
    limits = {"trainer.max_time": trainer.max_time, "trainer.max_flops": trainer.max_flops}
    lifted = [f"{name}=null" for name, value in limits.items() if value is not None]
    return "hexlit train " + shlex.join([f"resume={os.path.relpath(folder)}", *lifted])
