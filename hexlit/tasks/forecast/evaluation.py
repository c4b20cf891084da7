"""The single use of the test set, at the end of a run: the model beside plain references, on the same windows."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hexlit.tasks.forecast.data_module import ForecastDataModule
from hexlit.tasks.forecast.metrics import Errors, ErrorSums, persistence, seasonal_naive, skill
from hexlit.tasks.forecast.nets import ForecastNet
from hexlit.tasks.forecast.ridge import fit_ridge
from hexlit.tasks.forecast.windows import ForecastBatch

OVERALL = "all"

Forecaster = Callable[[ForecastBatch], Tensor | None]
"""Scaled forecasts `[B, P, T]` of a batch; None if its past is too short."""


@dataclass(frozen=True)
class ErrorRow:
    """Errors of one forecaster for one target, at one horizon or overall."""

    forecaster: str
    """`model`, `persistence`, `seasonal` or `ridge`."""
    target: str
    horizon: int | str
    """Steps ahead, or `all`."""
    windows: int
    mae: float
    rmse: float
    r2: float
    skill_over_persistence: float
    skill_over_seasonal: float
    """Skill over the seasonal naive forecast; NaN if the past is shorter than the season."""

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, for a table."""
        return asdict(self)


@dataclass(frozen=True)
class Example:
    """One window with its forecast, in units and in times, for a figure."""

    series: str
    target: str
    past_times: list[str]
    past: list[float]
    times: list[str]
    truth: list[float]
    forecast: list[float]
    seasonal: list[float] | None


def test_table(net: ForecastNet, data: ForecastDataModule) -> list[ErrorRow]:
    """Errors on the test windows by forecaster, target and horizon, each target's overall row first.

    Call it once, at the end.
    """
    return error_table(net, data, "test")


test_table.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest's


def error_table(net: ForecastNet, data: ForecastDataModule, split: str) -> list[ErrorRow]:
    """As `test_table`, on the windows of `split`."""
    spec = data.spec
    every = forecasters(net, data)
    sums: dict[str, ErrorSums] = {}
    for batch in data.in_order(split):
        for name, forecaster in every.items():
            forecast = forecaster(batch)
            if forecast is not None:
                sums.setdefault(name, ErrorSums()).update(forecast, batch.target)
    return _rows(sums, spec.targets, spec.horizons, spec.target_std)


def forecasters(net: ForecastNet, data: ForecastDataModule) -> dict[str, Forecaster]:
    """The model and its references by name, the model first.

    `ridge` is fitted to the training windows, with a penalty chosen on validation.
    """
    spec = data.spec
    targets = len(spec.targets)
    ridge = fit_ridge(data.in_order("train"), data.in_order("validation"), len(spec.series))
    device = next(net.parameters()).device
    return {
        "model": lambda batch: forecast_batch(net, batch, device),
        "persistence": lambda batch: persistence(batch.history, len(spec.horizons), targets),
        "seasonal": lambda batch: seasonal_naive(batch.history, spec.horizons, targets, spec.season),
        "ridge": ridge.forecast,
    }


def forecast_batch(net: ForecastNet, batch: ForecastBatch, device: torch.device) -> Tensor:
    """Scaled forecasts `[B, P, T]` of `net`, which is on `device`, on the CPU and without dropout."""
    was_training = net.training
    net.eval()
    with torch.no_grad():
        inputs = (batch.history, batch.future, batch.statics, batch.series)
        found: Tensor = net(*(part.to(device) for part in inputs)).cpu()
    net.train(was_training)
    return found


def examples(net: ForecastNet, data: ForecastDataModule, count: int = 6, split: str = "test") -> list[Example]:
    """`count` windows of the first target, evenly spread over the windows of `split`."""
    windows, spec = data.windows[split], data.spec
    rows = np.unique(np.linspace(0, len(windows) - 1, count).round().astype(np.int64))
    batch = data.table.batch(windows.series[rows], windows.origin[rows])
    device = next(net.parameters()).device
    seasonal = seasonal_naive(batch.history, spec.horizons, len(spec.targets), spec.season)
    parts = {
        "past": batch.history[:, :, : len(spec.targets)],
        "truth": batch.target,
        "forecast": forecast_batch(net, batch, device),
        **({} if seasonal is None else {"seasonal": seasonal}),
    }
    in_units = {name: spec.in_units(part.numpy())[:, :, 0].tolist() for name, part in parts.items()}
    past, ahead = np.arange(1 - spec.history, 1), np.array(spec.horizons)
    return [
        Example(
            series=spec.series[int(batch.series[row])],
            target=spec.targets[0],
            past_times=[str(time) for time in data.grid.times(int(batch.origin[row]) + past)],
            past=in_units["past"][row],
            times=[str(time) for time in data.grid.times(int(batch.origin[row]) + ahead)],
            truth=in_units["truth"][row],
            forecast=in_units["forecast"][row],
            seasonal=in_units["seasonal"][row] if seasonal is not None else None,
        )
        for row in range(len(rows))
    ]


def _rows(sums: dict[str, ErrorSums], targets: list[str], horizons: list[int], std: list[float]) -> list[ErrorRow]:
    """Rows in the order of forecaster, target, overall and horizon."""
    rows = []
    places: list[int | str] = [OVERALL, *horizons]
    # Overall first: errors `[1 + P, T]`.
    errors = {name: _stacked(each.overall(std), each.by_horizon(std)) for name, each in sums.items()}
    for name, own in errors.items():
        skills = [
            skill(own.mae, errors[naive].mae) if naive in errors else np.full_like(own.mae, np.nan)
            for naive in ("persistence", "seasonal")
        ]
        for column, target in enumerate(targets):
            for row, horizon in enumerate(places):
                found = [float(each[row, column]) for each in (own.mae, own.rmse, own.r2, *skills)]
                rows.append(ErrorRow(name, target, horizon, sums[name].count, *found))
    return rows


def _stacked(overall: Errors, by_horizon: Errors) -> Errors:
    parts = [(getattr(overall, name), getattr(by_horizon, name)) for name in ("mae", "rmse", "r2")]
    return Errors(*(np.concatenate([first[None], rest]) for first, rest in parts))
