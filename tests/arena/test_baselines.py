"""Duties of every player without a network, and the further promises of each."""

import logging
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.arena.baselines.alpha_beta import ResistancePlayer, TwoDistancePlayer
from hexlit.arena.baselines.perfect import SolverPlayer
from hexlit.arena.baselines.rollout import RolloutPlayer
from hexlit.arena.match import Player, play_match
from hexlit.arena.players import PolicyPlayer, RandomPlayer, SearchPlayer
from hexlit.errors import UsageError
from hexlit.hex.openings import solved_openings
from hexlit.hex.solver import Solver
from hexlit.hex.truth import won_positions
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import RolloutEvaluator
from hexlit.testing import PlayerConformance
from hexlit.testing.positions import wins_at_once

BASELINES: dict[str, Callable[[int, int], Player]] = {
    "two-distance, depth 1": lambda size, seed: TwoDistancePlayer(depth=1, seed=seed),
    "two-distance": lambda size, seed: TwoDistancePlayer(seed=seed),
    "two-distance, width 1": lambda size, seed: TwoDistancePlayer(depth=3, width=1, seed=seed),
    "resistance, depth 1": lambda size, seed: ResistancePlayer(depth=1, seed=seed),
    "resistance, depth 3": lambda size, seed: ResistancePlayer(depth=3, width=4, seed=seed),
    "rollouts": lambda size, seed: RolloutPlayer(simulations=40, seed=seed),
    "rollouts, one simulation": lambda size, seed: RolloutPlayer(simulations=1, rollouts=5, seed=seed),
    # Where the solver gives up depends on what it has proved before, so it may do so on large boards alone.
    "solver": lambda size, seed: SolverPlayer(
        size, seed=seed, table_bits=14, node_limit=100 if size > 5 else 1_000_000
    ),
}


class TestBaselines(PlayerConformance):
    @pytest.fixture(autouse=True, params=BASELINES)
    def _one_of_them(self, request: pytest.FixtureRequest) -> None:
        self.name: str = request.param
        self.sizes = (2, 3, 4, 5, 8) if self.name == "solver" else (2, 3, 4, 5, 8, 13)

    def make(self, size: int, seed: int) -> Player:
        return BASELINES[self.name](size, seed)


class TestChance(PlayerConformance):
    takes_wins = stops_losses = colours_alike = False

    def make(self, size: int, seed: int) -> Player:
        return RandomPlayer(seed)


class TestSearched(PlayerConformance):
    sizes = (2, 4)
    takes_wins = False  # another won move has the same value

    def make(self, size: int, seed: int) -> Player:
        return SearchPlayer(SearchConfig(simulations=200), RolloutEvaluator(8, seed), size=size, batch=8)


class TestPolicyAlone(PlayerConformance):
    takes_wins = stops_losses = False

    def make(self, size: int, seed: int) -> Player:
        return PolicyPlayer(RolloutEvaluator(2, seed), size=size, batch=8)


@pytest.mark.parametrize("name", [name for name in BASELINES if "width" not in name])
def test_the_seed_draws_between_moves_that_tie(name: str) -> None:
    """On the empty board at least the moves that a turn by 180° exchanges are as good."""
    cells, to_move = np.zeros((1, 16), np.int8), np.ones(1, np.int8)
    assert len({int(BASELINES[name](4, seed).choose(cells, to_move)[0]) for seed in range(12)}) > 1


@pytest.mark.parametrize("name", ["two-distance, depth 1", "resistance, depth 1"])
def test_an_evaluation_beats_chance(name: str) -> None:
    """Every game."""
    assert play_match(BASELINES[name](7, 0), RandomPlayer(1), size=7, pairs=16, seed=0).share == 1.0


def test_rollouts_beat_chance() -> None:
    assert play_match(RolloutPlayer(simulations=300), RandomPlayer(1), size=5, pairs=16, seed=0).share >= 0.9


@pytest.mark.parametrize("size", [4, 5])
def test_the_solver_keeps_every_win_and_plays_every_winning_move(size: int) -> None:
    known = won_positions(size, 30, seed=4, min_stones=size)
    player = SolverPlayer(size, table_bits=16)
    moves = player.choose(known.cells, known.to_move)
    assert known.winning_moves[np.arange(30), moves].all()
    assert (player.asked, player.unsolved) == (30, 0)
    row = next(
        row
        for row, wins in enumerate(known.winning_moves)
        if 2 <= wins.sum() <= 6 and not wins_at_once(known.cells[row], int(known.to_move[row]))
    )
    position, to_move = known.cells[row : row + 1], known.to_move[row : row + 1]
    chosen = {int(SolverPlayer(size, seed=seed, table_bits=10).choose(position, to_move)[0]) for seed in range(60)}
    assert chosen == set(np.flatnonzero(known.winning_moves[row]).tolist())


def test_the_solver_counts_and_tells_what_it_gave_up(caplog: pytest.LogCaptureFixture) -> None:
    cells, to_move = np.zeros((3, 36), np.int8), np.ones(3, np.int8)
    cells[1, 14], cells[2, 15] = 1, 1
    to_move[1:] = -1
    player = SolverPlayer(6, node_limit=1, table_bits=10)
    with caplog.at_level(logging.WARNING):
        moves = player.choose(cells, to_move)
    assert np.array_equal(moves, TwoDistancePlayer().choose(cells, to_move))
    assert (player.asked, player.unsolved) == (3, 3)
    assert len(caplog.records) == 1
    assert "after 1 nodes" in caplog.text


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: TwoDistancePlayer(depth=0), "depth=0"),
        (lambda: ResistancePlayer(width=0), "width=0"),
        (lambda: ResistancePlayer(seed=-1), "seed=-1"),
        (lambda: RolloutPlayer(simulations=0), "simulations=0"),
        (lambda: RolloutPlayer(rollouts=0), "rollouts=0"),
        (lambda: RolloutPlayer(exploration=-0.1), "exploration=-0.1"),
        (lambda: RolloutPlayer(exploration=float("nan")), "exploration=nan"),
        (lambda: SolverPlayer(5, node_limit=0), "node_limit=0"),
        (lambda: SolverPlayer(9), "size 9"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(make: Callable[[], Player], named: str) -> None:
    with pytest.raises(UsageError, match=named) as refused:
        make()
    assert "\n" not in str(refused.value)


def first_stones(size: int) -> NDArray[np.int8]:
    """Black's first stone on every cell, int8 `[size*size, size*size]`."""
    return np.eye(size * size, dtype=np.int8)


@pytest.mark.parametrize("size", [3, 4])
def test_the_solver_takes_every_winning_first_stone_and_no_other(size: int) -> None:
    """E5: and keeps the win that White has after a losing one."""
    cells, solver = first_stones(size), Solver(size, table_bits=14)
    replies = SolverPlayer(size, table_bits=14).reply(cells)
    assert np.array_equal(replies == size * size, solved_openings(size))
    for board, move in zip(cells, replies.tolist(), strict=True):
        if move != size * size:
            assert move in solver.solve(board, -1).winning_moves


@pytest.mark.parametrize(
    "player",
    [TwoDistancePlayer(), TwoDistancePlayer(depth=1), ResistancePlayer(depth=1), RolloutPlayer(simulations=10_000)],
    ids=["two-distance", "two-distance, depth 1", "resistance, depth 1", "rollouts"],
)
def test_the_others_take_the_first_stone_where_their_own_values_say_so(player: Player) -> None:
    """E5: the middle of the short diagonal, but no sharp corner; else they play as without the rule."""
    cells = first_stones(4)
    replies = player.reply(cells)
    assert [cell for cell in (0, 6, 9, 15) if replies[cell] == 16] == [6, 9]
    kept = replies != 16
    assert np.array_equal(replies[kept], player.choose(cells, np.full(16, -1, np.int8))[kept])


def test_a_solver_that_gives_up_swaps_as_two_distance_judges(caplog: pytest.LogCaptureFixture) -> None:
    cells = first_stones(6)
    player = SolverPlayer(6, node_limit=1, seed=2, table_bits=14)
    assert np.array_equal(player.reply(cells), TwoDistancePlayer(seed=2).reply(cells))
    assert player.unsolved == player.asked == 36
    assert "the solver gives up" in caplog.text


def test_chance_takes_the_first_stone_as_often_as_it_plays_any_cell() -> None:
    one = first_stones(2)[:1]
    drawn = [int(RandomPlayer(seed).reply(one)[0]) for seed in range(400)]
    counts = np.bincount(drawn, minlength=5)
    assert counts[0] == 0
    assert counts[1:].min() > 60
