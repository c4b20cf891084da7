"""The end of a run that has reached its aim: named figures above their thresholds, several times in a row."""

import math
from collections.abc import Mapping
from typing import Any

import lightning as L


class Proof(L.Callback):
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
        """Prove that every figure of `least` is reached in `wanted` measurements in a row."""
        self.least = dict(least)
        self.wanted = wanted
        self.running = 0
        self.proved_after: int | None = None
        self.figures: dict[str, float] = {}

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
