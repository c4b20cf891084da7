"""What the training of a Hex network asks of its data, wherever the games come from."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
from numpy.typing import NDArray

from hexlit.hex.record import GameRecord


class HexDataModule(L.LightningDataModule):
    """Positions to learn from, with what a run tells of them."""

    evaluations: int = 0
    """Network evaluations that making the data has taken so far."""

    memory_share: float = 1.0
    """The learner's share of its device's memory cap; what makes the data there has the rest."""

    def prepare(self) -> None:
        """Compile what makes the data, or load it."""
        return

    def cpu_seconds(self) -> float:
        """Processor time of other processes that make the data."""
        return 0.0

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Numbers to log after every epoch."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """For `summary.json`: `games`, `positions` and what else there is to say."""

    @abstractmethod
    def some_planes(self, count: int) -> NDArray[np.int8]:
        """int8 `[P, 5, n, n]`: up to `count` positions, drawn by the seed, none where there are none."""

    def some_games(self, count: int) -> list[GameRecord]:
        """Up to `count` of the games played last; none where nothing is played."""
        return []

    @abstractmethod
    def files(self) -> list[Path]:
        """The files of the store that hold the games."""

    def close(self) -> None:
        """End what makes the data; called also after an exception."""
        return
