"""How the games of self-play are cut into processes and network calls."""

from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.placement import Placement, placement_of


@pytest.mark.row("E8")
@pytest.mark.parametrize(("threads", "workers"), [(1, 1), (2, 1), (6, 5), (64, 8)])
def test_a_cpu_plays_in_processes_of_their_own(threads: int, workers: int) -> None:
    """Other devices have one such process, as more would only cut their calls into pieces."""
    assert placement_of(SelfPlayConfig(), "cpu", threads).workers == workers
    assert placement_of(SelfPlayConfig(ahead=False), "cpu", threads).workers == min(threads, 8)
    assert placement_of(SelfPlayConfig(), "cuda", threads).workers == 1
    assert placement_of(SelfPlayConfig(), "mps", threads).workers == 1


def test_what_the_user_sets_wins_and_no_process_is_without_a_game() -> None:
    asked = SelfPlayConfig(games=3, batch=7, groups=4, workers=5)
    assert placement_of(asked, "cuda", 16) == Placement(batch=7, groups=4, workers=3, ahead=1)
    assert placement_of(SelfPlayConfig(workers=0), "cpu", 16).workers == 0


@pytest.mark.row("E13")
@pytest.mark.parametrize(
    ("asked", "ahead"),
    [
        ({}, 1),
        ({"versions_behind": 3}, 3),
        ({"ahead": False}, 0),
        ({"workers": 0}, 0),
        ({"workers": 2}, 1),
    ],
)
def test_how_far_self_play_is_ahead_is_the_same_on_every_device(
    asked: dict[str, Any], ahead: int
) -> None:
    places = [placement_of(SelfPlayConfig(**asked), device, 4) for device in ("cpu", "cuda", "mps")]
    assert [place.ahead for place in places] == [ahead] * 3


@pytest.mark.row("E13")
def test_other_devices_play_where_they_are_asked_for() -> None:
    others = ["cuda:1", "cuda:2", "cuda:3"]
    asked = SelfPlayConfig(devices="others")
    assert (
        placement_of(SelfPlayConfig(), "cuda", 16, others=others).devices == ()
    )  # they may be somebody else's
    each = placement_of(asked, "cuda", 16, others=others)
    assert (each.workers, each.devices, each.ahead) == (3, tuple(others), 1)
    assert placement_of(
        SelfPlayConfig(devices="others", workers=1), "cuda", 16, others=others
    ).devices == ("cuda:1",)
    for device in ("cpu", "mps", "cuda"):
        with pytest.raises(
            UsageError,
            match=f"selfplay.devices=others: training on {device} leaves no other device",
        ):
            placement_of(asked, device, 16)


@pytest.mark.row("A23")
@pytest.mark.parametrize(
    ("workers", "devices", "shares"),
    [(0, 0, (1, 1)), (1, 0, (0.5, 0.5)), (4, 0, (0.5, 0.125)), (2, 2, (1, 1)), (3, 2, (1, 0.5))],
)
def test_the_processes_of_a_device_share_its_memory_cap(
    workers: int, devices: int, shares: tuple[float, float]
) -> None:
    """Learner, and each that plays."""
    place = Placement(batch=8, groups=1, workers=workers, devices=("cuda:1", "cuda:2")[:devices])
    assert place.memory_shares == shares


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("games", [1, 5, 100, 1000])
def test_a_call_holds_no_more_than_the_batch_and_all_games_have_a_row(
    games: int, workers: int
) -> None:
    workers = min(workers, games)
    groups, rows = Placement(batch=64, groups=2, workers=workers).cut(games)
    parts = max(1, workers)
    assert rows <= 64 // parts
    assert groups * rows * parts >= games
    assert groups <= max(1, games // parts)
