"""Networks that forecast: an encoder of the past, and a head that adds the known facts of the future."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexlit.tasks.forecast.config import ForecastNetConfig
from hexlit.tasks.forecast.spec import WindowSpec


@dataclass(frozen=True)
class WindowShape:
    """Sizes of a window of `ForecastBatch`."""

    history: int
    """Number of steps of the past, H."""
    inputs: int
    """Number of inputs per step, F."""
    calendar: int
    """Number of calendar features per step, C."""
    statics: int
    """Number of static columns, K."""
    series: int
    """Number of series, S."""
    horizons: int
    """Number of forecast steps, P."""
    targets: int
    """Number of target columns, T."""

    @classmethod
    def of(cls, spec: WindowSpec) -> "WindowShape":
        """The sizes of the windows of `spec`."""
        return cls(
            history=spec.history,
            inputs=spec.inputs,
            calendar=2 * len(spec.calendar),
            statics=len(spec.static_columns),
            series=len(spec.series),
            horizons=len(spec.horizons),
            targets=len(spec.targets),
        )


class RecurrentEncoder(nn.Module):
    """Layers of LSTM or GRU, each of its own size; the code is the last output `[B, D]`.

    Dropout acts on the outputs of every layer. torch's own acts only between layers, so never with a single one.
    """

    def __init__(self, kind: str, inputs: int, units: list[int], dropout: float) -> None:
        """Layers of `units`, of `kind` lstm or gru."""
        super().__init__()
        layer = nn.LSTM if kind == "lstm" else nn.GRU
        sizes = [inputs, *units]
        self.layers = nn.ModuleList(
            layer(before, after, batch_first=True) for before, after in zip(sizes, units, strict=False)
        )
        self.dropout = nn.Dropout(dropout)
        self.width = units[-1]

    def forward(self, history: Tensor) -> Tensor:
        """The code of `history` `[B, H, F]`."""
        for layer in self.layers:
            history = self.dropout(layer(history)[0])
        return history[:, -1]


class TransformerEncoder(nn.Module):
    """A small pre-norm transformer (Vaswani et al. 2017) over the steps; the code is its output of the last step."""

    def __init__(self, inputs: int, history: int, config: ForecastNetConfig) -> None:
        """`config.layers` layers of width `config.hidden`, for a past of `history` steps."""
        super().__init__()
        width = config.hidden
        self.project = nn.Linear(inputs, width)
        layer = nn.TransformerEncoderLayer(
            width, config.heads, 2 * width, config.dropout, functional.gelu, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, config.layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.register_buffer("positions", _positions(history, width), persistent=False)
        self.positions: Tensor
        self.width = width

    def forward(self, history: Tensor) -> Tensor:
        """The code `[B, D]` of `history` `[B, H, F]`."""
        code: Tensor = self.layers(self.project(history) + self.positions)
        return code[:, -1]


class TrendEncoder(nn.Module):
    """Trend and remainder of every input, unchanged: with a linear head this is DLinear (Zeng et al. 2023)."""

    def __init__(self, inputs: int, history: int, trend: int, dropout: float) -> None:
        """The trend is a moving average of `trend` steps, the edges of the past repeated."""
        super().__init__()
        self.trend = trend
        self.dropout = nn.Dropout(dropout)
        self.width = 2 * inputs * history

    def forward(self, history: Tensor) -> Tensor:
        """The code `[B, 2 * H * F]` of `history` `[B, H, F]`."""
        columns = history.transpose(1, 2)
        padded = functional.pad(columns, (self.trend // 2, self.trend // 2), mode="replicate")
        trend = functional.avg_pool1d(padded, self.trend, 1)
        parts: Tensor = self.dropout(torch.cat([trend, columns - trend], 1).flatten(1))
        return parts


class ForecastNet(nn.Module):
    """An encoder of the past, an embedding of the series and a dense head: all horizons at once.

    With `residual` the past of the targets is relative to the last known value, and the forecast is the change from it,
    as in NLinear (Zeng et al. 2023). A level that training never had is then harmless. The last layer begins at zero,
    so an untrained network forecasts the last known value.
    """

    def __init__(self, config: ForecastNetConfig, shape: WindowShape) -> None:
        """A fresh network for windows of `shape`."""
        super().__init__()
        self.config = config
        self.shape = shape
        self.encoder = _encoder(config, shape)
        self.embedding = nn.Embedding(shape.series, config.embedding) if config.embedding else None
        width = self.encoder.width + config.embedding + shape.statics + shape.horizons * shape.calendar
        outputs = shape.horizons * shape.targets
        last = nn.Linear(width if config.kind == "linear" else config.head, outputs)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        if config.kind == "linear":
            self.head = nn.Sequential(last)
        else:
            self.head = nn.Sequential(nn.Linear(width, config.head), nn.ReLU(), nn.Dropout(config.dropout), last)

    def forward(self, history: Tensor, future: Tensor, statics: Tensor, series: Tensor) -> Tensor:
        """Scaled forecasts float32 `[B, P, T]`; the arguments are as in `ForecastBatch`."""
        targets = self.shape.targets  # the first of the inputs
        last = history[:, -1:, :targets]
        if self.config.residual:
            history = torch.cat([history[:, :, :targets] - last, history[:, :, targets:]], 2)
        parts = [self.encoder(history), statics, future.flatten(1)]
        if self.embedding is not None:
            parts.append(self.embedding(series))
        change: Tensor = self.head(torch.cat(parts, 1)).float()
        change = change.view(-1, self.shape.horizons, targets)
        return change + last if self.config.residual else change


def build_net(config: ForecastNetConfig, shape: WindowShape) -> ForecastNet:
    """A fresh network of the `kind` of `config`, for windows of `shape`."""
    return ForecastNet(config, shape)


def _encoder(config: ForecastNetConfig, shape: WindowShape) -> RecurrentEncoder | TransformerEncoder | TrendEncoder:
    """The encoder of the network's kind; the kinds differ in nothing else, except for the head of linear."""
    if config.kind == "linear":
        return TrendEncoder(shape.inputs, shape.history, config.trend, config.dropout)
    if config.kind == "transformer":
        return TransformerEncoder(shape.inputs, shape.history, config)
    return RecurrentEncoder(config.kind, shape.inputs, config.units, config.dropout)


def _positions(steps: int, width: int) -> Tensor:
    """Sines and cosines of the steps' numbers, float32 `[steps, width]` (Vaswani et al. 2017)."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angles = torch.arange(steps)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)
