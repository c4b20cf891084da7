"""The networks of `conf/net`, to the last weight."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from hexlit.nets.blocks import SelfAttention, SqueezeExcitation
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import HexNet, build_net

CONF = Path(__file__).resolve().parents[2] / "conf" / "net"

PARAMETERS = {
    "tiny": 42_163,
    "micro": 50_307,
    "mini": 71_971,
    "small": 325_027,
    "se": 333_539,
    "attention": 358_563,
    "tower": 485_347,
    "resnet18": 633_315,
    "resnet34": 1_262_243,
    "resnet50": 1_007_523,
}


def preset(name: str, **changes: object) -> NetConfig:
    node = OmegaConf.merge(OmegaConf.structured(NetConfig), OmegaConf.load(CONF / f"{name}.yaml"), changes)
    config = OmegaConf.to_object(node)
    assert isinstance(config, NetConfig)
    return config


def parameters(net: HexNet) -> int:
    return sum(parameter.numel() for parameter in net.parameters())


@pytest.mark.row("A12")
def test_every_preset_has_its_count_of_parameters() -> None:
    found = {path.stem: parameters(build_net(preset(path.stem))) for path in CONF.glob("*.yaml")}
    assert found == PARAMETERS


@pytest.mark.row("A12")
def test_count_follows_from_the_layers_written_out() -> None:
    """The default network by hand, so that the table is no mere echo."""
    C, P, V, H, planes = 64, 32, 32, 64, 5
    stem = planes * C * 9 + 2 * C
    blocks = 4 * 2 * (C * C * 9 + 2 * C) + (3 * C * C + C)  # one of four has a bias from the whole board
    summary = C * V + 2 * V
    policy = C * P + 2 * P + (3 * V * P + P) + (P + 1) + (3 * V + 1)
    value = (3 * V * H + H) + (H + 1)
    assert stem + blocks + summary + policy + value == PARAMETERS["small"]
    gates = 4 * (C * C // 4 + C // 4 + C // 4 * C + C)
    assert PARAMETERS["se"] - PARAMETERS["small"] == gates
    layers = 2 * (2 * C + (3 * C * C + 3 * C) + (C * C + C))
    assert PARAMETERS["attention"] - PARAMETERS["small"] == layers


@pytest.mark.row("A17")
@pytest.mark.parametrize(
    ("name", "blocks", "block"),
    [
        ("resnet18", [2, 2, 2, 2], "basic"),
        ("resnet34", [3, 4, 6, 3], "basic"),
        ("resnet50", [3, 4, 6, 3], "bottleneck"),
    ],
)
def test_resnets_have_three_different_layouts(name: str, blocks: list[int], block: str) -> None:
    config = preset(name)
    assert (config.blocks, config.block) == (blocks, block)
    net = build_net(config)
    assert len(net.blocks) == sum(blocks)
    assert {len(part.layers) for part in net.blocks} == {2 if block == "basic" else 3}  # type: ignore[arg-type]


@pytest.mark.row("A17")
def test_blocks_set_the_depth_of_a_preset() -> None:
    shallow, deep = (build_net(preset("resnet18", blocks=blocks)) for blocks in ([1, 1], [3, 3, 3]))
    assert (len(shallow.blocks), len(deep.blocks)) == (2, 9)
    assert parameters(shallow) < PARAMETERS["resnet18"] < parameters(deep)


@pytest.mark.row("A18")
def test_attention_presets_attend() -> None:
    for name, kind, count in (("se", SqueezeExcitation, 4), ("attention", SelfAttention, 2)):
        assert sum(isinstance(module, kind) for module in build_net(preset(name)).modules()) == count
