"""The network by cuDNN's fused operators, whose stand-ins here are what they mean."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from hexlit.nets.config import NetConfig
from hexlit.nets.cudnn import CudnnBlock, CudnnForward
from hexlit.nets.evaluator import random_planes
from hexlit.nets.tower import HexNet, build_net

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Calls of the operators."""
    names: list[str] = []

    def relu(x: Tensor, weight: Tensor, bias: Any, *rest: Any) -> Tensor:
        names.append("relu")
        return functional.conv2d(x, weight, bias, *rest).relu()

    def add_relu(
        x: Tensor, weight: Tensor, z: Tensor, alpha: float, bias: Any, *rest: Any
    ) -> Tensor:
        names.append("add_relu")
        return (functional.conv2d(x, weight, bias, *rest) + alpha * z).relu()

    monkeypatch.setattr(torch, "cudnn_convolution_relu", relu)
    monkeypatch.setattr(torch, "cudnn_convolution_add_relu", add_relu)
    return names


def network(**settings: Any) -> HexNet:
    torch.manual_seed(1)
    net = build_net(NetConfig(channels=8, blocks=[4], **settings)).train()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
        net(torch.from_numpy(random_planes(32, 5)).float())  # moves the statistics
    return net.eval()


@pytest.mark.parametrize(
    ("settings", "fused"),
    [
        ({}, 3),
        ({"block": "bottleneck"}, 3),
        ({"attention": "se"}, 0),
        ({"global_pooling": False}, 4),
    ],
)
@pytest.mark.parametrize("size", [3, 7])
def test_its_answers_are_those_of_the_network(
    size: int, settings: dict[str, Any], fused: int, calls: list[str]
) -> None:
    """After new weights, too."""
    forward = CudnnForward(network(**settings), CPU, torch.float32, channels_last=True)
    other = network(**settings)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
        forward.refresh(other)
        planes = torch.from_numpy(random_planes(6, size))
        policy, value = forward(planes)
        expected = other(planes.float())
    torch.testing.assert_close(policy, expected.policy_logits, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(value, expected.value_logit, rtol=1e-4, atol=1e-4)
    assert calls.count("add_relu") == fused
    assert all(isinstance(block, CudnnBlock) for block in forward.twin.blocks)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"activation": "silu"}, "net.activation=silu"),
        ({"attention": "self"}, "net.attention=self"),
    ],
)
def test_a_network_with_other_parts_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(RuntimeError, match=rf"^{said} is not in cuDNN's fused operators"):
        CudnnForward(network(**settings), CPU, torch.float32, channels_last=True)
