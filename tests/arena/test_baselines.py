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
from hexlit.arena.players import RandomPlayer
from hexlit.errors import UsageError
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import geometry
from hexlit.hex.openings import solved_openings
from hexlit.hex.playout import random_games
from hexlit.hex.solver import Solver
from hexlit.hex.symmetry import exchange_colours, exchange_moves
from hexlit.hex.threats import winning_cells
from hexlit.hex.truth import won_positions

BASELINES: dict[str, Callable[[int, int], Player]] = {
    "two-distance, depth 1": lambda size, seed: TwoDistancePlayer(depth=1, seed=seed),
    "two-distance": lambda size, seed: TwoDistancePlayer(seed=seed),
    "two-distance, width 1": lambda size, seed: TwoDistancePlayer(depth=3, width=1, seed=seed),
    "resistance, depth 1": lambda size, seed: ResistancePlayer(depth=1, seed=seed),
    "resistance, depth 3": lambda size, seed: ResistancePlayer(depth=3, width=4, seed=seed),
    "rollouts": lambda size, seed: RolloutPlayer(simulations=40, seed=seed),
    "rollouts, one simulation": lambda size, seed: RolloutPlayer(simulations=1, rollouts=5, seed=seed),
    "solver": lambda size, seed: SolverPlayer(size, node_limit=100, seed=seed, table_bits=14),
}
every_baseline = pytest.mark.parametrize("name", BASELINES)


def sizes_of(name: str) -> range:
    return range(2, 9 if name == "solver" else 14)


def games(size: int, count: int, seed: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Moves int16 `[count, size*size]` of complete random games, and how many of them were played."""
    moves, lengths = np.zeros((count, size * size), np.int16), np.zeros(count, np.int16)
    random_games(count, seed, geometry(size), moves, empty_stones(1, size), lengths)
    return moves, lengths


def positions(
    size: int, count: int, seed: int, *, before_the_end: bool = False
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Undecided positions of random games: of any length, or just before the winning move."""
    cells, to_move = np.zeros((count, size * size), np.int8), np.zeros(count, np.int8)
    random = np.random.default_rng(seed)
    for row, (moves, length) in enumerate(zip(*games(size, count, seed), strict=True)):
        plies = int(length) - 1 if before_the_end else int(random.integers(0, length))
        cells[row, moves[:plies]] = [1 if ply % 2 == 0 else -1 for ply in range(plies)]
        to_move[row] = 1 if plies % 2 == 0 else -1
    return cells, to_move


def wins_at_once(cells: NDArray[np.int8], colour: int) -> list[int]:
    size = round(len(cells) ** 0.5)
    stones, found = empty_stones(1, size), np.zeros(len(cells), np.int16)
    place_all(stones, 0, cells, geometry(size))
    wins: list[int] = found[: winning_cells(stones, 0, colour, geometry(size), found)].tolist()
    return wins


@every_baseline
def test_moves_are_legal_on_every_board(name: str) -> None:
    for size in sizes_of(name):
        cells, to_move = positions(size, 8, seed=size)
        given = cells.copy()
        moves = BASELINES[name](size, 0).choose(cells, to_move)
        assert moves.dtype == np.int16
        assert np.array_equal(cells, given)
        assert (cells[np.arange(len(cells)), moves] == 0).all()


@every_baseline
def test_a_win_in_one_move_is_taken(name: str) -> None:
    for size in sizes_of(name):
        cells, to_move = positions(size, 12, seed=size, before_the_end=True)
        moves = BASELINES[name](size, 0).choose(cells, to_move)
        for board, colour, move in zip(cells, to_move.tolist(), moves.tolist(), strict=True):
            assert move in wins_at_once(board, colour)


@every_baseline
def test_a_loss_in_one_move_is_stopped_where_it_can_be(name: str) -> None:
    """The same positions with the other player to move."""
    stopped = 0
    for size in sizes_of(name):
        cells, to_move = positions(size, 12, seed=size, before_the_end=True)
        moves = BASELINES[name](size, 0).choose(cells, -to_move)
        for board, colour, move in zip(cells, to_move.tolist(), moves.tolist(), strict=True):
            threats = wins_at_once(board, colour)
            if len(threats) == 1 and not wins_at_once(board, -colour):
                assert move == threats[0]
                stopped += 1
    assert stopped > 5


@every_baseline
def test_moves_depend_on_the_position_and_the_seed_alone(name: str) -> None:
    """Not on the games played beside it, nor on what was asked before."""
    cells, to_move = positions(5, 24, seed=1)
    moves = BASELINES[name](5, 3).choose(cells, to_move)
    assert np.array_equal(BASELINES[name](5, 3).choose(cells, to_move), moves)
    player = BASELINES[name](5, 3)
    if name == "solver":
        player = SolverPlayer(5, seed=3, table_bits=14)
        moves = player.choose(cells, to_move)
    one_by_one = [player.choose(cells[row : row + 1], to_move[row : row + 1])[0] for row in range(len(cells))[::-1]]
    assert np.array_equal(one_by_one[::-1], moves)


@every_baseline
def test_both_colours_play_alike(name: str) -> None:
    """The transposed position with the colours exchanged gets the transposed move."""
    for size in (3, 6):
        cells, to_move = positions(size, 16, seed=2)
        moves = BASELINES[name](size, 1).choose(cells, to_move)
        mirrored = BASELINES[name](size, 1).choose(exchange_colours(cells), -to_move)
        assert np.array_equal(mirrored, exchange_moves(moves, size))


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
