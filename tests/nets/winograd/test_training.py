"""Convolutions trained by Winograd's kernels have
the values and the gradients of torch's in float64.
"""

from copy import deepcopy

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from hexlit.nets.tower import HexNet
from hexlit.nets.winograd import training
from hexlit.nets.winograd.training import WinogradConv2d, train_by_winograd
from hexlit.nets.winograd.vectors import POINTS
from tests.nets.test_evaluator import random_positions, trained_like

ERROR = 1e-5
"""Of values and gradients, relative to their norms."""


@pytest.fixture(autouse=True)
def _threads_restored() -> object:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def layer(inputs: int, outputs: int) -> WinogradConv2d:
    torch.manual_seed(0)
    return WinogradConv2d(inputs, outputs, 3, padding=1, bias=False)


def board(batch: int, channels: int, size: int) -> Tensor:
    x = torch.randn(batch, channels, size, size, generator=torch.Generator().manual_seed(batch))
    return x.to(memory_format=torch.channels_last)


def trained(conv: WinogradConv2d, x: Tensor) -> list[Tensor]:
    """Values, and gradients of the input and of the weights."""
    x = x.detach().requires_grad_()
    y = conv(x)
    return [
        y.detach(),
        *torch.autograd.grad(
            y, (x, conv.weight), board(len(x), y.shape[1], y.shape[2]).to(y.dtype)
        ),
    ]


def by_torch(conv: WinogradConv2d, x: Tensor) -> list[Tensor]:
    """As `trained`, in float64."""
    weight, x = conv.weight.detach().double().requires_grad_(), x.detach().double().requires_grad_()
    y = functional.conv2d(x, weight, padding=1)
    return [
        y.detach(),
        *torch.autograd.grad(y, (x, weight), board(len(x), y.shape[1], y.shape[2]).double()),
    ]


def assert_near(results: list[Tensor], expected: list[Tensor], error: float = ERROR) -> None:
    for result, right in zip(results, expected, strict=True):
        assert result.shape == right.shape
        assert (result.double() - right).norm() < error * right.norm()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("size", "inputs", "outputs", "batch"),
    [
        (2, 16, 16, 3),
        (5, 5, 32, 7),
        (5, 32, 32, 128),
        (7, 20, 7, 5),
        (11, 64, 64, 16),
        (19, 3, 16, 1),
    ],
)
def test_values_and_gradients_are_those_of_float64(
    size: int, inputs: int, outputs: int, batch: int, threads: int
) -> None:
    torch.set_num_threads(threads)
    conv, x = layer(inputs, outputs), board(batch, inputs, size)
    results = trained(conv, x)
    assert_near(results, by_torch(conv, x))
    assert results[0].is_contiguous(memory_format=torch.channels_last)
    assert all(torch.equal(*pair) for pair in zip(results, trained(conv, x), strict=True))


@pytest.mark.parametrize("tile", POINTS)
def test_every_tile_has_the_accuracy_of_float32(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "best_tile", lambda size, channels, batch: tile)
    conv, x = layer(32, 32), board(64, 32, 7)
    assert_near(trained(conv, x), by_torch(conv, x))


def test_neighbours_and_a_contiguous_input_change_no_value() -> None:
    conv, x = layer(32, 32), board(64, 32, 5)
    assert torch.equal(conv(x)[:50], conv(x[:50].contiguous()))


def test_under_autocast_it_computes_in_float32() -> None:
    conv, x = layer(16, 16), board(4, 16, 5).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        results = trained(conv, x)
    assert [result.dtype for result in results] == [torch.float32, torch.bfloat16, torch.float32]
    expected = by_torch(conv, x)
    assert_near([results[0], results[2]], [expected[0], expected[2]])
    assert_near(results[1:2], expected[1:2], 1e-2)


def test_what_does_not_suit_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_convolved", None)
    conv, x = layer(4, 4), board(2, 4, 3)
    assert conv.double()(x.double()).dtype == torch.float64
    assert conv.float()(x[:, :, :2]).shape == (2, 4, 2, 3)
    assert conv.float()(x[:0]).shape == (0, 4, 3, 3)
    with pytest.raises(RuntimeError, match="dtype|type"):
        conv(x.bfloat16())
    with torch.no_grad():
        conv(x)
    conv.eval()(x)


def gradients(net: HexNet, planes: Tensor) -> dict[str, Tensor]:
    net.zero_grad()
    output = net(planes)
    (output.policy_logits.square().mean() + output.value_logit.square().mean()).backward()
    return {
        name: weight.grad.clone()
        for name, weight in net.named_parameters()
        if weight.grad is not None
    }


def test_the_switch_changes_how_a_net_trains_and_nothing_else() -> None:
    net, planes = (
        trained_like(channels=32, blocks=[2]).train(),
        torch.from_numpy(random_positions(16, 5)).float(),
    )
    before, names, expected = deepcopy(net), list(net.state_dict()), gradients(net, planes)
    train_by_winograd(net, True)
    assert sum(isinstance(module, WinogradConv2d) for module in net.modules()) == 5
    net.load_state_dict(before.state_dict())
    for trainee in (net, deepcopy(net)):
        results = gradients(trainee, planes)
        assert any(not torch.equal(results[name], expected[name]) for name in expected)
        for name, right in expected.items():
            torch.testing.assert_close(
                results[name], right, rtol=1e-3, atol=1e-4 * float(right.abs().max()) + 1e-7
            )
    assert list(net.state_dict()) == names
    train_by_winograd(net, False)
    assert {type(module) for module in net.modules()} == {
        type(module) for module in before.modules()
    }
    net.load_state_dict(before.state_dict())
    assert all(torch.equal(value, expected[name]) for name, value in gradients(net, planes).items())
