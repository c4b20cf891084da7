"""Squeeze-and-excitation and self-attention on every board."""

import math

import pytest
import torch
from torch import nn

from hexlit.nets.backends import folded_twin
from hexlit.nets.blocks import SelfAttention, SqueezeExcitation
from hexlit.nets.config import ATTENTIONS, NetConfig
from hexlit.nets.tower import HexNet, build_net
from tests.nets import test_tower
from tests.nets.test_evaluator import trained_like
from tests.nets.test_tower import assert_hears_a_far_stone, assert_learns_on_every_board, planes_of


def small(**fields: object) -> NetConfig:
    return test_tower.small(**{"blocks": [1, 2]} | fields)


def trained(**fields: object) -> HexNet:
    return trained_like(**vars(small(**fields)))


@pytest.mark.parametrize("block", ["basic", "bottleneck"])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_same_weights_give_finite_answers_and_gradients_on_boards_2_to_19(
    attention: str, block: str
) -> None:
    net = trained(attention=attention, block=block)
    assert_learns_on_every_board(net)


def test_gate_stands_in_every_block_and_attention_after_every_stage() -> None:
    gated = build_net(small(attention="se"))
    assert [
        sum(isinstance(m, SqueezeExcitation) for m in block.modules()) for block in gated.blocks
    ] == [1, 1, 1]
    attending = build_net(small(attention="self"))
    order: list[str] = []
    for part in attending.modules():
        if isinstance(part, SelfAttention) or part in attending.blocks:
            part.register_forward_hook(
                lambda module, inputs, output: order.append(type(module).__name__)
            )
    attending(planes_of(2, 4))
    assert order == [
        "ResidualBlock",
        "SelfAttention",
        "ResidualBlock",
        "ResidualBlock",
        "SelfAttention",
    ]


def test_squeeze_and_excitation_weighs_channels_by_their_means() -> None:
    """The formula of Hu et al. 2018, written out."""
    torch.manual_seed(0)
    layer, x = SqueezeExcitation(8, "relu"), torch.randn(3, 8, 5, 5)
    squeeze, excite = layer.squeeze, layer.excite
    assert squeeze.weight.shape == (2, 8)
    hidden = (x.mean((2, 3)) @ squeeze.weight.T + squeeze.bias).clamp(min=0)
    weights = 1 / (1 + torch.exp(-(hidden @ excite.weight.T + excite.bias)))
    assert torch.allclose(layer(x), torch.einsum("bchw,bc->bchw", x, weights), atol=1e-6)


def test_self_attention_mixes_the_values_of_all_cells_by_their_likeness() -> None:
    """The formula of Vaswani et al. 2017, written out cell by cell."""
    torch.manual_seed(0)
    layer, x = SelfAttention(8, 2), torch.randn(2, 8, 3, 3)
    assert torch.equal(layer(x), x), "an untrained layer passes its input on"
    nn.init.normal_(layer.last.weight)
    cells = nn.functional.layer_norm(x.flatten(2).transpose(1, 2), (8,))
    queries, keys, values = layer.queries_keys_values(cells).split(8, dim=2)
    expected = torch.zeros(2, 9, 8)
    for head in (slice(0, 4), slice(4, 8)):
        for board in range(2):
            likeness = queries[board, :, head] @ keys[board, :, head].T / math.sqrt(4)
            expected[board, :, head] = likeness.softmax(1) @ values[board, :, head]
    expected = (expected @ layer.last.weight.T).transpose(1, 2).view(2, 8, 3, 3)
    assert torch.allclose(layer(x), x + expected, atol=1e-5)


def test_self_attention_makes_a_far_stone_matter() -> None:
    """One 3x3 convolution and one block see 3 cells far;
    attention hears a corner in the other one.
    """
    net = trained(attention="self", blocks=[1], global_pooling=False).eval()
    assert_hears_a_far_stone(net, net.attention[0])


@pytest.mark.parametrize("attention", ["se", "self"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_folded_twin_answers_as_the_network(attention: str, channels_last: bool) -> None:
    net = trained(attention=attention).eval()
    twin = folded_twin(net, torch.device("cpu"), torch.float32, channels_last)
    for size in (2, 5, 11):
        planes = planes_of(4, size)
        for got, expected in zip(twin(planes)[:2], net(planes)[:2], strict=True):
            assert torch.allclose(got, expected, atol=1e-4)
