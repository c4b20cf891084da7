"""A Trainer for tests."""

from typing import Any

import lightning as L
from torch.utils.data import DataLoader

QUIET = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")


def quiet_trainer(epochs: int = 1, **settings: Any) -> L.Trainer:
    """A Trainer on the cpu that writes and shows nothing, unless `settings` say otherwise."""
    usual: dict[str, Any] = {"accelerator": "cpu", "devices": 1, "max_epochs": epochs}
    return L.Trainer(**usual | dict.fromkeys(QUIET, False) | settings)


def as_they_are(batches: Any) -> DataLoader[Any]:
    """A loader of `batches`, one after the other."""
    return DataLoader(batches, batch_size=None)
