"""The networks of `conf/net`, to the last weight."""

from pathlib import Path

from omegaconf import OmegaConf

from hexlit.nets.config import NetConfig
from hexlit.nets.tower import HexNet, build_net

CONF = Path(__file__).resolve().parents[2] / "conf" / "net"

PARAMETERS = {
    "tiny": 42_163,
    "micro": 50_307,
    "mini": 71_971,
    "deep": 130_755,
    "small": 325_027,
    "se": 333_539,
    "attention": 358_563,
    "tower": 485_347,
    "resnet18": 633_315,
    "resnet34": 1_262_243,
    "resnet50": 1_007_523,
}


def preset(name: str, **changes: object) -> NetConfig:
    node = OmegaConf.merge(
        OmegaConf.structured(NetConfig), OmegaConf.load(CONF / f"{name}.yaml"), changes
    )
    config = OmegaConf.to_object(node)
    assert isinstance(config, NetConfig)
    return config


def parameters(net: HexNet) -> int:
    return sum(parameter.numel() for parameter in net.parameters())


def test_every_preset_has_its_count_of_parameters() -> None:
    found = {path.stem: parameters(build_net(preset(path.stem))) for path in CONF.glob("*.yaml")}
    assert found == PARAMETERS


def test_count_follows_from_the_layers_written_out() -> None:
    """The default network by hand, so that the table is no mere echo."""
    C, P, V, H, planes = 64, 32, 32, 64, 5
    stem = planes * C * 9 + 2 * C
    blocks = 4 * 2 * (C * C * 9 + 2 * C) + (
        3 * C * C + C
    )  # one of four has a bias from the whole board
    summary = C * V + 2 * V
    policy = C * P + 2 * P + (3 * V * P + P) + (P + 1) + (3 * V + 1)
    value = (3 * V * H + H) + (H + 1)
    assert stem + blocks + summary + policy + value == PARAMETERS["small"]
    gates = 4 * (C * C // 4 + C // 4 + C // 4 * C + C)
    assert PARAMETERS["se"] - PARAMETERS["small"] == gates
    layers = 2 * (2 * C + (3 * C * C + 3 * C) + (C * C + C))
    assert PARAMETERS["attention"] - PARAMETERS["small"] == layers
