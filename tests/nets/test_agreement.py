"""Reduced precision beside float32, on a network that has learned which move to play."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.precision import cpu_has_bf16
from hexlit.accelerate.profile import build_profile
from hexlit.nets.blocks import ConvNorm
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import (
    LEAST_SAME_MOVES,
    NetworkEvaluator,
    measure_agreement,
    random_planes,
)
from hexlit.nets.tower import HexNet, build_net

SIZE, POSITIONS = 5, 500


@pytest.fixture(scope="module")
def trained() -> HexNet:
    """A network that has learned to play next to the mover's stones:
    the cell with the most of them around it.
    """
    torch.manual_seed(0)
    net = build_net(NetConfig(channels=16, blocks=[2]))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    planes = torch.from_numpy(random_planes(1024, SIZE)).float()
    around = functional.conv2d(planes[:, :1], torch.ones(1, 1, 3, 3), padding=1).flatten(1)
    weights = torch.linspace(0, 0.9, SIZE * SIZE)  # no two cells are alike
    best = (around + weights - 100 * planes[:, :2].sum(1).flatten(1)).argmax(1)
    for _ in range(60):
        output = net(planes)
        loss = (
            functional.cross_entropy(output.policy_logits[:, :-1], best)
            + output.value.square().mean()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


def evaluator_of(net: HexNet, precision: str, batch: int = 64) -> NetworkEvaluator:
    profile = build_profile(
        AcceleratorConfig(device="cpu", threads=2, inference_precision=precision)
    )
    return NetworkEvaluator(net, size=SIZE, swap=False, batch=batch, profile=profile)


def test_float32_agrees_with_itself(trained: HexNet) -> None:
    found = measure_agreement(
        trained, evaluator_of(trained, "fp32"), random_planes(POSITIONS, SIZE)
    )
    assert found.positions == POSITIONS
    assert found.same_move == 1
    assert found.policy_error < 1e-3
    assert found.largest_value_error < 1e-3


def test_heads_of_training_take_no_part(trained: HexNet) -> None:
    evaluator, further = evaluator_of(trained, "fp32"), deepcopy(trained)
    further.heads["own"] = ConvNorm(16, 1, 1)
    assert measure_agreement(further, evaluator, random_planes(9, SIZE)).same_move == 1


@pytest.mark.skipif(not cpu_has_bf16(), reason="this cpu multiplies no bfloat16")
def test_bfloat16_plays_the_same_move_in_nearly_all_positions(trained: HexNet) -> None:
    """Issue of the compiled backend: at least 98%, and the errors of policy and value are told."""
    evaluator = evaluator_of(trained, "bf16")
    assert evaluator.dtype == torch.bfloat16
    found = measure_agreement(trained, evaluator, random_planes(POSITIONS, SIZE))
    assert found.same_move >= LEAST_SAME_MOVES
    assert 0 < found.policy_error < 0.05
    assert 0 < found.value_error <= found.largest_value_error < 0.1


def test_other_weights_do_not_agree(trained: HexNet) -> None:
    other = build_net(replace(trained.config))
    found = measure_agreement(other, evaluator_of(trained, "fp32"), random_planes(POSITIONS, SIZE))
    assert found.same_move < 0.5
    assert found.policy_error > 0.3
