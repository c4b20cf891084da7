"""The interface of a Hex network's training data, for any source of games."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
from numpy.typing import NDArray

from hexlit.hex.record import GameRecord


class HexDataModule(L.LightningDataModule):
    """Training positions, and the facts about them for a run."""

    evaluations: int = 0
    """Number of network evaluations for making the data so far."""

    memory_share: float = 1.0
    """The learner's share of its device's memory cap; processes that make the data there have the rest."""

    def prepare(self) -> None:
        """Compile the code that makes the data, or load it."""
        return

    def cpu_seconds(self) -> float:
        """Processor time of other processes that make the data."""
        return 0.0

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Numbers to log after every epoch."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Entries for `summary.json`: `games`, `positions` and other facts."""

    @abstractmethod
    def some_planes(self, count: int) -> NDArray[np.int8]:
        """int8 `[P, 5, n, n]`: up to `count` positions, drawn by the seed; empty if there are none."""

    def some_games(self, count: int) -> list[GameRecord]:
        """Up to `count` of the latest games; empty if no games are played."""
        return []

    @abstractmethod
    def files(self) -> list[Path]:
        """The files of the games' store."""

    def close(self) -> None:
        """End the processes that make the data; called after an exception too."""
        return
