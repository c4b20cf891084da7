"""Networks: shapes, dropout, where they begin, and what they cost."""

from typing import Any

import pytest
import torch

from hexlit.tasks.forecast.config import KINDS, ForecastNetConfig
from hexlit.tasks.forecast.flops import forward_flops
from hexlit.tasks.forecast.nets import ForecastNet, TrendEncoder, WindowShape, build_net

SHAPE = WindowShape(history=8, inputs=10, calendar=6, statics=2, series=3, horizons=5, targets=2)


def make_net(seed: int = 0, **settings: Any) -> ForecastNet:
    torch.manual_seed(seed)
    return build_net(ForecastNetConfig(**{"hidden": 16, "head": 8} | settings), SHAPE)


def inputs(count: int = 4) -> tuple[torch.Tensor, ...]:
    random = torch.Generator().manual_seed(1)
    return (
        torch.randn(count, SHAPE.history, SHAPE.inputs, generator=random),
        torch.randn(count, SHAPE.horizons, SHAPE.calendar, generator=random),
        torch.randn(count, SHAPE.statics, generator=random),
        torch.arange(count) % SHAPE.series,
    )


def roused(net: ForecastNet) -> ForecastNet:
    """Away from the zeros it begins with."""
    with torch.no_grad():
        for parameter in net.head[-1].parameters():
            torch.nn.init.normal_(parameter)
    return net


VARIANTS = [{"kind": kind} for kind in KINDS] + [
    {"kind": "lstm", "second": 8},
    {"kind": "gru", "second": 8, "third": 4},
    {"kind": "lstm", "embedding": 0, "residual": False},
]


@pytest.mark.parametrize("settings", VARIANTS)
def test_forecasts_have_their_shape_and_every_input_and_weight_counts(settings: dict[str, Any]) -> None:
    net = roused(make_net(**settings)).eval()
    arguments = inputs()
    for tensor in arguments[:3]:
        tensor.requires_grad_()
    forecast = net(*arguments)
    assert forecast.shape == (4, SHAPE.horizons, SHAPE.targets)
    forecast.square().sum().backward()
    for tensor in arguments[:3]:
        assert tensor.grad is not None
        assert (tensor.grad != 0).any(0).all()
    assert all(parameter.grad is not None and (parameter.grad != 0).any() for parameter in net.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_the_series_tells_forecasts_apart_by_its_embedding_alone(kind: str) -> None:
    history, future, statics, _ = (tensor[:1].expand(2, *tensor.shape[1:]) for tensor in inputs())
    series = torch.tensor([0, 2])
    told = roused(make_net(kind=kind)).eval()(history, future, statics, series)
    untold = roused(make_net(kind=kind, embedding=0)).eval()(history, future, statics, series)
    assert not torch.equal(told[0], told[1])
    assert torch.equal(untold[0], untold[1])


@pytest.mark.parametrize("kind", KINDS)
def test_an_untrained_network_forecasts_the_last_known_value(kind: str) -> None:
    history, *rest = inputs()
    assert torch.equal(make_net(kind=kind)(history, *rest), history[:, -1:, :2].expand(-1, SHAPE.horizons, -1))
    assert (make_net(kind=kind, residual=False)(history, *rest) == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_with_residual_a_shift_of_the_targets_shifts_the_forecast(kind: str) -> None:
    history, *rest = inputs()
    shifted = history.clone()
    shifted[:, :, :2] += torch.tensor([3.0, -1.0])
    net = roused(make_net(kind=kind)).eval()
    torch.testing.assert_close(net(shifted, *rest), net(history, *rest) + torch.tensor([3.0, -1.0]))
    plain = roused(make_net(kind=kind, residual=False)).eval()
    assert not torch.allclose(plain(shifted, *rest), plain(history, *rest) + torch.tensor([3.0, -1.0]))


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_acts_in_training_alone_also_with_one_layer(kind: str) -> None:
    net = roused(make_net(kind=kind, dropout=0.5, layers=1))
    arguments = inputs()
    assert not torch.equal(net.encoder(arguments[0]), net.encoder(arguments[0]))
    net.eval()
    assert torch.equal(net(*arguments), net(*arguments))


def test_dropout_drops_a_share_of_the_outputs_of_a_single_recurrent_layer() -> None:
    encoder = make_net(kind="lstm", hidden=500, dropout=0.3).encoder
    assert (encoder(inputs(40)[0]) == 0).float().mean() == pytest.approx(0.3, abs=0.02)


def test_trend_and_remainder_add_up_to_the_past() -> None:
    history = inputs()[0]
    trend, remainder = TrendEncoder(10, 8, 5, 0.0)(history).chunk(2, 1)
    torch.testing.assert_close((trend + remainder).view(4, 10, 8).transpose(1, 2), history)
    middle = trend.view(4, 10, 8)[:, :, 3]
    torch.testing.assert_close(middle, history[:, 1:6].mean(1))


def product(inputs: int, outputs: int) -> int:
    return 2 * inputs * outputs


def test_operations_are_those_of_the_products() -> None:
    width = 4 + 2 + 5 * 6  # series, statics, calendar of the forecast
    outputs = 10
    layers = product(10 + 16, 16) + product(16 + 8, 8)
    head = product(width + 8, 8) + product(8, outputs)
    for kind, gates in (("lstm", 4), ("gru", 3)):
        found = forward_flops(ForecastNetConfig(kind=kind, hidden=16, second=8, head=8), SHAPE)
        assert found == 8 * gates * layers + head
    assert forward_flops(ForecastNetConfig(kind="linear"), SHAPE) == product(2 * 80 + width, outputs)
    attention = 8 * (product(16, 48) + product(16, 16) + 2 * product(16, 32)) + 2 * product(8 * 8, 16)
    expected = 8 * product(10, 16) + attention + product(width + 16, 8) + product(8, outputs)
    assert forward_flops(ForecastNetConfig(kind="transformer", hidden=16, layers=1, head=8), SHAPE) == expected
