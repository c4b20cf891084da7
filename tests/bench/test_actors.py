"""Actors beside workers, with a stand-in for Ray and for the worker processes."""

from dataclasses import replace

import pytest
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.bench import play as module
from hexlit.bench.config import BenchConfig
from hexlit.bench.measure import Subject
from hexlit.bench.play import measure_actors
from hexlit.cluster.config import RayConfig
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net
from hexlit.search.config import SearchConfig
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.workers import LocalPlayer, PlayerSettings
from tests.cluster.fake_ray import FakeRay, stand_in

pytestmark = pytest.mark.row("E14")

NET = NetConfig(channels=8, blocks=[1], policy_channels=4, value_channels=4, value_hidden=8)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    monkeypatch.setattr(module, "make_player", first_of)
    return stand_in(monkeypatch)


def first_of(place: PlayerSettings, workers: int) -> LocalPlayer:
    """The first of as many workers."""
    return LocalPlayer(PlayerSettings(replace(place.games, part=0, parts=workers), place.make_host))


def measured(cluster: RayConfig) -> list[str]:
    torch.manual_seed(0)
    config = BenchConfig(
        board=3,
        repeats=2,
        seconds=0.01,
        accelerator=AcceleratorConfig(device="cpu", threads=1),
        search=SearchConfig(simulations=2),
        selfplay=SelfPlayConfig(fast_simulations=2),
        ray=cluster,
    )
    lines = measure_actors(Subject(build_net(NET), config, build_profile(config.accelerator))).lines
    assert all(
        line.median and line.detail.endswith("games/s") and line.unit == "evaluations/s"
        for line in lines
    )
    return [line.what.split(",")[0] for line in lines]


@pytest.mark.usefixtures("ray")
def test_each_line_of_actors_stands_below_one_of_as_many_workers() -> None:
    kinds = ("1 worker", "1 actor", "2 workers", "2 actors", "4 workers", "4 actors")
    assert measured(RayConfig()) == [f"self-play in {kind}" for kind in kinds]
