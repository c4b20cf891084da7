"""How a run ends before its last epoch: early stopping, a target that is reached; and how it is told."""

import logging
import math
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning as L
from torch import Tensor

from hexlit.errors import UsageError
from hexlit.training.budget import Budget
from hexlit.training.config import TrainerConfig

log = logging.getLogger(__name__)


class EarlyStopping(L.Callback):
    """Watches `trainer.monitor`; with `trainer.patience` ends the run softly, and restores the best epoch's weights.

    Only epochs that logged the metric count. Better means strictly better: of equal epochs the first is the best, and
    NaN never is. The epoch is the one of `best.ckpt`. This callback comes after everything that logs, and before the
    checkpoints, which hold a copy of the best weights for a resumed run.

    Attributes:
        best: the metric in the best epoch; None before there is one.
        best_epoch: its number.
        restored: whether the module has the weights of an earlier epoch than its last again.
    """

    def __init__(self, config: TrainerConfig, measured: str | None = None) -> None:
        """Watch as `config` says; without its `patience` the run neither ends early nor changes its weights.

        Metrics that begin with `measured.` are not logged in every epoch.
        """
        self.monitor = config.monitor
        self._rare = () if measured is None else (f"{measured}.",)
        self._sign = 1.0 if config.monitor_mode == "max" else -1.0
        self._mode = config.monitor_mode
        self._patience = config.patience
        self.best: float | None = None
        self.best_epoch: int | None = None
        self.restored = False
        self._waited = 0
        self._seen = False
        self._weights: dict[str, Tensor] | None = None

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop a resumed run that had already ended early."""
        self._stop_if_in_vain(trainer)

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Forget the metric; Lightning would keep it through epochs that do not measure it."""
        trainer.callback_metrics.pop(self.monitor, None)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Compare the epoch with the best one."""
        metrics = trainer.callback_metrics
        if self.monitor not in metrics:
            self._check_name(trainer)
            return
        self._seen = True
        value = float(metrics[self.monitor])
        if not math.isnan(value) and (self.best is None or self._sign * value > self._sign * self.best):
            self.best, self.best_epoch, self._waited = value, trainer.current_epoch, 0
            if self._patience is not None:
                state = pl_module.state_dict()  # views, which the next step would change
                self._weights = {name: tensor.detach().to("cpu", copy=True) for name, tensor in state.items()}
        else:
            self._waited += 1
        self._stop_if_in_vain(trainer)

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Restore the best weights: parameters, running averages and statistics of batch norm."""
        if self._weights is not None and self.best_epoch != trainer.current_epoch - 1:
            pl_module.load_state_dict(self._weights)
            self.restored = True
            log.info("the run ends with the weights of epoch %s, the best by %s", self.best_epoch, self.monitor)

    def summary(self) -> dict[str, Any]:
        """Entries for `summary.json`: the metric, its best value and epoch, and whether its weights are in use."""
        return {"monitor": self.monitor, "value": self.best, "epoch": self.best_epoch, "restored": self.restored}

    def state_dict(self) -> dict[str, Any]:
        return {
            "monitor": [self.monitor, self._mode],
            "best": self.best,
            "best_epoch": self.best_epoch,
            "waited": self._waited,
            "weights": self._weights,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint.

        Raises:
            UsageError: it was written with another metric.
        """
        for key, was, value in zip(
            ("monitor", "monitor_mode"), state_dict["monitor"], (self.monitor, self._mode), strict=True
        ):
            if was != value:
                raise UsageError(
                    f"trainer.{key}={value}: the run was started with trainer.{key}={was}; keep it to resume"
                )
        if self._patience is not None and state_dict["weights"] is None:
            return  # the best epoch's weights were not kept, so the search for the best begins here
        self.best, self.best_epoch = state_dict["best"], state_dict["best_epoch"]
        self._waited, self._seen = state_dict["waited"], self.best is not None
        self._weights = None if self._patience is None else state_dict["weights"]

    @property
    def in_vain(self) -> bool:
        """Whether `trainer.patience` is used up."""
        return self._patience is not None and self._waited >= self._patience

    def _stop_if_in_vain(self, trainer: L.Trainer) -> None:
        if self.in_vain:
            trainer.should_stop = True

    def _check_name(self, trainer: L.Trainer) -> None:
        """Tell an epoch without a measurement from an unknown name, as early as possible."""
        names = sorted(map(str, trainer.callback_metrics))
        rooms = (self.monitor.partition(".")[0] + ".", *self._rare)
        everything = trainer.current_epoch + 1 == trainer.max_epochs or any(name.startswith(rooms) for name in names)
        if not self._seen and everything:
            raise UsageError(f"trainer.monitor={self.monitor}: no metric of that name; there are {', '.join(names)}")


class StopAtTarget(L.Callback):
    """Counts measurements with every figure at its threshold or better; enough of them in a row end the run.

    It only decides when a run ends. Figures that judge the run afterwards must come from other examples. Otherwise
    the same figures would have chosen the end of the run and judged it.

    Attributes:
        least: smallest value of each figure that counts.
        wanted: measurements in a row that prove the aim.
        running: present number of measurements in a row that have reached it.
        proved_after: epochs done when the aim was proved; None before.
        figures: the figures of the latest measurement, those of `least` only.
    """

    def __init__(self, least: Mapping[str, float], wanted: int) -> None:
        """End the run once every figure of `least` is reached in `wanted` measurements in a row."""
        self.least = dict(least)
        self.wanted = wanted
        self.running = 0
        self.proved_after: int | None = None
        self.figures: dict[str, float] = {}

    @property
    def state_key(self) -> str:
        """As in checkpoints of 0.2."""
        return "Proof"

    def judge(self, epochs: int, figures: Mapping[str, Any]) -> bool:
        """Take the measurement after `epochs` epochs; returns whether the aim is proved, which then stays so.

        A missing figure misses its threshold.
        """
        self.figures = {name: float(figures.get(name, math.nan)) for name in self.least}
        reached = all(self.figures[name] >= least for name, least in self.least.items())
        self.running = self.running + 1 if reached else 0
        if self.proved_after is None and self.running >= self.wanted:
            self.proved_after = epochs
        return self.proved_after is not None

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop a resumed run that had already proved itself."""
        if self.proved_after is not None:
            trainer.should_stop = True

    def summary(self) -> dict[str, Any]:
        """Entries for `summary.json`: the thresholds, the latest figures, and the number of epochs at the proof."""
        return {
            "least": self.least,
            "evaluations": self.wanted,
            "running": self.running,
            "figures": self.figures,
            "proved_after": self.proved_after,
        }

    def state_dict(self) -> dict[str, Any]:
        return self.summary()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue the count; it starts again if the checkpoint has other thresholds."""
        if (state_dict["least"], state_dict["evaluations"]) != (self.least, self.wanted):
            return
        self.running, self.proved_after = state_dict["running"], state_dict["proved_after"]
        self.figures = state_dict["figures"]


PROVED, ALL_EPOCHS, PATIENCE, STOPPED, INTERRUPTED = "proved", "epochs", "trainer.patience", "stopped", "interrupted"
"""Reasons beside the settings of the budgets; `stopped`: another callback ended it, such as a pruner."""


def ending_of(
    trainer: L.Trainer, *, target: StopAtTarget | None, stopping: EarlyStopping, interrupted_after: int | None = None
) -> dict[str, Any]:
    """Entries for `summary.json`: the reason `why`, the `epochs` done, the number `asked`, and the state of the
    proof.

    `interrupted_after` is the number of epochs in the checkpoint that an interrupted run had begun with.
    """
    epochs = int(trainer.current_epoch)
    budgets = [b for b in trainer.callbacks if isinstance(b, Budget) and b.ended]  # type: ignore[attr-defined]
    if interrupted_after is not None:
        why, epochs = INTERRUPTED, max(epochs, interrupted_after)
    elif target is not None and target.proved_after is not None:
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
        "proof": None if target is None else target.summary(),
    }


def command_to_go_on(folder: Path, trainer: TrainerConfig) -> str:
    """The shell command that continues the run in `folder` to its last epoch."""
    limits = {"trainer.max_time": trainer.max_time, "trainer.max_flops": trainer.max_flops}
    lifted = [f"{name}=null" for name, value in limits.items() if value is not None]
    return "hexlit train " + shlex.join([f"resume={os.path.relpath(folder)}", *lifted])
