"""Networks, errors and learning: shapes, beginning, cost, plain formulas, checkpoints."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hexlit.tasks.forecast.config import KINDS, ForecastNetConfig
from hexlit.tasks.forecast.data import WindowSpec
from hexlit.tasks.forecast.evaluation import forecast_batch, load_forecaster
from hexlit.tasks.forecast.module import (
    ForecastModule,
    ForecastNet,
    blank_batch,
    errors_of,
    naive_forecasts,
)
from hexlit.tasks.supervised import forward_flops
from tests.tasks.forecast.tables import hourly, make_data, make_module, save
from tests.training.trainers import quiet_trainer, validated

SPEC = WindowSpec(
    time="time",
    timezone=None,
    calendar=["hour", "weekday", "yearday"],
    series="place",
    names=["a", "b", "c"],
    targets=["temp", "wind"],
    features=[],
    step_minutes=60,
    history=8,
    horizon=5,
    season=4,
    mean=[0.0, 0.0],
    std=[3.0, 0.5],
)


def make_net(seed: int = 0, **settings: Any) -> ForecastNet:
    torch.manual_seed(seed)
    return ForecastNet(ForecastNetConfig(**{"hidden": 16, "head": 8} | settings), SPEC)


def inputs(count: int = 4) -> tuple[torch.Tensor, ...]:
    random = torch.Generator().manual_seed(1)
    return (
        torch.randn(count, 8, SPEC.inputs, generator=random),
        torch.randn(count, SPEC.horizon, SPEC.calendars, generator=random),
        torch.arange(count) % 3,
    )


def roused(net: ForecastNet) -> ForecastNet:
    """Away from the zeros it begins with."""
    with torch.no_grad():
        for parameter in net.head[-1].parameters():
            torch.nn.init.normal_(parameter)
    return net


VARIANTS = [*({"kind": kind} for kind in KINDS), {"kind": "gru", "second": 8}]


@pytest.mark.parametrize("settings", VARIANTS)
def test_forecasts_have_their_shape_and_every_input_and_weight_counts(
    settings: dict[str, Any],
) -> None:
    net = roused(make_net(**settings)).eval()
    arguments = inputs()
    for tensor in arguments[:2]:
        tensor.requires_grad_()
    forecast = net(*arguments)
    assert forecast.shape == (4, SPEC.horizon, 2)
    forecast.square().sum().backward()
    for tensor in arguments[:2]:
        assert tensor.grad is not None
        assert (tensor.grad != 0).any(0).all()
    assert all(
        parameter.grad is not None and (parameter.grad != 0).any() for parameter in net.parameters()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_untrained_network_forecasts_the_last_known_value(kind: str) -> None:
    history, *rest = inputs()
    assert torch.equal(
        make_net(kind=kind)(history, *rest), history[:, -1:, :2].expand(-1, SPEC.horizon, -1)
    )


def product(inputs: int, outputs: int) -> int:
    return 2 * inputs * outputs


def operations(**settings: Any) -> int:
    with torch.device("meta"):
        return forward_flops(make_net(**settings), *blank_batch(SPEC, 1, torch.device("meta"))[:3])


def test_operations_are_those_of_the_products() -> None:
    width = 4 + 5 * 6  # series, calendar of the forecast
    outputs = 10
    layers = product(10 + 16, 16) + product(16 + 8, 8)
    head = product(width + 8, 8) + product(8, outputs)
    for kind, gates in (("lstm", 4), ("gru", 3)):
        assert operations(kind=kind, second=8) == 8 * gates * layers + head
    assert operations(kind="linear") == product(2 * 80 + width, outputs)


STD = [3.0, 0.5]


def made(count: int = 50) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    truth = torch.randn(count, 4, 2, generator=random) + torch.tensor([0.3, -2.0])
    return truth + 0.4 * torch.randn(truth.shape, generator=random), truth


def test_errors_equal_the_plain_formulas_by_horizon_and_overall() -> None:
    forecast, truth = made()
    unit = np.array(STD)
    predicted, true = forecast.double().numpy() * unit, truth.double().numpy() * unit
    errors = errors_of([(forecast[part], truth[part]) for part in (slice(0, 7), slice(7, 50))], STD)
    for rows, axis in ((slice(1, None), (0,)), (0, (0, 1))):
        squared = (predicted - true) ** 2
        variance = (true - true.mean(axis, keepdims=True)) ** 2
        np.testing.assert_allclose(errors.mae[rows], np.abs(predicted - true).mean(axis), rtol=1e-5)
        np.testing.assert_allclose(errors.rmse[rows], np.sqrt(squared.mean(axis)), rtol=1e-5)
        np.testing.assert_allclose(
            errors.r2[rows], 1 - squared.sum(axis) / variance.sum(axis), rtol=1e-4
        )


@pytest.mark.parametrize(
    ("season", "expected"), [(4, [0, 1, 2, 3, 0, 1]), (3, [1, 2, 3, 1, 2, 3]), (1, [3] * 6)]
)
def test_naive_forecasts_repeat_the_last_value_and_the_latest_season(
    season: int, expected: list[int]
) -> None:
    spec = replace(SPEC, targets=["temp"], history=4, horizon=6, season=season)
    forecasts = naive_forecasts(torch.arange(8.0).view(1, 4, 2), spec)
    assert forecasts["persistence"].flatten().tolist() == [6.0] * 6
    assert forecasts["seasonal"].flatten().tolist() == [2.0 * step for step in expected]
    assert list(naive_forecasts(torch.zeros(1, 4, 2), replace(spec, season=5))) == ["persistence"]


WAVE: dict[str, Any] = {"history": 24, "horizon": 12, "season": 24}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(hourly(500), tmp_path_factory.mktemp("table") / "t.parquet")


def shaken(module: ForecastModule) -> ForecastModule:
    """Away from persistence, where it begins."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return module


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_learns_a_daily_wave_far_better_than_persistence(
    kind: str, path: Path
) -> None:
    data = make_data(path, **WAVE)
    module = make_module(data, kind=kind)
    quiet_trainer(3).fit(module, data)
    found = validated(module, data)
    assert found["skill_over_persistence"] > 0.6
    assert found["r2"] > 0.8


def test_validation_logs_errors_in_units_over_all_windows_and_skill_over_the_same(
    path: Path,
) -> None:
    """In batches and micro-batches of unequal size, as a plain formula over all windows at once."""
    data = make_data(path, accelerator={"micro_batch": 13, "evaluation_batch": 29}, **WAVE)
    module = shaken(make_module(data))
    found = validated(module, data)
    values, windows = data.grid.values[:, :, 0], data.windows["validation"]
    ahead = windows.origin[:, None] + np.arange(1, 13)
    truth = values[windows.series[:, None], ahead]
    batch = data.windows["validation"][:]
    error = data.spec.in_units(forecast_batch(module.net, batch).numpy())[:, :, 0] - truth
    mae = np.abs(error).mean()
    assert found["mae"] == pytest.approx(mae, rel=1e-4)
    assert found["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-4)
    assert found["r2"] == pytest.approx(
        1 - (error**2).sum() / ((truth - truth.mean()) ** 2).sum(), rel=1e-3
    )
    last = values[windows.series, windows.origin][:, None]
    day_before = values[windows.series[:, None], ahead - 24]
    for name, naive in (("persistence", last), ("seasonal", day_before)):
        assert found[f"skill_over_{name}"] == pytest.approx(
            1 - mae / np.abs(naive - truth).mean(), abs=1e-4
        )


@pytest.mark.parametrize("ema_decay", [0.0, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_gives_the_same_forecasts_without_pickle(
    kind: str, ema_decay: float, path: Path, tmp_path: Path
) -> None:
    data = make_data(path)
    module = make_module(data, kind=kind, ema_decay=ema_decay)
    trainer = quiet_trainer()
    trainer.fit(module, data)
    trainer.save_checkpoint(tmp_path / "checkpoints" / "last.ckpt")
    batch = data.windows["test"][:]
    expected = forecast_batch(module.net_in_use, batch)  # type: ignore[arg-type]
    assert not torch.equal(expected, forecast_batch(make_module(data, kind=kind).net, batch))
    for named in (tmp_path, tmp_path / "checkpoints" / "last.ckpt"):
        net, spec = load_forecaster(named)
        assert spec == data.spec
        assert torch.equal(forecast_batch(net, batch), expected)
    again = ForecastModule.load_from_checkpoint(named)
    assert torch.equal(forecast_batch(again.net_in_use, batch), expected)  # type: ignore[arg-type]
