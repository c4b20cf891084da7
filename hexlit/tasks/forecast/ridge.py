"""Ridge regression from the whole window to all horizons, in closed form: a reference that takes a second."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from hexlit.tasks.forecast.windows import ForecastBatch, WindowBatches

PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4)
"""Penalties to choose from, by the MAE on validation."""


@dataclass(frozen=True)
class Ridge:
    """Weights `[D + 1, P * T]`, the last row the bias, and their penalty."""

    weights: NDArray[np.float64]
    penalty: float
    series: int

    def forecast(self, batch: ForecastBatch) -> torch.Tensor:
        """Scaled forecasts float32 `[B, P, T]`."""
        found = _design(batch, self.series) @ self.weights
        return torch.from_numpy(found.reshape(batch.target.shape).astype(np.float32))


def fit_ridge(train: WindowBatches, validation: WindowBatches, series: int) -> Ridge:
    """The best of `PENALTIES` on `validation`, all fitted to `train` by the normal equations; `series` is their number.

    The target is the change from the last known value, so a large penalty leads to persistence.
    """
    sums = None
    for batch in train:
        design = _design(batch, series)
        base = _weights_of_last(batch, design.shape[1])
        change = batch.target.flatten(1).double().numpy() - design @ base
        products = (design.T @ design, design.T @ change)
        sums = products if sums is None else (sums[0] + products[0], sums[1] + products[1])
    assert sums is not None
    gram, right = sums
    penalised = np.ones(len(gram))
    penalised[-1] = 0  # not the bias
    fitted = []
    for penalty in PENALTIES:
        weights = base + np.linalg.solve(gram + np.diag(penalty * penalised), right)
        ridge = Ridge(weights, penalty, series)
        error = sum(float((ridge.forecast(batch) - batch.target).abs().sum()) for batch in validation)
        fitted.append((error, ridge))
    return min(fitted, key=lambda one: one[0])[1]


def _design(batch: ForecastBatch, series: int) -> NDArray[np.float64]:
    """Inputs `[B, D + 1]`: the past, the calendar of the first forecast step, static columns, series, one."""
    kinds = torch.nn.functional.one_hot(batch.series, series)
    ones = torch.ones(len(batch.series), 1)
    parts = [batch.history.flatten(1), batch.future[:, 0], batch.statics, kinds, ones]
    return torch.cat(parts, 1).double().numpy()


def _weights_of_last(batch: ForecastBatch, width: int) -> NDArray[np.float64]:
    """Weights `[D + 1, P * T]` of the persistence forecast."""
    steps, inputs = batch.history.shape[1:]
    horizons, targets = batch.target.shape[1:]
    weights = np.zeros((width, horizons, targets))
    for target in range(targets):
        weights[(steps - 1) * inputs + target, :, target] = 1
    return weights.reshape(width, horizons * targets)
