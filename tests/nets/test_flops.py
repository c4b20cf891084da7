"""The operations of a network, against sums by hand."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net, forward_flops


def heads(config: NetConfig, cells: int) -> int:
    """Two 1x1 convolutions of the trunk, the policy's bias,
    its cells and swap, and the value's two layers.
    """
    c, p, v, h = config.channels, config.policy_channels, config.value_channels, config.value_hidden
    return 2 * (cells * c * (p + v) + 3 * v * p + cells * p + 3 * v + 3 * v * h + h)


def test_the_usual_tower_takes_what_its_convolutions_take_by_hand() -> None:
    """6 blocks of 64 channels on 11x11: 107.8 million in the tower,
    two for a multiplication and its addition.
    """
    config = NetConfig(channels=64, blocks=[6])
    tower = 2 * 121 * 9 * (5 * 64 + 12 * 64 * 64) + 2 * 2 * (
        3 * 64 * 64
    )  # of the six blocks two have a global bias
    assert tower == pytest.approx(107.7e6, rel=1e-3)
    assert forward_flops(config, 11) == tower + heads(config, 121)


def test_attention_adds_its_projections_and_both_of_its_products() -> None:
    plain, attending = (
        NetConfig(channels=16, blocks=[1, 1], attention=kind) for kind in ("none", "self")
    )
    cells = 49
    block = 2 * cells * 16 * (3 * 16 + 16) + 2 * 2 * cells * cells * 16
    assert forward_flops(attending, 7) - forward_flops(plain, 7) == 2 * block


@pytest.mark.parametrize(
    "config", [NetConfig(attention="se"), NetConfig(block="bottleneck", blocks=[2, 1])]
)
def test_shapes_alone_give_what_running_the_network_does(config: NetConfig) -> None:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        build_net(config).eval()(torch.zeros(3, 5, 6, 6))
    assert counter.get_total_flops() == 3 * forward_flops(config, 6)
