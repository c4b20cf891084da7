"""A Trainer for tests, and what it leaves."""

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


def validated(module: L.LightningModule, data: Any, **settings: Any) -> dict[str, float]:
    """What `module` logs of the validation data, by name without `val.`."""
    (found,) = quiet_trainer(**settings).validate(module, data, verbose=False)
    return {name.removeprefix("val."): float(value) for name, value in found.items()}
