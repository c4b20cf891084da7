"""The settings of `data` reach the replay window of self-play."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hexlit.accelerate import profile
from hexlit.accelerate.profile import build_profile
from hexlit.commands.hex_data import make_data
from hexlit.tasks.hex.data import SelfPlayDataModule
from hexlit.training.phases import PhaseClock
from tests.selfplay.test_window import random_game
from tests.tasks.hex.test_same_recipe import Here, recipe


def test_the_levers_of_the_window_are_off_by_default_and_change_the_draws_when_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hexlit.tasks.hex.players.make_player", Here)
    monkeypatch.setattr(profile, "choose_device", lambda requested, *rank, **how: torch.device("cpu"))
    games = [random_game(game, 3, swap=False) for game in range(40)]
    records = [replace(game, surprises=np.arange(len(game.policy_plies), dtype=np.float32)) for game in games]

    def drawn(name: str, *overrides: str) -> tuple[bytes, bytes, bytes]:
        config = recipe("cpu", "board=3", "selfplay.games=4", "search.simulations=2", *overrides)
        data = make_data(config, build_profile(config.hardware), tmp_path / name, PhaseClock(None), None)
        assert isinstance(data, SelfPlayDataModule)
        data.window.extend(records)
        planes, policy, value, *_ = data.window.epoch(batch=64, steps=1, seed=0, epoch=0)[0]
        return planes.tobytes(), policy.tobytes(), value.tobytes()

    default = drawn("default")
    off = drawn("off", "data.surprise_share=0", "data.search_value_decay=0")
    assert default == off
    assert drawn("surprise", "data.surprise_share=0.5")[0] != default[0]
    decayed = drawn("decay", "data.search_value_decay=0.8")
    assert decayed[:2] == default[:2]
    assert decayed[2] != default[2]
