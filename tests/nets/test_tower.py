"""One network plays on every board."""

import pytest
import torch

from hexlit.errors import UsageError
from hexlit.nets.config import ACTIVATIONS, NetConfig
from hexlit.nets.tower import HexNet, build_net, masked_logits

LAYOUTS = {
    "resnet18": ("basic", [2, 2, 2, 2], 16),
    "resnet34": ("basic", [3, 4, 6, 3], 32),
    "resnet50": ("bottleneck", [3, 4, 6, 3], 48),
}


def planes_of(batch: int, size: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 2, (batch, 5, size, size), generator=generator).float()


def small(**fields: object) -> NetConfig:
    settings = {
        "channels": 8,
        "blocks": [3],
        "policy_channels": 4,
        "value_channels": 4,
        "value_hidden": 8,
    } | fields
    return NetConfig(**settings)  # type: ignore[arg-type]


def assert_learns_on_every_board(net: HexNet, device: torch.device | None = None) -> None:
    """Finite answers, and a finite gradient for every weight, on boards of 2 to 19."""
    for size in range(2, 20):
        net.zero_grad()
        output = net(planes_of(2, size).to(device))
        assert output.policy_logits.shape == (2, size * size + 1)
        assert output.value_logit.shape == (2,)
        assert output.policy_logits.isfinite().all()
        assert output.value_logit.isfinite().all()
        (output.policy_logits.square().sum() + output.value_logit.sum()).backward()
        for name, parameter in net.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_resnet_layouts_have_their_depth_and_finite_gradients_on_boards_2_to_19(
    layout: str, device: torch.device
) -> None:
    block, blocks, convolutions = LAYOUTS[layout]
    net = build_net(small(block=block, blocks=blocks)).to(device)
    inner = [m for part in net.blocks for m in part.modules() if isinstance(m, torch.nn.Conv2d)]
    assert len(inner) == convolutions
    assert_learns_on_every_board(net, device)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_gives_finite_gradients_and_its_own_answer(activation: str) -> None:
    torch.manual_seed(0)
    net = build_net(small(activation=activation))
    torch.manual_seed(0)
    plain = build_net(small(activation="relu"))
    planes = planes_of(4, 5)
    output = net(planes)
    output.policy_logits.sum().backward()
    stem = net.stem.conv.weight.grad
    assert stem is not None
    assert torch.isfinite(stem).all()
    if activation != "relu":
        assert not torch.equal(output.policy_logits, plain(planes).policy_logits)


def test_heads_that_do_not_divide_the_channels_are_refused_where_they_attend() -> None:
    with pytest.raises(UsageError, match=r"net.attention_heads=4: must divide net.channels=30"):
        NetConfig(channels=30, attention="self")
    NetConfig(channels=30, attention="se")
    NetConfig(channels=30, attention="self", attention_heads=5)


def test_untrained_network_is_near_uniform_and_near_zero() -> None:
    output = build_net(NetConfig()).eval()(planes_of(4, 7))
    assert output.policy_logits.abs().max() < 0.5
    assert output.value.abs().max() < 0.2


def assert_hears_a_far_stone(net: HexNet, part: torch.nn.Module) -> None:
    """What `part` says of one corner changes with a stone in the other."""
    planes = torch.zeros(1, 5, 19, 19)
    seen: list[torch.Tensor] = []
    part.register_forward_hook(lambda module, inputs, output: seen.append(output))
    net(planes)
    planes[0, 0, 0, 0] = 1
    net(planes)
    assert not torch.equal(seen[0][0, :, 18, 18], seen[1][0, :, 18, 18])


def test_global_pooling_makes_a_far_stone_matter() -> None:
    """Three blocks see 7 cells far at most;
    with the bias from the whole board a corner is heard in the other one.
    """
    torch.manual_seed(0)
    net = build_net(small(blocks=[3])).eval()
    for part in net.blocks:
        torch.nn.init.ones_(part.layers[-1].norm.weight)  # type: ignore[union-attr, index]
    torch.nn.init.normal_(net.blocks[2].bias.linear.weight)  # type: ignore[union-attr, arg-type]
    assert_hears_a_far_stone(net, net.blocks[2])


def test_dropout_acts_in_training_only() -> None:
    net = build_net(small(dropout=0.5))
    torch.nn.init.normal_(net.value.last.weight)
    planes = planes_of(4, 5)
    assert not torch.equal(net(planes).value_logit, net(planes).value_logit)
    net.eval()
    assert torch.equal(net(planes).value_logit, net(planes).value_logit)


def test_masked_logits_leave_no_probability_on_stones_nor_on_an_illegal_swap() -> None:
    planes = torch.zeros(2, 5, 3, 3, dtype=torch.int8)
    planes[0, 0, 0, 1] = planes[0, 1, 2, 2] = 1
    planes[1, 4] = 1
    probabilities = masked_logits(torch.zeros(2, 10, dtype=torch.bfloat16), planes).softmax(1)
    assert probabilities.dtype == torch.float32
    assert probabilities[0, [1, 8, 9]].tolist() == [0, 0, 0]
    assert probabilities[0, 0].item() == pytest.approx(1 / 7)
    assert probabilities[1].tolist() == pytest.approx([0.1] * 10)


def test_masked_log_probabilities_stay_finite_where_the_target_is_zero() -> None:
    planes = torch.ones(1, 5, 2, 2)
    assert torch.isfinite(masked_logits(torch.zeros(1, 4), planes).log_softmax(1)).all()
