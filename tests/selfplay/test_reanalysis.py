"""Reanalysis: past positions get the targets that one search of each of them finds, and keep their results."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hexlit.hex.board import GameBoard
from hexlit.hex.record import GameRecord
from hexlit.hex.rng import REANALYSIS, draw, key
from hexlit.search.config import SearchConfig
from hexlit.search.search import TreeSearch
from hexlit.selfplay.actor import GamesSettings, SelfPlay, SelfPlayCounts, Snapshot
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.players import LocalPlayer, PlayerSettings, RoundRequest, SelfPlayer, WorkerPlayers
from hexlit.selfplay.reanalysis import NewTargets, PastPositions, chosen_positions
from hexlit.selfplay.rounds import Begun, RoundState, SelfPlayRounds
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.window import ReplayWindow, WindowSettings
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.selfplay.hosts import KeyedHost
from tests.selfplay.test_window import games, rows
from tests.selfplay.test_workers import PLACE, SETTINGS

pytestmark = pytest.mark.row("F6")

SEED = 4
CONFIG = SelfPlayConfig(fast_simulations=2, temperature_halflife=3.0)


def actor(size: int, *, swap: bool = False, algorithm: str = "gumbel", rows: int = 3) -> SelfPlay:
    search = SearchConfig(simulations=9, algorithm=algorithm)
    return SelfPlay(GamesSettings(CONFIG, search, size=size, games=rows, seed=SEED, swap=swap))


def past_of(records: list[GameRecord], most: int, round: int = 2) -> PastPositions:
    past = chosen_positions(records, most, seed=SEED, round=round)
    assert past is not None
    return past


def searched(player: SelfPlay, past: PastPositions, salt: bytes = b"a") -> tuple[NewTargets, SelfPlayCounts]:
    counts = SelfPlayCounts()
    return player.search_again(KeyedEvaluator(salt=salt), past, counts), counts


def same(one: NewTargets, other: NewTargets) -> bool:
    return all(np.array_equal(array, getattr(other, name)) for name, array in one._asdict().items())


@pytest.mark.parametrize(("size", "swap"), [(3, True), (4, False)])
def test_positions_are_chosen_once_each_and_set_up_as_the_board_plays_them(size: int, swap: bool) -> None:
    records = games(20, size, swap=swap)
    past = past_of(records, 25)
    chosen = list(zip(past.game_id.tolist(), past.ply.tolist(), strict=True))
    assert len(chosen) == len(set(chosen)) == 25
    for (game, ply), cells in zip(chosen, past.cells, strict=True):
        assert ply in records[game].policy_plies
        board = GameBoard(size, swap=swap, moves=records[game].moves[:ply].tolist())
        assert np.array_equal(cells, np.asarray(board.cells).ravel())
    assert np.array_equal(past_of(records, 25).game_id, past.game_id)
    assert not np.array_equal(past_of(records, 25, round=3).game_id, past.game_id)
    everything = past_of(records, 10**6)
    assert len(everything.ply) == sum(len(record.policy_plies) for record in records)
    assert chosen_positions([], 5, seed=0, round=0) is None
    assert [len(past.part(part, 4).ply) for part in range(4)] == [6, 6, 6, 7]


@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
@pytest.mark.parametrize(("size", "swap"), [(3, True), (4, False)])
def test_new_targets_are_those_of_a_full_search_of_each_position_alone(size: int, swap: bool, algorithm: str) -> None:
    """With the noise of its ply, three at a time, also where an answer was kept from another one."""
    past = past_of(games(20, size, swap=swap), 10)
    targets, counts = searched(actor(size, swap=swap, algorithm=algorithm), past)
    alone = TreeSearch(SearchConfig(simulations=9, algorithm=algorithm), size=size, games=1, swap=swap)
    evaluations = 0
    for row, (game, ply) in enumerate(zip(past.game_id.tolist(), past.ply.tolist(), strict=True)):
        to_move = np.array([1 if ply % 2 == 0 else -1], np.int8)
        noise = CONFIG.temperature_final + (CONFIG.temperature - CONFIG.temperature_final) * 0.5 ** (ply / 3)
        alone.place(past.cells[row : row + 1], to_move)
        keys = np.array([draw(np.uint64(key(SEED, game, ply, REANALYSIS)), past.round)], np.uint64)
        alone.begin(to_move, np.array([ply], np.int16), noise, keys)
        while alone.advance():
            evaluations += 1
            alone.evaluate(KeyedEvaluator(salt=b"a"))
        found = alone.read(1)
        assert (targets.game_id[row], targets.ply[row]) == (game, ply)
        assert np.array_equal(targets.policy[row], found.policy[0].astype(np.float16))
        assert targets.value[row] == found.value[0]
        prior = alone.tree.root_policy[0].tolist()
        if ply % 2:
            prior[: size**2] = np.array(prior[: size**2]).reshape(size, size).T.ravel().tolist()
        surprise = sum(p * math.log(p / q) for p, q in zip(found.policy[0].tolist(), prior, strict=True) if p > 0)
        assert targets.surprise[row] == pytest.approx(max(0.0, surprise), abs=1e-5)
    assert counts.renewed == 10
    assert 0 < counts.evaluations < evaluations, "answers are kept"
    again, _ = searched(actor(size, swap=swap, algorithm=algorithm), past._replace(round=3))
    assert not np.array_equal(again.policy, targets.policy)


def test_the_window_learns_the_new_policies_and_values_and_keeps_results_and_games() -> None:
    records = games(30)
    before = [record.policies.copy() for record in records]
    window = ReplayWindow(4, False, WindowSettings(10**6, search_value_share=0.25))
    window.extend(records)
    drawn = window.epoch(batch=len(window), steps=1, seed=0, epoch=0)[0]
    assert window.renewed() is None
    targets, _ = searched(actor(4), past_of(records, 40))
    window.renew(targets)
    new = {(game, ply): row for row, (game, ply) in enumerate(zip(targets.game_id, targets.ply, strict=True))}
    for record, old in zip(window.records, records, strict=True):
        for place, ply in enumerate(record.policy_plies.tolist()):
            row = new.get((record.game_id, ply))
            assert np.array_equal(record.policies[place], old.policies[place] if row is None else targets.policy[row])
            assert record.values[ply] == (old.values[ply] if row is None else targets.value[row])
        assert (record.winner, record.moves.tolist()) == (old.winner, old.moves.tolist())
    assert all(np.array_equal(record.policies, old) for record, old in zip(records, before, strict=True))
    renewed = window.epoch(batch=len(window), steps=1, seed=0, epoch=0)[0]
    assert np.array_equal(drawn.planes, renewed.planes)
    assert (drawn.policy != renewed.policy).any(1).sum() == 40
    assert np.abs(drawn.value - renewed.value).max() <= 0.5, "a quarter of it is searched"
    saved = window.renewed()
    assert saved is not None
    # These games are from before surprises were recorded, and stay without.
    assert same(saved, targets._replace(surprise=np.zeros(40, np.float32)))
    resumed = ReplayWindow(4, False, WindowSettings(10**6, search_value_share=0.25))
    resumed.extend(records)
    resumed.renew(saved)
    assert rows(resumed.epoch(batch=64, steps=1, seed=0, epoch=1)[0]) == rows(
        window.epoch(batch=64, steps=1, seed=0, epoch=1)[0]
    )


def test_targets_of_games_that_have_left_the_window_are_forgotten() -> None:
    records = games(30)
    window = ReplayWindow(4, False, WindowSettings(60))
    window.extend(records[:10])
    first, _ = searched(actor(4), past_of(records[:10], 20))
    window.renew(first)
    window.extend(records[10:])
    window.renew(first)
    kept = window.renewed()
    assert kept is None or set(kept.game_id.tolist()) <= set(window.game_ids)
    assert not set(range(5)) & set(window.game_ids)


@pytest.fixture(scope="module")
def two() -> Iterator[WorkerPlayers]:
    players = WorkerPlayers(PLACE, 2)
    yield players
    players.close()


def test_workers_find_what_one_process_finds(two: WorkerPlayers) -> None:
    past = past_of(games(20, 3), 15)

    def found(player: SelfPlayer) -> NewTargets:
        parts: list[NewTargets] = []
        counts = player.play(RoundRequest(b"a", 20, 1, lambda *_: None, past=past, on_targets=parts.append))
        assert counts.renewed == 15
        return NewTargets.joined(parts)

    assert same(found(two), found(LocalPlayer(PLACE)))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_round_has_as_many_fewer_new_positions_also_where_it_is_begun_again(tmp_path: Path, workers: int) -> None:
    """RoundResult ahead, at once, or restored: the same games and targets (A24)."""
    past = past_of(games(20, 3), 30)

    def play(folder: str, state: RoundState | None = None, *, begins: bool = False) -> tuple[list[int], NewTargets]:
        place = PlayerSettings(SETTINGS, KeyedHost)
        player: SelfPlayer = WorkerPlayers(place, workers) if workers else LocalPlayer(place)
        rounds = SelfPlayRounds(player, GameStore(tmp_path / folder), positions=60, ahead=workers > 0)
        parts: list[NewTargets] = []
        try:
            if state is not None:
                rounds.restore(state)
            if begins:
                rounds.start_async(b"a", 1, past)
            found, counts = rounds.play(b"a", 1, lambda _: None, past, parts.append)
        finally:
            rounds.close()
        assert 30 <= counts.positions < 60
        assert counts.renewed == 30
        return [record.game_id for record in found], NewTargets.joined(parts)

    at_once = play("once")
    for other in (play("ahead", begins=True), play("restored", RoundState(_fresh(), [Begun(b"a", 1)]))):
        assert other[0] == at_once[0]
        assert same(other[1], at_once[1])


def _fresh() -> list[Snapshot]:
    return LocalPlayer(PlayerSettings(SETTINGS, KeyedHost)).snapshot()
