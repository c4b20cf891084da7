"""Self-play: legal games with right winners and targets,
the same whatever is played beside them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest

from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.hex.jit import restored_threads, use_threads
from hexlit.hex.record import Ending, GameRecord
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.selfplay import play as play_module
from hexlit.selfplay.actor import GamesSettings, SelfPlay, SelfPlayCounts
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.play import sampled_action
from tests.hex.reference import Game
from tests.selfplay.same_games import same

FULL, FAST = 12, 4
SEARCH = SearchConfig(simulations=FULL)
PUCT = SearchConfig(algorithm="puct", simulations=FULL)
PLAY = SelfPlayConfig(fast_simulations=FAST, opening_plies=5, resign_threshold=0.6)


class Digest:
    """Judges a position by whole-number arithmetic on its own planes,
    so bit for bit alike in any batch.
    """

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        flat = planes.reshape(len(planes), -1).astype(np.int64)
        digest = (flat * (np.arange(flat.shape[1]) ** 3 * 7919 + 13)).sum(1)
        actions = np.arange(policy.shape[1])
        policy[:] = (
            1 + (digest[:, None] * 31 + actions * (digest[:, None] % 1009) + actions**2) % 97
        )
        value[:] = ((digest * 2654435761) % 2001 - 1000) / np.float32(1000)


class Leaning(Digest):
    """As `Digest`, on the whole in favour of Black."""

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        super().evaluate(planes, policy, value)
        stones = planes[:, :2].sum((2, 3))
        value *= np.float32(0.5)
        value += np.where(stones[:, 0] == stones[:, 1], np.float32(0.25), np.float32(-0.25))


def play(
    evaluator: Evaluator | None = None,
    *,
    config: SelfPlayConfig = PLAY,
    search: SearchConfig = SEARCH,
    size: int = 4,
    games: int = 8,
    seed: int = 5,
    swap: bool = False,
    groups: int = 1,
    positions: int = 200,
) -> dict[int, GameRecord]:
    actor = SelfPlay(
        GamesSettings(config, search, size=size, games=games, seed=seed, swap=swap, groups=groups)
    )
    return collect(actor, positions, evaluator)[0]


def collect(
    actor: SelfPlay, positions: int, evaluator: Evaluator | None = None, version: int = 0
) -> tuple[dict[int, GameRecord], SelfPlayCounts]:
    records: list[GameRecord] = []

    def on_games(batch: list[GameRecord], counts: SelfPlayCounts) -> None:
        records.extend(batch)

    counts = actor.play(
        evaluator or Digest(), positions=positions, network_version=version, on_games=on_games
    )
    found = {record.game_id: record for record in records}
    assert len(found) == len(records), "E9: one game was played twice"
    return found, counts


def assert_common_games_alike(
    one: dict[int, GameRecord], other: dict[int, GameRecord], least: int = 10
) -> None:
    common = one.keys() & other.keys()
    assert len(common) >= least
    assert [game for game in sorted(common) if not same(one[game], other[game])] == []


def replay(record: GameRecord) -> Iterator[Game]:
    """The reference's game before every move and after the last;
    the reference refuses illegal moves.
    """
    game = Game(record.size, swap=record.swap)
    yield game
    for move in record.moves.tolist():
        game.play(move)
        yield game


@pytest.mark.parametrize("search", [SEARCH, PUCT], ids=["gumbel", "puct"])
@pytest.mark.parametrize(("size", "swap"), [(2, True), (3, False), (4, True), (5, False)])
def test_games_are_legal_and_their_winner_is_confirmed_by_a_flood_fill(
    search: SearchConfig, size: int, swap: bool
) -> None:
    records = play(search=search, size=size, swap=swap)
    assert Ending.CONNECTED in {record.ending for record in records.values()}
    for record in records.values():
        assert (record.size, record.swap, record.seed) == (size, swap, 5)
        winners = [game.winner for game in replay(record)]
        assert not any(winners[:-1]), "played on after somebody had won"
        assert winners[-1] == (record.winner if record.ending is Ending.CONNECTED else 0)
        assert record.winner in (1, -1)
        assert len(record.values) == len(record.simulations) == len(record.moves)
        assert (np.abs(record.values) <= 1).all()


@pytest.mark.parametrize("search", [SEARCH, PUCT], ids=["gumbel", "puct"])
@pytest.mark.parametrize("swap", [False, True])
def test_policies_sum_to_one_and_are_zero_on_illegal_actions(
    search: SearchConfig, swap: bool
) -> None:
    for record in play(search=search, swap=swap).values():
        assert record.policies.shape == (len(record.policy_plies), 16 + swap)
        legal = [set(game.legal_moves()) for game in replay(record)]
        for ply, policy in zip(
            record.policy_plies.tolist(), record.policies.astype(np.float64), strict=True
        ):
            assert policy.sum() == pytest.approx(1, abs=0.005)  # float16
            assert (policy >= 0).all()
            assert set(np.flatnonzero(policy).tolist()) <= legal[ply]


def test_a_swap_is_played_at_ply_one_only_and_not_always() -> None:
    records = play(
        size=3,
        swap=True,
        config=SelfPlayConfig(fast_simulations=FAST, opening_share=0.0),
        positions=400,
    )
    plies = Counter(
        ply for record in records.values() for ply in np.flatnonzero(record.moves == 9).tolist()
    )
    assert set(plies) == {1}
    assert 0 < plies[1] < len(records)


def test_random_openings_are_bounded_undecided_and_never_targets() -> None:
    """Random moves are not learned."""
    config = SelfPlayConfig(fast_simulations=FAST, opening_share=0.5, opening_plies=6)
    records = play(config=config, size=3, positions=600)
    openings = Counter(record.opening for record in records.values())
    assert set(openings) == set(range(7))
    assert 0.35 < 1 - openings[0] / len(records) < 0.65
    firsts = Counter(int(record.moves[0]) for record in records.values() if record.opening)
    assert set(firsts) == set(range(9))
    for record in records.values():
        assert (record.simulations[: record.opening] == 0).all()
        assert (record.values[: record.opening] == 0).all()
        assert (record.policy_plies >= record.opening).all()
        assert len(record.moves) > record.opening


def test_openings_of_all_lengths_come_first_and_short_ones_later() -> None:
    config = SelfPlayConfig(
        opening_share=1.0, opening_plies=6, opening_skew=9.0, opening_skew_after=3
    )
    games = SelfPlay(GamesSettings(config, SEARCH, size=4, games=8, seed=5))
    first, later = (collect(games, 600, version=epoch)[0].values() for epoch in (2, 3))
    assert np.mean([record.opening for record in first]) > 3
    assert np.mean([record.opening for record in later if record.network_version == 3]) < 2


def test_a_searched_move_has_the_full_or_the_fast_budget_and_only_full_ones_are_targets() -> None:
    config = SelfPlayConfig(fast_simulations=FAST, full_share=0.25)
    budgets: Counter[int] = Counter()
    for record in play(config=config, positions=300).values():
        searched = record.simulations[record.opening :]
        budgets.update(searched.tolist())
        assert record.policy_plies.tolist() == np.flatnonzero(record.simulations == FULL).tolist()
    assert set(budgets) == {FULL, FAST}
    assert 0.2 < budgets[FULL] / budgets.total() < 0.3


def test_the_counts_are_those_of_the_games() -> None:
    """Games, positions and moves of the phase table."""
    records, counts = collect(SelfPlay(GamesSettings(PLAY, SEARCH, size=4, games=8, seed=5)), 200)
    assert counts.games == len(records)
    assert counts.positions == sum(len(record.policy_plies) for record in records.values()) >= 200
    assert counts.moves == sum(len(record.moves) - record.opening for record in records.values())
    assert counts.evaluations >= sum(
        int((record.simulations > 0).sum()) for record in records.values()
    )
    assert 0 < counts.network_seconds < counts.seconds


def would_give_up(record: GameRecord, threshold: float, plies: int) -> int:
    """First player whose own values stay below -threshold
    for `plies` of its moves in a row, recomputed.
    """
    in_a_row = {1: 0, -1: 0}
    for ply in range(record.opening, len(record.moves)):
        colour = 1 if ply % 2 == 0 else -1
        in_a_row[colour] = in_a_row[colour] + 1 if record.values[ply] < -threshold else 0
        if in_a_row[colour] >= plies:
            return colour
    return 0


@pytest.mark.parametrize(("threshold", "plies"), [(0.5, 1), (0.3, 2), (0.05, 3)])
def test_a_player_resigns_after_enough_lost_values_in_a_row_and_not_before(
    threshold: float, plies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play_module, "RESIGN_PLIES", plies)
    monkeypatch.setattr(play_module, "RESIGN_OFF_SHARE", 0.3)
    config = SelfPlayConfig(fast_simulations=FAST, resign_threshold=threshold, opening_plies=3)
    records, counts = collect(
        SelfPlay(GamesSettings(config, SEARCH, size=5, games=16, seed=2)), 2000, Leaning()
    )
    for record in records.values():
        gives_up = would_give_up(record, threshold, plies)
        if record.may_resign:
            assert gives_up == 0, "played on after it should have resigned"
            assert record.would_resign == 0
            if record.ending is Ending.RESIGNED:
                loser = 1 if len(record.moves) % 2 == 0 else -1  # the one to move
                assert record.winner == -loser
                own = [
                    ply
                    for ply in range(record.opening, len(record.moves))
                    if ply % 2 == len(record.moves) % 2
                ]
                before = record.values[own][len(own) - (plies - 1) :]
                assert (before < -threshold).all()
                assert len(before) == plies - 1
        else:
            assert record.ending is Ending.CONNECTED
            assert record.would_resign == gives_up
    off = [record for record in records.values() if not record.may_resign]
    unresigned = [record for record in off if record.would_resign]
    assert 0.1 < len(off) / len(records) < 0.5
    assert counts.unresigned == len(unresigned) > 0
    assert counts.false_resigns == sum(
        record.would_resign == record.winner for record in unresigned
    )


def greedy(temperature: float, halflife: float = 6.0) -> SelfPlayConfig:
    return SelfPlayConfig(
        full_share=1.0,
        opening_share=0.0,
        temperature=temperature,
        temperature_halflife=halflife,
        resign_threshold=1.0,
    )


@pytest.mark.parametrize("search", [SEARCH, PUCT], ids=["gumbel", "puct"])
def test_temperature_zero_always_plays_the_best_move(
    search: SearchConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play_module, "TEMPERATURE_FINAL", 0.0)
    lines = {
        tuple(record.moves.tolist()) for record in play(config=greedy(0.0), search=search).values()
    }
    assert len(lines) == 1
    lines = {
        tuple(record.moves.tolist()) for record in play(config=greedy(1.0), search=search).values()
    }
    assert len(lines) > 10


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_moves_are_drawn_in_proportion_to_the_policy_at_its_temperature(temperature: float) -> None:
    policy = np.array([0.5, 0.0, 0.2, 0.3, 0.0], np.float32)
    draws = Counter(
        int(sampled_action(policy, temperature, (i + 0.5) / 10_000)) for i in range(10_000)
    )
    expected = policy ** (1 / temperature) / (policy ** (1 / temperature)).sum()
    assert [draws[action] / 10_000 for action in range(5)] == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("search", [SEARCH, PUCT], ids=["gumbel", "puct"])
@pytest.mark.parametrize(
    "beside",
    [{"games": 1}, {"games": 37}, {"games": 8, "groups": 3}, {"games": 7, "groups": 2}],
    ids=str,
)
def test_a_game_does_not_depend_on_the_games_beside_it(
    search: SearchConfig, beside: dict[str, Any]
) -> None:
    """Every draw is keyed by seed, game and ply."""
    assert_common_games_alike(
        play(search=search, positions=150), play(search=search, positions=150, **beside)
    )


def test_a_game_does_not_depend_on_the_number_of_threads() -> None:
    with restored_threads():
        use_threads(1)
        one = play(games=16)
        use_threads(numba.config.NUMBA_NUM_THREADS)
        all_of_them = play(games=16)
    assert one.keys() == all_of_them.keys()
    assert_common_games_alike(one, all_of_them)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_restored_snapshot_goes_on_as_the_uninterrupted_play(groups: int) -> None:

    def fresh() -> SelfPlay:
        return SelfPlay(
            GamesSettings(PLAY, SEARCH, size=4, games=8, seed=3, swap=True, groups=groups)
        )

    uninterrupted = fresh()
    collect(uninterrupted, 60)
    snapshot = uninterrupted.snapshot()
    kept = {name: array.copy() for name, array in snapshot.items()}
    expected, counts = collect(uninterrupted, 90, version=1)
    assert all(np.array_equal(array, kept[name]) for name, array in snapshot.items()), (
        "a snapshot is a copy"
    )
    resumed = fresh()
    collect(resumed, 20)  # whatever it did before is forgotten
    resumed.restore(kept)
    found, again = collect(resumed, 90, version=1)
    assert list(found) == list(expected)
    assert_common_games_alike(found, expected)
    assert (again.games, again.positions, again.evaluations) == (
        counts.games,
        counts.positions,
        counts.evaluations,
    )


def targets(records: dict[int, GameRecord]) -> dict[int, dict[int, list[float]]]:
    """Game -> ply -> its policy."""
    return {
        game: dict(zip(record.policy_plies.tolist(), record.policies.tolist(), strict=True))
        for game, record in records.items()
    }


@pytest.mark.parametrize("simulations", [2, 5, 64])
def test_games_in_progress_keep_their_targets_where_the_search_changes(simulations: int) -> None:
    settings = GamesSettings(PLAY, SEARCH, size=4, games=8, seed=3)
    before = SelfPlay(settings)
    collect(before, 60)
    snapshot = before.snapshot()
    expected = targets(collect(before, 90)[0])
    after = SelfPlay(replace(settings, search=replace(SEARCH, simulations=simulations)))
    after.restore(after.settings.of_part([snapshot]))
    found = targets(collect(after, 90)[0])
    begun = 0
    for slot, (game, ply) in enumerate(
        zip(snapshot["slot.game_id"].tolist(), snapshot["slot.ply"].tolist(), strict=True)
    ):
        plies = set(np.flatnonzero(snapshot["full"][slot, :ply]).tolist())
        begun += len(plies)
        assert plies <= set(found[game])
        assert {one: found[game][one] for one in plies} == {
            one: expected[game][one] for one in plies
        }
    assert begun > 0


def test_the_share_of_full_searches_holds_for_any_number_of_fast_simulations() -> None:
    search = replace(SEARCH, simulations=4)
    config = replace(PLAY, full_share=0.25, fast_simulations=8, opening_share=0.0)
    records = collect(SelfPlay(GamesSettings(config, search, size=4, games=8, seed=3)), 200)[
        0
    ].values()
    share = sum(len(record.policy_plies) for record in records) / sum(
        len(record.moves) for record in records
    )
    assert 0.15 < share < 0.35


@pytest.mark.parametrize("search", [SEARCH, PUCT])
@pytest.mark.parametrize(("size", "swap", "groups"), [(4, False, 1), (4, True, 2), (6, True, 1)])
def test_answers_that_are_kept_save_evaluations_and_change_no_game(
    search: SearchConfig, size: int, swap: bool, groups: int
) -> None:
    """The table holds what the evaluator would say again; a tiny one forgets most of it."""
    found: dict[int, dict[int, GameRecord]] = {}
    spent: dict[int, SelfPlayCounts] = {}
    for cache in (0, 7, 65_536):
        settings = GamesSettings(PLAY, search, size=size, games=8, seed=5, swap=swap, groups=groups)
        actor = SelfPlay(replace(settings, cached_answers=cache))
        found[cache], spent[cache] = collect(actor, 300)
    assert_common_games_alike(found[0], found[65_536], least=20)
    assert_common_games_alike(found[0], found[7], least=20)
    assert spent[0].recalled == 0
    assert 0 < spent[7].recalled < spent[65_536].recalled
    per_position = {cache: counts.evaluations / counts.positions for cache, counts in spent.items()}
    assert per_position[65_536] < 0.9 * per_position[0]


def test_answers_of_another_network_are_forgotten() -> None:
    games = []
    for cache in (0, 65_536):
        settings = GamesSettings(PLAY, SEARCH, size=4, games=8, seed=5, cached_answers=cache)
        actor = SelfPlay(settings)
        collect(actor, 100, Digest())
        records = collect(actor, 200, Leaning(), version=1)[0]
        games.append(
            {game: record for game, record in records.items() if record.network_version == 1}
        )
    assert_common_games_alike(games[0], games[1], least=20)


def test_play_stops_at_its_deadline_with_the_first_position_to_learn_from() -> None:
    actor = SelfPlay(GamesSettings(PLAY, SEARCH, size=4, games=8, seed=3))
    ended: list[int] = []
    counts = actor.play(
        Digest(),
        positions=10**9,
        deadline=0.0,
        on_games=lambda records, counts: ended.append(counts.positions),
    )
    assert counts.positions > 0
    assert not any(ended[:-1])


@pytest.mark.parametrize("groups", [1, 2])
def test_an_error_of_the_evaluator_comes_out(groups: int) -> None:
    class Broken:
        def evaluate(self, *_: object) -> None:
            raise ArithmeticError("the network broke")

    with pytest.raises(ArithmeticError, match="the network broke"):
        SelfPlay(GamesSettings(PLAY, SEARCH, size=4, games=8, seed=3, groups=groups)).play(
            Broken(), positions=10
        )
