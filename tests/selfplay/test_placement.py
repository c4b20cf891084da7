"""How the games of self-play are cut into processes and network calls."""

import pytest

from hexlit.errors import UsageError
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.placement import Placement, placement_of


@pytest.mark.row("E8")
@pytest.mark.parametrize(("threads", "workers"), [(1, 1), (2, 2), (6, 6), (64, 8)])
def test_a_cpu_plays_in_processes_of_their_own(threads: int, workers: int) -> None:
    """Other devices have one such process, as more would only cut their calls into pieces."""
    assert placement_of(SelfPlayConfig(), "cpu", threads).workers == workers
    assert placement_of(SelfPlayConfig(), "cuda", threads).workers == 1
    assert placement_of(SelfPlayConfig(), "mps", threads).workers == 1


def test_what_the_user_sets_wins_and_no_process_is_without_a_game() -> None:
    asked = SelfPlayConfig(games=3, batch=7, groups=4, workers=5)
    assert placement_of(asked, "cuda", 16) == Placement(batch=7, groups=4, workers=3)
    assert placement_of(SelfPlayConfig(workers=0), "cpu", 16).workers == 0


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("games", [1, 5, 100, 1000])
def test_a_call_holds_no_more_than_the_batch_and_all_games_have_a_row(games: int, workers: int) -> None:
    workers = min(workers, games)
    groups, rows = Placement(batch=64, groups=2, workers=workers).cut(games)
    parts = max(1, workers)
    assert rows <= 64 // parts
    assert groups * rows * parts >= games
    assert groups <= max(1, games // parts)


@pytest.mark.parametrize("key", ["batch", "groups"])
def test_a_value_out_of_range_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match=f"selfplay.{key}=0: must be 1 or more"):
        SelfPlayConfig(**{key: 0})  # type: ignore[arg-type]
