"""Networks that forecast, their errors in units, and Lightning's modules of data and learning."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import lightning as L
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from hexlit.accelerate.collectives import all_gather_rows
from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.precision import onednn_takes_bf16
from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig, ForecastNetConfig, ForecastTrainConfig
from hexlit.tasks.forecast.data import (
    MAX_GAP,
    ForecastBatch,
    Windows,
    WindowSpec,
    WindowTable,
    fit_spec,
    in_batches,
    read_grid,
)
from hexlit.tasks.supervised import SupervisedModule, check_unchanged
from hexlit.tasks.tables import SPLITS
from hexlit.training.module import Learning

NAIVE = ("persistence", "seasonal")
"""Naive forecasts; see `naive_forecasts`."""


Numbers = NDArray[np.float64]
Loss = Callable[[Tensor, Tensor], Tensor]
LOSSES: dict[str, Loss] = {
    "mae": functional.l1_loss,
    "mse": functional.mse_loss,
    "huber": functional.huber_loss,
}
"""Losses of scaled values by name."""
TREND_STEPS = 13
"""Length of the moving average of `TrendEncoder`; odd, so that it has a middle."""
EMBEDDING = 4
"""Size of the embedding of a series."""


class ForecastDataModule(L.LightningDataModule):
    """Training, validation and test windows of one table.

    The time axis is cut at the same two times for all series. Past and targets of a window lie on
    one side of a cut, so no row is in windows of two splits.

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
        """Training windows in whole batches, each at most once, in an order that depends on seed
        and epoch alone.

        The windows left over differ from epoch to epoch. Fewer windows than a batch are one smaller
        batch.
        """
        assert self.trainer is not None
        windows, size = self.windows["train"], self.profile.train_batch
        order = np.random.default_rng([self.seed, self.trainer.current_epoch]).permutation(
            len(windows)
        )
        order = order[: max(len(order) // size * size, min(size, len(order)))]
        return make_loader(windows, self.profile, sampler=in_batches(order, size), batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Every validation window once, in the order of series and time."""
        windows = self.windows["validation"]
        rows = in_batches(np.arange(len(windows)), self.profile.evaluation_batch)
        return make_loader(windows, self.profile, sampler=rows, batch_size=None)

    def summary(self) -> dict[str, Any]:
        """Plain containers: windows and times of the splits, dropped rows and windows with reasons,
        filled values.
        """
        times = [str(time) for time in self.grid.times(np.array((0, *self.cuts, self.grid.steps)))]
        return {
            "windows": {split: len(windows) for split, windows in self.windows.items()},
            "rows_left_out": self.grid.left_out,
            "dropped": {split: windows.dropped for split, windows in self.windows.items()},
            "begins": dict(zip(SPLITS, times, strict=False)),
            "end": times[-1],
            "filled": dict(
                zip(self.spec.values, self.table.filled.sum((0, 1)).tolist(), strict=True)
            ),
        }

    def state_dict(self) -> dict[str, Any]:
        """Splits, columns and scaling."""
        return {"cuts": list(self.cuts), "spec": asdict(self.spec)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint, with the same rows in the same splits.

        Raises:
            UsageError: the table or its settings differ from those of the run.
        """
        was, now = (
            {"cuts": state["cuts"], **state["spec"]} for state in (state_dict, self.state_dict())
        )
        check_unchanged(was, now)

    def _find(self, split: str) -> Windows:
        number = SPLITS.index(split)
        begin, end = (0, *self.cuts, self.grid.steps)[number : number + 2]
        windows = Windows(self.table, begin, end)
        if not len(windows):
            needed = self.spec.history + self.spec.horizon
            missing = np.isnan(self.grid.values[:, begin:end]).mean((0, 1))
            shares = ", ".join(
                f"{share:.0%} of {name}"
                for name, share in zip(self.spec.values, missing, strict=True)
            )
            raise UsageError(
                f"data: the {split} split of {end - begin} steps has no window of {needed} (data.history + "
                f"data.horizon) without gaps above {MAX_GAP} steps; missing are {shares}"
            )
        return windows


class RecurrentEncoder(nn.Module):
    """Layers of LSTM or GRU, each of its own size; the code is the last output `[B, D]`.

    Dropout acts on the outputs of every layer. torch's own acts only between layers, so never with
    a single one.
    """

    def __init__(self, kind: str, inputs: int, units: list[int], dropout: float) -> None:
        """Layers of `units`, of `kind` lstm or gru."""
        super().__init__()
        layer = nn.LSTM if kind == "lstm" else nn.GRU
        sizes = zip([inputs, *units], units, strict=False)
        self.layers = nn.ModuleList(
            layer(before, after, batch_first=True) for before, after in sizes
        )
        self.dropout = nn.Dropout(dropout)
        self.width = units[-1]

    def forward(self, history: Tensor) -> Tensor:
        """The code of `history` `[B, H, F]`."""
        # oneDNN refuses an LSTM in bfloat16 where it has none; float32 takes its place.
        refused = history.device.type == "cpu" and not onednn_takes_bf16()
        with torch.autocast("cpu", enabled=False) if refused else nullcontext():
            for layer in self.layers:
                history = self.dropout(layer(history)[0])
        return history[:, -1]


class TrendEncoder(nn.Module):
    """Trend and remainder of every input: with a linear head this is DLinear (Zeng et al. 2023).

    The trend is a moving average; the edges of the past are repeated.
    """

    def __init__(self, inputs: int, history: int, dropout: float) -> None:
        """For a past of `history` steps with `inputs` values each."""
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.width = 2 * inputs * history

    def forward(self, history: Tensor) -> Tensor:
        """The code `[B, 2 * H * F]` of `history` `[B, H, F]`."""
        columns = history.transpose(1, 2)
        edge = TREND_STEPS // 2
        padded = functional.pad(columns, (edge, edge), mode="replicate")
        trend = functional.avg_pool1d(padded, TREND_STEPS, 1)
        parts: Tensor = self.dropout(torch.cat([trend, columns - trend], 1).flatten(1))
        return parts


class ForecastNet(nn.Module):
    """An encoder of the past, an embedding of the series and a dense head: all steps ahead at once.

    The past of the targets is relative to the last known value, and the forecast is the change from
    it, as in NLinear (Zeng et al. 2023): a level that training never had is harmless. The last
    layer begins at zero, so an untrained network forecasts the last known value.
    """

    def __init__(self, config: ForecastNetConfig, spec: WindowSpec) -> None:
        """A fresh network of the kind of `config` for windows of `spec`."""
        super().__init__()
        self.targets = len(spec.targets)
        self.encoder: RecurrentEncoder | TrendEncoder
        if config.kind == "linear":
            self.encoder = TrendEncoder(spec.inputs, spec.history, config.dropout)
        else:
            self.encoder = RecurrentEncoder(config.kind, spec.inputs, config.units, config.dropout)
        self.embedding = nn.Embedding(len(spec.names), EMBEDDING)
        width = self.encoder.width + EMBEDDING + spec.horizon * spec.calendars
        outputs = spec.horizon * self.targets
        hidden: list[nn.Module] = []
        if config.kind == "linear":
            last = nn.Linear(width, outputs)
        else:
            last = nn.Linear(config.head, outputs)
            hidden = [nn.Linear(width, config.head), nn.ReLU(), nn.Dropout(config.dropout)]
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.head = nn.Sequential(*hidden, last)

    def forward(self, history: Tensor, future: Tensor, series: Tensor) -> Tensor:
        """Scaled forecasts float32 `[B, P, T]`; the arguments are as in `ForecastBatch`."""
        targets = history[:, :, : self.targets]
        others = history[:, :, self.targets :]
        last = targets[:, -1:]
        relative = torch.cat([targets - last, others], 2)
        code = self.encoder(relative)
        calendar = future.flatten(1)
        name = self.embedding(series)
        change: Tensor = self.head(torch.cat([code, calendar, name], 1)).float()
        change = change.view(len(last), -1, self.targets)
        return change + last


@dataclass(frozen=True)
class Errors:
    """Errors of a set of windows, `[1 + P, T]`: over all horizons, then by horizon."""

    mae: Numbers
    """Mean absolute error, in the target's unit."""
    rmse: Numbers
    """Root of the mean squared error, in the target's unit."""
    r2: Numbers
    """Explained share of the truth's variance, 1 at best; NaN if the truth never changes."""


def errors_of(batches: Iterable[tuple[Tensor, Tensor]], std: list[float]) -> Errors:
    """Errors of scaled forecasts and their truth, both `[B, P, T]` a batch; `std` `[T]` converts
    them to units.

    Scaled values keep sums in float32 exact.
    """
    sums, count = torch.zeros(()), 0
    for forecast, truth in batches:
        error, truth = (forecast - truth).float(), truth.float()
        own = torch.stack(
            [part.sum(0) for part in (error.abs(), error.square(), truth, truth.square())]
        )
        sums = sums + own if count else own
        count += len(truth)
    totals = sums.cpu().numpy().astype(np.float64)
    means = np.concatenate(
        [totals.sum(1, keepdims=True) / (count * totals.shape[1]), totals / count], 1
    )
    absolute, squared, truth_mean, truth_squared = means
    variance = truth_squared - truth_mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(variance > 1e-9, 1 - squared / variance, np.nan)
    return Errors(mae=absolute * np.array(std), rmse=np.sqrt(squared) * np.array(std), r2=r2)


def skill(mae: Numbers, mae_of_naive: Numbers) -> Numbers:
    """1 - MAE / MAE of a naive forecast: 1 is perfect, 0 as good as naive, below 0 worse."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mae_of_naive > 0, 1 - mae / mae_of_naive, np.nan)


def naive_forecasts(history: Tensor, spec: WindowSpec) -> dict[str, Tensor]:
    """Scaled forecasts `[B, P, T]` from a past `[B, H, F]` whose targets come first.

    `persistence` repeats the last known value. `seasonal` repeats the latest whole season before
    each horizon; a past that is shorter than the season has none.
    """
    targets = history[:, :, : len(spec.targets)]
    forecasts = {"persistence": targets[:, -1:].expand(-1, spec.horizon, -1)}
    if spec.history >= spec.season:
        # The step before the forecast is -1; a horizon h looks back by the least number of seasons
        # that covers it.
        steps = [
            spec.history - 1 + ahead - spec.season * -(-ahead // spec.season)
            for ahead in range(1, spec.horizon + 1)
        ]
        forecasts["seasonal"] = targets[:, steps]
    return forecasts


class ForecastModule(SupervisedModule):
    """Learns all horizons of all targets at once.

    Validation logs `val.mae`, `val.rmse`, `val.r2` and the skill over the naive forecasts.
    `val.mae` is in the target's unit. With several targets it is the mean over them, and
    `val.mae_TARGET` is logged too.
    """

    inputs = 3

    def __init__(
        self, config: ForecastTrainConfig, spec: WindowSpec, profile: DeviceProfile
    ) -> None:
        """A fresh network for the windows of `spec`."""
        facts = {
            "task": "forecast",
            "net": asdict(config.net),
            "spec": asdict(spec),
            "loss": config.loss,
        }
        super().__init__(
            ForecastNet(config.net, spec), config.optimizer, config.trainer, profile, facts
        )
        self.spec = spec
        self.loss = LOSSES[config.loss]
        self._judged: list[tuple[Tensor, ...]] = []

    @classmethod
    def from_hyperparameters(
        cls, settings: Mapping[str, Any], learning: Learning, profile: DeviceProfile
    ) -> Self:
        config = ForecastTrainConfig(
            net=ForecastNetConfig(**settings["net"]), loss=settings["loss"], **learning._asdict()
        )
        return cls(config, WindowSpec(**settings["spec"]), profile)

    def losses(self, output: Tensor, batch: ForecastBatch) -> dict[str, Tensor]:
        return {"loss": self.loss(output.float(), batch.target)}

    def measures(self, output: Tensor, batch: ForecastBatch) -> dict[str, Tensor]:
        """Mean absolute error in units; forecasts are kept for measures over the whole epoch."""
        forecast, targets = output.float(), self.spec.targets
        naive = naive_forecasts(batch.history, self.spec)
        self._judged.append((batch.target, forecast, *naive.values()))
        std = torch.tensor(self.spec.target_std, device=output.device)
        mae = (forecast - batch.target).abs().mean((0, 1)) * std
        result = {"mae": mae.mean()}
        if len(targets) > 1:
            for name, value in zip(targets, mae, strict=True):
                result[f"mae_{name}"] = value
        return result

    def on_validation_epoch_end(self) -> None:
        """Log RMSE, R² and the skill over the naive forecasts, over all windows, means over
        targets.
        """
        truth, *forecasts = zip(*all_gather_rows(self._judged), strict=True)
        self._judged = []
        model, *naive = (
            errors_of(zip(own, truth, strict=True), self.spec.target_std) for own in forecasts
        )
        self.log_dict(
            {"val.rmse": float(model.rmse[0].mean()), "val.r2": float(model.r2[0].mean())}
        )
        for name, errors in zip(NAIVE, naive, strict=False):
            self.log(f"val.skill_over_{name}", float(np.mean(skill(model.mae[0], errors.mae[0]))))

    def example_batch(self, count: int) -> ForecastBatch:
        return blank_batch(self.spec, count, self.device)


def blank_batch(spec: WindowSpec, count: int, device: torch.device) -> ForecastBatch:
    """`count` windows on `device` that contain only means."""
    zeros = partial(torch.zeros, device=device)
    return ForecastBatch(
        history=zeros(count, spec.history, spec.inputs),
        future=zeros(count, spec.horizon, spec.calendars),
        series=zeros(count, dtype=torch.long),
        target=zeros(count, spec.horizon, len(spec.targets)),
        origin=zeros(count, dtype=torch.long),
    )
