"""`net.kernel=hex`: a convolution sees a cell and its six neighbours, also after training, on every backend."""

import numpy as np
import pytest
import torch
from torch import Tensor

from hexlit.errors import UsageError
from hexlit.hex.geometry import geometry
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet, build_net
from hexlit.training.config import OptimizerConfig
from hexlit.training.optimizer import build_optimizer
from tests.nets.test_evaluator import cpu_profile, evaluated, random_positions
from tests.nets.test_tower import planes_of, small

pytestmark = pytest.mark.row("F6")


def kernels(net: HexNet) -> list[Tensor]:
    return [m.weight for m in net.modules() if isinstance(m, torch.nn.Conv2d) and m.kernel_size == (3, 3)]


def trained(config: NetConfig, optimizer: str = "adamw") -> HexNet:
    torch.manual_seed(0)
    net = build_net(config)
    stepping = build_optimizer(OptimizerConfig(name=optimizer, weight_decay=0.1), net, fused=False, lr=0.05)
    for step in range(3):
        stepping.zero_grad()
        output = net(planes_of(8, 5, step))
        (output.policy_logits.square().sum() + output.value_logit.square().sum()).backward()
        stepping.step()
    return net.eval()


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "adamw_bf16", "adafactor"])
def test_the_weights_of_the_two_corners_stay_zero_in_training(optimizer: str) -> None:
    for block in ("basic", "bottleneck"):
        for weight in kernels(trained(small(kernel="hex", block=block), optimizer)):
            zero = (weight == 0).all(0).all(0)
            assert zero.nonzero().tolist() == [[0, 0], [2, 2]]
    assert all((weight != 0).any(0).any(0).all() for weight in kernels(trained(small(), optimizer)))


def test_a_stone_is_felt_by_its_neighbours_alone() -> None:
    """The rules' own table of neighbours says which: after the stem no other cell differs."""
    net, size = trained(small(kernel="hex")), 5
    table = geometry(size)
    empty = torch.zeros(1, 5, size, size)
    for cell in range(size**2):
        stone = empty.clone()
        stone[0, 0, cell // size, cell % size] = 1
        with torch.no_grad():
            felt = (net.stem.conv(stone) != net.stem.conv(empty)).any(1).flatten().nonzero().flatten().tolist()
        assert set(felt) == {cell, *table.neighbours[cell].tolist()} - {size**2}


@pytest.mark.parametrize("backend", ["fused", "winograd"])
def test_the_fast_backends_need_no_word_of_it(backend: str) -> None:
    net, planes = trained(small(kernel="hex", channels=16)), random_positions(8, 5)
    evaluator = NetworkEvaluator(net, size=5, swap=True, batch=8, profile=cpu_profile(backend))
    assert evaluator.backend == backend
    plain = NetworkEvaluator(net, size=5, swap=True, batch=8, profile=cpu_profile("eager"))
    for got, expected in zip(evaluated(evaluator, planes), evaluated(plain, planes), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-4)


def test_another_kernel_is_refused() -> None:
    with pytest.raises(UsageError, match=r"net\.kernel=round: choose one of square, hex"):
        NetConfig(kernel="round")
