"""Errors of forecasts in the targets' units: MAE, RMSE and R², by horizon and overall, and skill."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Errors:
    """Errors of a set of windows by target, `[T]` or by horizon and target, `[P, T]`."""

    mae: Numbers
    """Mean absolute error, in the target's unit."""
    rmse: Numbers
    """Root of the mean squared error, in the target's unit."""
    r2: Numbers
    """Explained share of the truth's variance, 1 at best; NaN if the truth never changes."""


class ErrorSums:
    """Sums over batches of forecasts, enough for their errors. Values are scaled, which keeps float32 sums exact."""

    def __init__(self) -> None:
        self.count = 0
        self._sums: Tensor | None = None

    def update(self, forecast: Tensor, truth: Tensor) -> None:
        """Add scaled forecasts `[B, P, T]` and their truth."""
        error = (forecast - truth).float()
        truth = truth.float()
        sums = torch.stack([error.abs().sum(0), error.square().sum(0), truth.sum(0), truth.square().sum(0)])
        self._sums = sums if self._sums is None else self._sums + sums
        self.count += len(truth)

    def on_cpu(self) -> "ErrorSums":
        """The same sums, for sending to another process."""
        same = ErrorSums()
        same.count, same._sums = self.count, None if self._sums is None else self._sums.cpu()
        return same

    def include(self, other: "ErrorSums") -> None:
        """Add the sums of `other`, which may be empty."""
        if other._sums is not None:
            self._sums = other._sums if self._sums is None else self._sums + other._sums
            self.count += other.count

    def by_horizon(self, std: list[float]) -> Errors:
        """Errors `[P, T]`; `std` `[T]` converts them to units."""
        return self._errors(self._found(), self.count, std)

    def overall(self, std: list[float]) -> Errors:
        """Errors `[T]` over all horizons."""
        sums = self._found()
        return self._errors(sums.sum(1), self.count * sums.shape[1], std)

    def _found(self) -> Numbers:
        assert self._sums is not None
        return self._sums.cpu().numpy().astype(np.float64)

    @staticmethod
    def _errors(sums: Numbers, count: int, std: list[float]) -> Errors:
        absolute, squared, truth, truth_squared = sums / count
        variance = truth_squared - truth**2
        unit = np.array(std)
        with np.errstate(divide="ignore", invalid="ignore"):
            r2 = np.where(variance > 1e-9, 1 - squared / variance, np.nan)
        return Errors(mae=absolute * unit, rmse=np.sqrt(squared) * unit, r2=r2)


def skill(mae: Numbers, mae_of_naive: Numbers) -> Numbers:
    """1 - MAE / MAE of a naive forecast: 1 is perfect, 0 as good as naive, below 0 worse."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mae_of_naive > 0, 1 - mae / mae_of_naive, np.nan)


def persistence(history: Tensor, horizons: int, targets: int) -> Tensor:
    """The last known value for every horizon, scaled `[B, P, T]`, of a past `[B, H, F]` whose targets come first."""
    return history[:, -1:, :targets].expand(-1, horizons, -1)


def seasonal_naive(history: Tensor, horizons: list[int], targets: int, season: int) -> Tensor | None:
    """The value of the latest whole season before each horizon, scaled `[B, P, T]`; None if the past is shorter."""
    steps = history.shape[1]
    if steps < season:
        return None
    # The step before the forecast is -1; a horizon h looks back by the least number of seasons that covers it.
    places = [steps - 1 + ahead - season * -(-ahead // season) for ahead in horizons]
    return history[:, places, :targets]
