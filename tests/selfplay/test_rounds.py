"""Rounds of self-play, one after the other or one ahead:
the same games whatever the timing, and none lost.
"""

import io
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts
from hexlit.selfplay.placement import Weights, as_arrays, as_tensors
from hexlit.selfplay.rounds import Begun, RoundState, SelfPlayRounds
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.workers import PlayerSettings, make_player
from tests.selfplay.hosts import KeyedHost
from tests.selfplay.test_workers import PLACE, SETTINGS

WEIGHTS = [b"a", b"b", b"c", b"d"]


def rounds_in(
    folder: Path, workers: int, ahead: bool, deadline: float | None = None
) -> SelfPlayRounds:
    settings = replace(SETTINGS, games=4 if workers else 8)
    player = make_player(PlayerSettings(settings, KeyedHost), workers)
    return SelfPlayRounds(player, GameStore(folder), positions=60, ahead=ahead, deadline=deadline)


def games_kept(rounds: SelfPlayRounds) -> int:
    assert rounds.store is not None
    return len(rounds.store)


@pytest.fixture
def ahead(tmp_path: Path) -> Iterator[SelfPlayRounds]:
    rounds = rounds_in(tmp_path / "ahead", 1, ahead=True)
    yield rounds
    rounds.close()


def no_news(counts: SelfPlayCounts) -> None:
    pass


def epochs(rounds: SelfPlayRounds, weights: list[bytes], first: int = 0) -> list[list[GameRecord]]:
    """The games of epochs that begin with each of `weights`, the last one setting no other off."""
    played = []
    for epoch, salt in enumerate(weights, start=first):
        played.append(rounds.play(salt, epoch, no_news)[0])
        if epoch + 1 < len(WEIGHTS):
            rounds.start_async(salt, epoch)
    return played


def moves(games: list[list[GameRecord]]) -> list[dict[int, tuple[int, list[int]]]]:
    return [
        {game.game_id: (game.network_version, game.moves.tolist()) for game in one} for one in games
    ]


def test_a_round_is_played_ahead_with_the_weights_of_the_one_before(tmp_path: Path) -> None:
    ahead, plain = (rounds_in(tmp_path / str(both), 2, ahead=both) for both in (True, False))
    played = epochs(ahead, WEIGHTS)
    ahead.close()
    lagging = [
        plain.play(salt, max(0, epoch - 1), no_news)[0]
        for epoch, salt in enumerate([b"a", *WEIGHTS[:-1]])
    ]
    plain.close()
    assert moves(played) == moves(lagging)
    ids = [game.game_id for one in played for game in one]
    assert len(ids) == len(set(ids)) == games_kept(ahead)
    assert sorted({game.network_version for one in played for game in one}) == [0, 1, 2]
    assert all(
        [game.game_id for game in one] == sorted(game.game_id for game in one) for one in played
    )


def test_the_round_goes_on_in_the_background_and_only_one(ahead: SelfPlayRounds) -> None:
    ahead.play(b"a", 0, no_news)
    before = games_kept(ahead)
    ahead.start_async(b"a", 0)
    end = time.monotonic() + 60
    while games_kept(ahead) == before and time.monotonic() < end:
        time.sleep(0.01)
    assert games_kept(ahead) > before  # nobody has asked for them yet, and they are kept already
    kept = before
    while games_kept(ahead) > kept and time.monotonic() < end:
        kept = games_kept(ahead)
        time.sleep(1.0)
    assert games_kept(ahead) == kept  # it waits for its reader
    news: list[SelfPlayCounts] = []
    games, counts = ahead.play(b"unused", 1, news.append)
    assert counts.games == len(games) == kept - before
    assert news[-1] is counts


@pytest.mark.slow
def test_rounds_go_on_from_their_state_as_if_nothing_had_happened(
    ahead: SelfPlayRounds, tmp_path: Path
) -> None:
    whole = moves(epochs(ahead, WEIGHTS))
    for interrupted_after in (1, 2):
        first = rounds_in(tmp_path / str(interrupted_after), 1, ahead=True)
        played = epochs(first, WEIGHTS[:interrupted_after])
        state = first.state()
        assert state.begun == (WEIGHTS[interrupted_after - 1], interrupted_after - 1)
        first.close()
        again = rounds_in(tmp_path / str(interrupted_after), 1, ahead=True)
        again.restore(state)
        assert again.state().begun == state.begun
        played += epochs(again, WEIGHTS[interrupted_after:], interrupted_after)
        again.close()
        assert moves(played) == whole


def test_without_being_ahead_nothing_begins(tmp_path: Path) -> None:
    rounds = rounds_in(tmp_path, 0, ahead=False)
    rounds.play(b"a", 0, no_news)
    kept = games_kept(rounds)
    rounds.start_async(b"a", 0)
    state = rounds.state()
    assert state.begun is None
    assert games_kept(rounds) == kept
    first = moves([rounds.play(b"b", 1, no_news)[0]])
    other = rounds_in(tmp_path / "other", 0, ahead=False)
    other.restore(RoundState(state.in_progress, Begun(b"b", 1)))  # saved by a run that was ahead
    assert moves([other.play(b"unused", 2, no_news)[0]]) == first


def test_after_the_deadline_no_round_begins(tmp_path: Path) -> None:
    rounds = rounds_in(tmp_path, 1, ahead=True, deadline=0.0)
    try:
        rounds.play(b"a", 0, no_news)
        rounds.start_async(b"a", 0)
        assert rounds.state().begun is None
    finally:
        rounds.close()


def test_closing_ends_a_round_under_way_and_keeps_its_games(tmp_path: Path) -> None:
    before, threads = psutil.Process().children(), set(threading.enumerate())
    player = make_player(PLACE, 1)
    rounds = SelfPlayRounds(player, GameStore(tmp_path), positions=10**9, ahead=True)
    rounds.start_async(b"a", 0)
    while games_kept(rounds) < 10:
        time.sleep(0.01)
    rounds.close()
    assert psutil.Process().children() == before
    begun = set(threading.enumerate()) - threads
    assert [thread.name for thread in begun if thread.name.startswith("self-play")] == []
    assert not (tmp_path / "journal.arrows").exists()
    records = list(GameStore(tmp_path).records())
    assert len(records) == games_kept(rounds) >= 10


def test_what_goes_wrong_in_the_background_is_told_by_the_next_round(tmp_path: Path) -> None:
    rounds = SelfPlayRounds(make_player(PLACE, 1), GameStore(tmp_path), positions=10, ahead=True)
    try:
        rounds.start_async(b"fail", 0)
        with pytest.raises(ArithmeticError, match="the network broke"):
            rounds.play(b"a", 1, no_news)
    finally:
        rounds.close()


def test_arrays_of_one_buffer_can_be_saved() -> None:
    """Ray hands them over like that; an empty one begins where the next one does."""
    buffer = np.arange(8, dtype=np.uint8)
    arrays: Weights = {"empty": buffer[:0].view(np.float16), "whole": buffer.view(np.int64)}
    file = io.BytesIO()
    torch.save(as_tensors(arrays), file)
    file.seek(0)
    loaded = as_arrays(torch.load(file, weights_only=True))
    assert loaded["empty"].shape == (0,)
    assert loaded["whole"].tolist() == arrays["whole"].tolist()
