"""Self-play as data: learning does not depend on the device,
and the settings of `data` reach the window.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_module

from hexlit.accelerate import precision, profile
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.commands import tasks
from hexlit.commands.application import typed
from hexlit.hex.record import GameRecord
from hexlit.search.evaluator import UniformEvaluator
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts
from hexlit.selfplay.placement import placement_of
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.training.optimizer import scaled_lr
from tests.tasks.hex.stand_ins import selfplay_data, session_in

DEVICES = {"cpu": "cpu", "cuda": "cuda:0", "mps": "mps"}
EXPERIMENTS = ("quick", "hex5", "hex6", "hex7", "hex9", "hex11")
EPOCHS = 12


def recipe(device: str, *overrides: str) -> HexTrainConfig:
    tasks.register()
    with initialize_config_module("hexlit.conf", version_base="1.3"):
        return typed(
            compose("train", [f"accelerator={device}", "accelerator.threads=2", *overrides]),
            HexTrainConfig,
        )


def profile_of(
    config: HexTrainConfig, device: str, monkeypatch: pytest.MonkeyPatch
) -> DeviceProfile:
    """The profile that `config` gets on `device`, which need not be here."""
    monkeypatch.setattr(
        profile, "choose_device", lambda requested, *rank, **how: torch.device(DEVICES[device])
    )
    monkeypatch.setattr(precision, "cuda_has_bf16", lambda device: True)
    return build_profile(config.hardware)


class Here:
    """Plays in this process what workers would play elsewhere:
    one epoch after the other, in every part.
    """

    def __init__(self, place: Any, workers: int) -> None:
        parts = max(1, workers)
        self.actors = [
            SelfPlay(replace(place.games, part=part, parts=parts)) for part in range(parts)
        ]

    def close(self) -> None:
        pass

    prepare = play = start_async = snapshot = restore = cpu_seconds = close
    """A `BackgroundPlayer` has them; no test calls them here."""


def networks_met(actors: list[SelfPlay], positions: int) -> Counter[int]:
    """Number of games by number of networks that they met,
    after the first epochs, when all games begin at once.
    """
    met: Counter[int] = Counter()
    for epoch in range(EPOCHS):
        for actor in actors:

            def count(records: list[GameRecord], _: SelfPlayCounts, epoch: int = epoch) -> None:
                met.update(
                    epoch - record.network_version + 1 for record in records if epoch >= EPOCHS // 2
                )

            share = -(-positions * actor.games // sum(each.games for each in actors))
            actor.play(UniformEvaluator(), positions=share, network_version=epoch, on_games=count)
    return met


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_steps_and_learning_rate_are_the_same_on_every_device(
    experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps an epoch follow from positions, reuse and batch, and the rate from the batch."""
    found = {}
    for device in DEVICES:
        config = recipe(device, f"experiment={experiment}")
        made = profile_of(config, device, monkeypatch)
        ahead = placement_of(config.selfplay, device, made.threads).ahead
        found[device] = (made.train_batch, scaled_lr(config.optimizer, made.train_batch), ahead)
    assert found["cuda"] == found["mps"] == found["cpu"]


@pytest.mark.parametrize("workers", [None, 0, 3])
def test_games_meet_as_many_networks_on_every_device(
    workers: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the batches of cuda (2 groups of 1,024 and
    more at once before) they met six times as many.
    """
    monkeypatch.setattr("hexlit.selfplay.placement.make_player", Here)
    met = {}
    for device in DEVICES:
        config = recipe(device, "board=4", "search.simulations=2", "selfplay.fast_simulations=1")
        config = replace(
            config, selfplay=replace(config.selfplay, positions=120, games=40, workers=workers)
        )
        made = profile_of(config, device, monkeypatch)
        data = selfplay_data(config, session_in(tmp_path / device, made))
        actors = data.players.player.actors  # type: ignore[attr-defined]
        assert sum(actor.games for actor in actors) == 40
        met[device] = networks_met(actors, 120)
    means = {
        device: sum(n * games for n, games in found.items()) / found.total()
        for device, found in met.items()
    }
    assert 1 < means["cpu"] < 3
    for device in ("cuda", "mps"):
        assert means[device] == pytest.approx(means["cpu"], rel=0.1)
        assert max(met[device]) <= max(met["cpu"]) + 1


def test_the_settings_of_the_data_reach_the_windows_of_all_boards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hexlit.selfplay.placement.make_player", Here)
    monkeypatch.setattr(
        profile, "choose_device", lambda requested, *rank, **how: torch.device("cpu")
    )
    given = ["board=4", "selfplay.smaller_boards=[3]", "selfplay.games=4", "search.simulations=2"]
    config = recipe("cpu", *given, "data.window=77", "data.search_value_share=0.6")
    data = selfplay_data(config, session_in(tmp_path, build_profile(config.hardware)))
    found = {
        size: (window.size, window.capacity, window.search_value_share)
        for size, window in data.windows.items()
    }
    assert found == {3: (3, 77, 0.6), 4: (4, 77, 0.6)}
