"""`auto` takes the faster device for a small network, and measures once."""

from pathlib import Path
from typing import Any

import pytest
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile, profile_on
from hexlit.nets.config import NetConfig
from hexlit.tasks.hex import device_choice
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.device_choice import epoch_seconds, faster_profile

SMALL = NetConfig(channels=8, blocks=[1])


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine with a card that takes twice the time of its cpu; the devices that were measured."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(device_choice, "device_name", lambda device: "Card")
    asked: list[str] = []

    def seconds(config: HexTrainConfig, profile: DeviceProfile) -> float:
        asked.append(profile.device.type)
        return 1.0 if profile.device.type == "cpu" else 2.0

    monkeypatch.setattr(device_choice, "epoch_seconds", seconds)
    return asked


def card_profile(config: HexTrainConfig) -> DeviceProfile:
    return profile_on(torch.device("cuda:0"), config.hardware, config.device_defaults)


def settings(**changes: Any) -> HexTrainConfig:
    hardware = {
        "precision": "32-true",
        "inference_precision": "fp32",
        **changes.pop("hardware", {}),
    }
    fields = {
        "board": 5,
        "net": SMALL,
        "accelerator": AcceleratorConfig(**hardware),
        **changes,
    }
    return HexTrainConfig(**fields)


def test_the_cpu_is_taken_where_it_is_faster_and_the_line_says_so(measured: list[str]) -> None:
    config = settings()
    for _ in range(2):
        profile, why = faster_profile(config, card_profile(config))
        assert profile.device.type == "cpu"
        assert why == (
            "accelerator.device=auto: cpu, which was measured to be faster than Card for this "
            "network; accelerator.device=cuda takes the card"
        )
    assert measured == ["cuda", "cpu"]


def test_another_recipe_is_measured_again(
    measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for config in (settings(), settings(board=4)):
        faster_profile(config, card_profile(config))
    monkeypatch.setattr(device_choice, "epoch_seconds", lambda config, profile: 1.0)
    config = settings(board=6)
    assert faster_profile(config, card_profile(config)) == (card_profile(config), "")
    assert len(measured) == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"hardware": {"device": "cuda"}},
        {"hardware": {"inference": "graph"}},
        {"net": NetConfig(channels=64, blocks=[6]), "board": 11},
    ],
)
def test_a_named_device_a_cards_own_setting_and_a_large_network_keep_the_card(
    changes: dict[str, Any], measured: list[str]
) -> None:
    config = settings(**changes)
    profile = card_profile(config)
    assert faster_profile(config, profile) == (profile, "")
    assert measured == []


def test_an_epoch_takes_longer_with_more_steps_and_more_simulations() -> None:
    few, many = settings(), settings()
    many.data.reuse = 40.0
    many.search.simulations = 640
    few.search.simulations = 8
    times = []
    for config in (few, many):
        config.selfplay.positions = 256
        profile = build_profile(AcceleratorConfig(device="cpu", precision="32-true", threads=1))
        times.append(epoch_seconds(config, profile))
    assert 0 < 3 * times[0] < times[1]
