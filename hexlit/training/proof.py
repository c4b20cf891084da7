"""The end of a run that has reached its aim: named figures above their thresholds, several measurements running."""

import math
from collections.abc import Mapping
from typing import Any

import lightning as L


class Proof(L.Callback):
    """Counts measurements in which every figure reaches its threshold; enough of them in a row end the run.

    It decides only when a run ends. Figures that are to judge the run afterwards have to come from other examples than
    those that are judged here, or the end would have been chosen by them.

    Attributes:
        least: the smallest value of each figure that counts.
        wanted: measurements in a row that prove the aim.
        running: measurements in a row that have reached it, up to now.
        proved_after: epochs that the run had done when it was proved; None before.
        figures: the figures of the latest measurement, those of `least` only.
    """

    def __init__(self, least: Mapping[str, float], wanted: int) -> None:
        """Prove that every figure of `least` is reached in `wanted` measurements in a row."""
        self.least = dict(least)
        self.wanted = wanted
        self.running = 0
        self.proved_after: int | None = None
        self.figures: dict[str, float] = {}

    def judge(self, epochs: int, figures: Mapping[str, Any]) -> bool:
        """Take the measurement after `epochs` epochs; whether the aim is proved by now, and then for good.

        A figure that is missing reaches nothing.
        """
        self.figures = {name: float(figures.get(name, math.nan)) for name in self.least}
        reached = all(self.figures[name] >= least for name, least in self.least.items())
        self.running = self.running + 1 if reached else 0
        if self.proved_after is None and self.running >= self.wanted:
            self.proved_after = epochs
        return self.proved_after is not None

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop a resumed run that had proved itself already."""
        if self.proved_after is not None:
            trainer.should_stop = True

    def summary(self) -> dict[str, Any]:
        """For `summary.json`: what was asked, what was found last, and after how many epochs it was proved."""
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
        """Continue the count; other thresholds than the checkpoint's begin it again."""
        if (state_dict["least"], state_dict["evaluations"]) != (self.least, self.wanted):
            return
        self.running, self.proved_after = state_dict["running"], state_dict["proved_after"]
        self.figures = state_dict["figures"]
