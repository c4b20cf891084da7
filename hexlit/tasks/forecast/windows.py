"""Windows of a grid: the windows of each split, and batches of them in one gather."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from hexlit.tasks.forecast.grid import Grid, carried_forward
from hexlit.tasks.forecast.spec import WindowSpec
from hexlit.tasks.forecast.times import calendar_features


class ForecastBatch(NamedTuple):
    """B windows: H steps of the past with F inputs, P horizons with T targets. Values are scaled."""

    history: Tensor
    """Past, float32 `[B, H, F]`: values (targets first), 1 for each filled one, calendar."""
    future: Tensor
    """Calendar of the forecast steps, float32 `[B, P, C]`."""
    statics: Tensor
    """Static columns, float32 `[B, K]`."""
    series: Tensor
    """Index of the series, int64 `[B]`."""
    target: Tensor
    """Targets, float32 `[B, P, T]`; NaN beyond the end of the grid."""
    origin: Tensor
    """Last step of the past, on the grid, int64 `[B]`."""


@dataclass(frozen=True)
class Windows:
    """N windows of one split, and the reasons for dropped ones."""

    series: NDArray[np.int64]
    """Index of the series, `[N]`."""
    origin: NDArray[np.int64]
    """Last step of the past, `[N]`."""
    dropped: dict[str, int]
    """Number of dropped windows, by reason."""

    def __len__(self) -> int:
        """Number of windows, N."""
        return len(self.series)


class WindowTable:
    """All rows of a grid as tensors. A batch of windows is one gather from them, without a loop.

    Attributes:
        filled: whether the last known value replaces a missing one, bool `[S, T, V]`.
        has_input: whether every value was read or filled, bool `[S, T]`.
        has_target: whether every target was read, bool `[S, T]`.
    """

    def __init__(self, grid: Grid, spec: WindowSpec, cuts: tuple[int, ...] = ()) -> None:
        """Scale and fill the values of `grid`; nothing is filled across the `cuts` between splits."""
        values, self.filled = carried_forward(grid.values, spec.max_gap, cuts)
        known = np.isfinite(grid.values)
        self.has_input = np.all(known | self.filled, axis=2)
        self.has_target = np.all(known[:, :, : len(spec.targets)], axis=2)
        self.spec = spec
        self.steps = grid.steps
        scaled = np.nan_to_num((values - np.array(spec.mean)) / np.array(spec.std))
        beyond = np.arange(grid.steps + max(spec.horizons), dtype=np.int64)
        calendar = calendar_features(grid.times(beyond), spec.timezone, spec.calendar)
        of_past = np.broadcast_to(calendar[None, : grid.steps], (len(grid.series), grid.steps, calendar.shape[1]))
        inputs = np.concatenate([scaled, self.filled, of_past], 2).astype(np.float32)
        self._inputs = torch.from_numpy(inputs.reshape(-1, inputs.shape[2]))
        truth = (grid.values[:, :, : len(spec.targets)] - np.array(spec.mean)[: len(spec.targets)]) / spec.target_std
        self._truth = torch.from_numpy(truth.astype(np.float32).reshape(-1, len(spec.targets)))
        self._calendar = torch.from_numpy(calendar)
        self._statics = torch.tensor(spec.statics, dtype=torch.float32).reshape(len(spec.series), -1)
        self._past = torch.arange(1 - spec.history, 1)
        self._ahead = torch.tensor(spec.horizons)

    def batch(self, series: NDArray[np.int64], origin: NDArray[np.int64]) -> ForecastBatch:
        """The windows of `series` `[B]` whose past ends at step `origin` `[B]`."""
        numbers, steps = torch.from_numpy(series), torch.from_numpy(origin)
        past = (numbers * self.steps + steps)[:, None] + self._past
        ahead = steps[:, None] + self._ahead
        # A forecast beyond the last row has no truth, not the first row of the next series.
        inside = ahead < self.steps
        target = self._truth[numbers[:, None] * self.steps + torch.where(inside, ahead, 0)]
        return ForecastBatch(
            history=self._inputs[past],
            future=self._calendar[ahead],
            statics=self._statics[numbers],
            series=numbers,
            target=torch.where(inside[:, :, None], target, torch.nan),
            origin=steps,
        )


def find_windows(table: WindowTable, *, begin: int, end: int, stride: int = 1) -> Windows:
    """Every window whose past and targets lie in the steps `begin` to `end` (left out), one each `stride` steps.

    A window is dropped if an input of its past was neither read nor filled, or if a target was not read.
    """
    spec = table.spec
    origins = np.arange(begin + spec.history - 1, end - max(spec.horizons), stride)
    gaps = np.cumsum(~table.has_input, 1)
    gaps = np.concatenate([np.zeros((len(gaps), 1), np.int64), gaps], 1)
    has_past = gaps[:, origins + 1] == gaps[:, origins + 1 - spec.history]
    has_future = np.ones_like(has_past)
    for ahead in spec.horizons:
        has_future &= table.has_target[:, origins + ahead]
    series, place = np.nonzero(has_past & has_future)
    dropped = {"gap in the past": int((~has_past).sum()), "missing target": int((has_past & ~has_future).sum())}
    return Windows(series, origins[place], dropped)


class WindowBatches(Dataset[ForecastBatch]):
    """The batches of one epoch."""

    def __init__(self, table: WindowTable, windows: Windows, order: NDArray[np.int64], batch: int) -> None:
        """Windows number `order` of `windows`, `batch` at once; the last batch has the rest."""
        self._table = table
        self._series, self._origin = windows.series[order], windows.origin[order]
        self._batch = batch

    def __len__(self) -> int:
        """Number of batches."""
        return -(-len(self._series) // self._batch)

    def __iter__(self) -> Iterator[ForecastBatch]:
        """All batches, in order."""
        return (self[step] for step in range(len(self)))

    def __getitem__(self, step: int) -> ForecastBatch:
        """Batch number `step`."""
        if not 0 <= step < len(self):
            raise IndexError(step)
        rows = slice(step * self._batch, (step + 1) * self._batch)
        return self._table.batch(self._series[rows], self._origin[rows])


def shuffled(windows: Windows, *, batch: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """Numbers of windows for an epoch of whole batches, each at most once, by `seed` and `epoch` alone.

    The windows left over differ from epoch to epoch. Fewer windows than a batch are one smaller batch.
    """
    order = np.random.default_rng([seed, epoch]).permutation(len(windows))
    return order[: max(len(order) // batch * batch, min(batch, len(order)))]
