"""How the games of self-play are cut into processes and network calls."""

from typing import Any

import pytest

from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.placement import Placement, placement_of


@pytest.mark.parametrize(("threads", "workers"), [(1, 1), (2, 1), (6, 5), (64, 8)])
def test_a_cpu_plays_in_processes_of_their_own(threads: int, workers: int) -> None:
    """Other devices have one such process, as more would only cut their calls into pieces."""
    assert placement_of(SelfPlayConfig(), "cpu", threads).workers == workers
    assert placement_of(SelfPlayConfig(ahead=False), "cpu", threads).workers == min(threads, 8)
    assert placement_of(SelfPlayConfig(), "cuda", threads).workers == 1
    assert placement_of(SelfPlayConfig(), "mps", threads).workers == 1


def test_the_number_of_workers_is_kept_and_no_process_is_without_a_game() -> None:
    asked = SelfPlayConfig(games=3, workers=5)
    assert placement_of(asked, "cuda", 16) == Placement(
        1024, groups=2, workers=3, ahead=True, cached_answers=0
    )
    assert placement_of(SelfPlayConfig(workers=0), "cpu", 16).workers == 0


@pytest.mark.parametrize(
    ("asked", "ahead"),
    [({}, True), ({"ahead": False}, False), ({"workers": 0}, False), ({"workers": 2}, True)],
)
def test_self_play_is_ahead_on_every_device_if_other_processes_play(
    asked: dict[str, Any], ahead: bool
) -> None:
    for device in ("cpu", "cuda", "mps"):
        assert placement_of(SelfPlayConfig(**asked), device, 4).ahead is ahead


@pytest.mark.parametrize(("workers", "shares"), [(0, (1, 1)), (1, (0.5, 0.5)), (4, (0.5, 0.125))])
def test_the_processes_of_a_device_share_its_memory_cap(
    workers: int, shares: tuple[float, float]
) -> None:
    """Learner, and each that plays."""
    assert Placement(batch=8, groups=1, workers=workers).memory_shares == shares


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
