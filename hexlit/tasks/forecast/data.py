"""Windows of a table: their scaling, their split by time, and batches of them as a LightningDataModule."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import lightning as L
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.forecast.grid import TimeGrid, calendar_features, carried_forward, read_grid

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class WindowSpec:
    """Columns, window, grid and scaling, in plain containers.

    V are the columns of values, C the calendar features, K the static ones, T the targets, P the horizons.
    """

    time: list[str]
    time_format: str | None
    timezone: str | None
    calendar: list[str]
    series_column: str | None
    series: list[str]
    """Names of the series, in the order of their indices."""
    static_columns: list[str]
    statics: list[list[float]]
    """Scaled static columns of every series, `[S, K]`."""
    targets: list[str]
    features: list[str]
    step_minutes: int
    history: int
    horizons: list[int]
    season: int
    max_gap: int
    mean: list[float]
    """Means of the training rows, by column of values: targets first, `[V]`."""
    std: list[float]
    """Standard deviations of the training rows, `[V]`."""

    @property
    def values(self) -> list[str]:
        """Columns of values: targets first."""
        return [*self.targets, *self.features]

    @property
    def inputs(self) -> int:
        """Inputs of a step of the past: values, a flag for each filled one, calendar."""
        return 2 * len(self.values) + self.calendars

    @property
    def calendars(self) -> int:
        """Calendar features of a step."""
        return 2 * len(self.calendar)

    @property
    def source(self) -> ForecastDataConfig:
        """Columns to read from a new table. Its series are those of the training, with their static columns."""
        return ForecastDataConfig(
            time=self.time,
            time_format=self.time_format,
            timezone=self.timezone,
            series=self.series_column,
            targets=self.targets,
            features=self.features,
            step_minutes=self.step_minutes,
        )

    @property
    def target_std(self) -> list[float]:
        """Factors from scaled targets to their units, without the mean, `[T]`."""
        return self.std[: len(self.targets)]

    def in_units(self, scaled: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scaled targets `[..., T]` in their units."""
        count = len(self.targets)
        return np.asarray(scaled.astype(np.float64) * np.array(self.std[:count]) + np.array(self.mean[:count]))


def fit_spec(config: ForecastDataConfig, grid: TimeGrid, train_steps: int) -> WindowSpec:
    """The spec of `config` and `grid`, scaled only by its first `train_steps` steps.

    A column that never changes there keeps its unit.
    """
    rows = grid.values[:, :train_steps].reshape(-1, grid.values.shape[2])
    known = np.isfinite(rows)
    count = np.maximum(known.sum(0), 1)
    mean = np.where(known, rows, 0).sum(0) / count
    std = np.sqrt(np.square(np.where(known, rows - mean, 0)).sum(0) / count)
    statics = grid.statics - grid.statics.mean(0)
    spread = statics.std(0)
    return WindowSpec(
        time=list(config.time),
        time_format=config.time_format,
        timezone=config.timezone,
        calendar=list(config.calendar),
        series_column=config.series,
        series=list(grid.series),
        static_columns=list(config.statics),
        statics=(statics / np.where(spread > 0, spread, 1)).tolist(),
        targets=list(config.targets),
        features=list(config.features),
        step_minutes=config.step_minutes,
        history=config.history,
        horizons=config.steps_ahead,
        season=config.season,
        max_gap=config.max_gap,
        mean=mean.tolist(),
        std=np.where(std > 0, std, 1).tolist(),
    )


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


class WindowTable:
    """All rows of a grid as tensors. A batch of windows is one gather from them, without a loop.

    Attributes:
        filled: whether the last known value replaces a missing one, bool `[S, T, V]`.
        has_input: whether every value was read or filled, bool `[S, T]`.
        has_target: whether every target was read, bool `[S, T]`.
    """

    def __init__(self, grid: TimeGrid, spec: WindowSpec, cuts: tuple[int, ...] = ()) -> None:
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


class Windows(Dataset[ForecastBatch]):
    """N windows of one split; an item is a whole batch, given by the numbers of its windows.

    Attributes:
        series: index of the series, `[N]`.
        origin: last step of the past, `[N]`.
        dropped: number of dropped windows, by reason.
    """

    def __init__(self, table: WindowTable, begin: int, end: int, stride: int) -> None:
        """Every window whose past and targets lie in the steps `begin` to `end` (left out), one each `stride` steps.

        A window is dropped if an input of its past was neither read nor filled, or if a target was not read.
        """
        spec = table.spec
        self._table = table
        origins = np.arange(begin + spec.history - 1, end - max(spec.horizons), stride)
        gaps = np.cumsum(~table.has_input, 1)
        gaps = np.concatenate([np.zeros((len(gaps), 1), np.int64), gaps], 1)
        has_past = gaps[:, origins + 1] == gaps[:, origins + 1 - spec.history]
        has_future = np.ones_like(has_past)
        for ahead in spec.horizons:
            has_future &= table.has_target[:, origins + ahead]
        self.series, columns = np.nonzero(has_past & has_future)
        self.origin = origins[columns]
        self.dropped = {
            "gap in the past": int((~has_past).sum()),
            "missing target": int((has_past & ~has_future).sum()),
        }

    def __len__(self) -> int:
        """Number of windows, N."""
        return len(self.series)

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> ForecastBatch:
        """The batch of the windows number `rows`."""
        return self._table.batch(self.series[rows], self.origin[rows])

    def batches(self, size: int) -> Iterator[ForecastBatch]:
        """Every window once in batches of `size`, in the order of series and time."""
        return (self[begin] for begin in in_batches(np.arange(len(self)), size))


def in_batches(rows: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """`rows` in batches of `size`; the last one has the rest."""
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


class ForecastDataModule(L.LightningDataModule):
    """Training, validation and test windows of one table.

    The time axis is cut at the same two times for all series. Past and targets of a window lie on one side of a cut, so
    no row is in windows of two splits.

    Attributes:
        grid: the table on a regular grid.
        spec: columns, window and scaling.
        cuts: first steps of validation and of test, on the grid.
        windows: by split.
    """

    def __init__(self, config: ForecastDataConfig, *, seed: int, profile: DeviceProfile) -> None:
        """Read and split the table of `config`. `seed` decides the order in each epoch.

        Raises:
            UsageError: the table cannot be read, or a split has no window.
        """
        super().__init__()
        self.config = config
        self.seed = seed
        self.profile = profile
        self.grid = read_grid(config.file, config)
        shares = (config.train_share, config.train_share + config.validation_share)
        self.cuts = tuple(round(share * self.grid.steps) for share in shares)
        self.spec = fit_spec(config, self.grid, self.cuts[0])
        self.table = WindowTable(self.grid, self.spec, self.cuts)
        self.windows = {split: self._find(split) for split in SPLITS}

    def train_dataloader(self) -> DataLoader[Any]:
        """Training windows in whole batches, each at most once, in an order that depends on seed and epoch alone.

        The windows left over differ from epoch to epoch. Fewer windows than a batch are one smaller batch.
        """
        assert self.trainer is not None
        windows, size = self.windows["train"], self.profile.train_batch
        order = np.random.default_rng([self.seed, self.trainer.current_epoch]).permutation(len(windows))
        order = order[: max(len(order) // size * size, min(size, len(order)))]
        return make_loader(windows, self.profile, sampler=in_batches(order, size), batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Every validation window once, in the order of series and time."""
        windows = self.windows["validation"]
        rows = in_batches(np.arange(len(windows)), self.profile.evaluation_batch)
        return make_loader(windows, self.profile, sampler=rows, batch_size=None)

    def in_order(self, split: str) -> Iterator[ForecastBatch]:
        """Batches of every window of `split` once, in the order of series and time."""
        return self.windows[split].batches(self.profile.evaluation_batch)

    def figures(self) -> dict[str, float]:
        """Windows of the splits that training uses, for the loggers."""
        return {f"{split}_windows": float(len(self.windows[split])) for split in ("train", "validation")}

    def summary(self) -> dict[str, Any]:
        """Plain containers: windows and times of the splits, dropped windows with reasons, gaps of each series."""
        times = [str(time) for time in self.grid.times(np.array((0, *self.cuts, self.grid.steps)))]
        return {
            "windows": {split: len(windows) for split, windows in self.windows.items()},
            "dropped": {split: windows.dropped for split, windows in self.windows.items()},
            "begins": dict(zip(SPLITS, times, strict=False)),
            "end": times[-1],
            "filled": dict(zip(self.spec.values, self.table.filled.sum((0, 1)).tolist(), strict=True)),
            "series": self.grid.report,
        }

    def state_dict(self) -> dict[str, Any]:
        """Splits, columns and scaling."""
        return {"cuts": list(self.cuts), "spec": asdict(self.spec)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint, with the same rows in the same splits.

        Raises:
            UsageError: the table or its settings differ from those of the run.
        """
        now, was = ({"cuts": state["cuts"], **state["spec"]} for state in (self.state_dict(), state_dict))
        for name, value in was.items():
            if now[name] != value:
                raise UsageError(f"data: {name} differs from that of the run; keep file and settings to resume")

    def _find(self, split: str) -> Windows:
        number = SPLITS.index(split)
        begin, end = (0, *self.cuts, self.grid.steps)[number : number + 2]
        windows = Windows(self.table, begin, end, self.config.stride)
        if len(windows):
            return windows
        needed = self.spec.history + max(self.spec.horizons)
        if end - begin < needed:
            raise UsageError(
                f"data: too few rows; the {split} split has {end - begin} steps, and a window takes {needed} "
                "(data.history + data.horizon)"
            )
        missing = np.isnan(self.grid.values[:, begin:end]).mean((0, 1))
        worst = int(np.argmax(missing))
        raise UsageError(
            f"data: every window of the {split} split has a gap; column {self.spec.values[worst]} is missing in "
            f"{missing[worst]:.0%} of its steps; leave it out, or raise data.max_gap={self.config.max_gap}"
        )
