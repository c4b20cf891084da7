"""What every player of many games keeps, and the further behaviour of those without a network."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.arena.baselines import SolverPlayer, TwoDistancePlayer
from hexlit.arena.matches import play_games, play_match
from hexlit.arena.players import Player, PolicyPlayer, RandomPlayer, SearchPlayer
from hexlit.hex.geometry import geometry
from hexlit.hex.openings import solved_openings
from hexlit.hex.solver import ExactSolver
from hexlit.hex.symmetry import exchange_colours
from hexlit.hex.truth import won_positions
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import RolloutEvaluator
from hexlit.testing.evaluators import random_positions
from tests.hex.reference import wins_at_once

BASELINES: dict[str, Callable[[int, int], Player]] = {
    "two-distance, depth 1": lambda size, seed: TwoDistancePlayer(depth=1, seed=seed),
    "two-distance": lambda size, seed: TwoDistancePlayer(seed=seed),
    "two-distance, width 1": lambda size, seed: TwoDistancePlayer(depth=3, width=1, seed=seed),
    # Where the solver gives up depends on what it has proved before, so it may do so on large
    # boards alone.
    "solver": lambda size, seed: SolverPlayer(
        size, seed=seed, rows=1 << 14, node_limit=100 if size > 5 else 1_000_000
    ),
}


@dataclass(frozen=True)
class Case:
    """A player to test, and what it knows of the game."""

    make: Callable[[int, int], Player]
    """Size and seed -> a fresh player."""
    sizes: tuple[int, ...] = (2, 3, 5)
    takes_wins: bool = True
    stops_losses: bool = True
    repeats: bool = True
    """Whether moves depend on nothing that was asked before."""
    colours_alike: bool = True
    """Whether the mirror image with the colours exchanged gets the mirrored move."""


CASES = {
    **{
        name: Case(
            make,
            (2, 3, 4, 5, 8) if name == "solver" else (2, 3, 4, 5, 8, 13),
            repeats=name != "solver",  # which remembers proofs and their cost
        )
        for name, make in BASELINES.items()
    },
    "random": Case(
        lambda size, seed: RandomPlayer(seed),
        takes_wins=False,
        stops_losses=False,
        colours_alike=False,
    ),
    "search": Case(
        lambda size, seed: SearchPlayer(
            SearchConfig(simulations=200), RolloutEvaluator(8, seed), size=size, batch=8
        ),
        sizes=(2, 4),
        takes_wins=False,  # another won move has the same value
    ),
    "policy": Case(
        lambda size, seed: PolicyPlayer(RolloutEvaluator(2, seed), size=size, batch=8),
        takes_wins=False,
        stops_losses=False,
    ),
}


def of_cases(quality: str) -> pytest.MarkDecorator:
    """The players of this quality."""
    cases = {name: case for name, case in CASES.items() if getattr(case, quality)}
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_moves_are_legal_on_every_board(case: Case) -> None:
    """int16 `[B]`, and the positions are only read."""
    for size in case.sizes:
        cells, to_move, _ = random_positions(size, 8, size)
        given = cells.copy()
        moves = case.make(size, 0).choose(cells, to_move)
        assert moves.dtype == np.int16, f"moves are {moves.dtype}, int16 is needed"
        assert moves.shape == (8,), f"moves {moves.shape} for 8 positions"
        assert np.array_equal(cells, given), "the positions were changed"
        legal = ((moves >= 0) & (moves < size * size)).all() and not cells[
            np.arange(8), moves
        ].any()
        assert legal, f"on {size}x{size} the moves {moves} are not all empty cells"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_answer_to_a_first_stone_is_a_free_cell_or_the_swap(case: Case) -> None:
    """`size*size` swaps. Of larger boards 25 to 49 stones are tried, spread over the board."""
    for size in case.sizes:
        own = np.arange(0, size * size, max(1, size * size // 25))
        cells = np.eye(size * size, dtype=np.int8)[own]
        replies = case.make(size, 0).reply(cells)
        assert replies.dtype == np.int16, f"replies are {replies.dtype}, int16 is needed"
        legal = (replies >= 0) & (replies <= size * size) & (replies != own)
        assert legal.all(), (
            f"on {size}x{size}, reply {replies[~legal]} to the stone on {own[~legal]}"
        )


@of_cases("takes_wins")
def test_a_win_in_one_move_is_taken(case: Case) -> None:
    for size in case.sizes:
        cells, to_move, _ = random_positions(size, 12, size, before_the_end=True)
        moves = case.make(size, 0).choose(cells, to_move)
        for board, colour, move in zip(cells, to_move.tolist(), moves.tolist(), strict=True):
            wins = wins_at_once(board.tolist(), size, colour)
            assert move in wins, f"on {size}x{size} it plays {move}, {wins} win"


@of_cases("stops_losses")
def test_a_loss_in_one_move_is_stopped_where_it_can_be(case: Case) -> None:
    """The same positions with the other player to move."""
    stopped = 0
    for size in case.sizes:
        # Of few boards more positions, for not all have a threat that can be stopped.
        cells, to_move, _ = random_positions(
            size, 12 if size > 5 else 36, size, before_the_end=True
        )
        moves = case.make(size, 0).choose(cells, -to_move)
        for board, colour, move in zip(cells, to_move.tolist(), moves.tolist(), strict=True):
            threats = wins_at_once(board.tolist(), size, colour)
            if len(threats) == 1 and not wins_at_once(board.tolist(), size, -colour):
                assert move == threats[0], (
                    f"on {size}x{size} it plays {move}, only {threats[0]} stops the loss"
                )
                stopped += 1
    assert stopped


@of_cases("repeats")
def test_moves_depend_on_the_position_and_the_seed_alone(case: Case) -> None:
    """Not on the games played beside it,
    nor on what was asked before (the solver remembers proofs and their cost).
    """
    size = max((size for size in case.sizes if size <= 5), default=min(case.sizes))
    cells, to_move, _ = random_positions(size, 24, 1)
    player = case.make(size, 3)
    moves = player.choose(cells, to_move)
    assert np.array_equal(case.make(size, 3).choose(cells, to_move), moves), (
        "another player of this seed differs"
    )
    for row in range(len(cells))[::-1]:
        alone = player.choose(cells[row : row + 1], to_move[row : row + 1])[0]
        assert alone == moves[row], f"it plays {moves[row]} among others and {alone} alone"


@of_cases("colours_alike")
def test_both_colours_play_alike(case: Case) -> None:
    """The transposed position with exchanged colours gets the transposed move."""
    for size in case.sizes:
        if size > 6:
            continue
        cells, to_move, _ = random_positions(size, 16, 2)
        moves = case.make(size, 1).choose(cells, to_move)
        mirrored = case.make(size, 1).choose(exchange_colours(cells), -to_move)
        assert np.array_equal(mirrored, geometry(size).transposed[moves]), (
            f"on {size}x{size} the colours differ"
        )


@pytest.mark.parametrize(
    "name", [name for name in BASELINES if "width" not in name and name != "solver"]
)
def test_the_seed_draws_between_moves_that_tie(name: str) -> None:
    """On the empty board at least the moves that a turn by 180° exchanges are as good."""
    cells, to_move = np.zeros((1, 16), np.int8), np.ones(1, np.int8)
    assert len({int(BASELINES[name](4, seed).choose(cells, to_move)[0]) for seed in range(12)}) > 1


def test_two_distance_beats_chance() -> None:
    """Every game."""
    assert (
        play_match(TwoDistancePlayer(depth=1), RandomPlayer(1), size=7, pairs=16, seed=0).share
        == 1.0
    )


def test_rollouts_beat_chance() -> None:
    search = SearchConfig(simulations=64)
    rollouts = SearchPlayer(search, RolloutEvaluator(8, 1), size=5, batch=32)
    assert play_match(rollouts, RandomPlayer(1), size=5, pairs=16, seed=0).share >= 0.9


@pytest.mark.parametrize("size", [4, 5])
def test_the_solver_keeps_every_win(size: int) -> None:
    known = won_positions(size, 60, seed=4, min_stones=size)
    moves = SolverPlayer(size, rows=1 << 16).choose(known.cells, known.to_move)
    assert known.winning_moves[np.arange(60), moves].all()


def test_two_solvers_play_to_the_true_winner_of_every_opening() -> None:
    players = SolverPlayer(5, seed=1), SolverPlayer(5, seed=2)
    games = [
        game for _, game in play_games(players, [(cell,) for cell in range(25)], 5, sides=(1,))
    ]
    assert {game.moves[0]: game.winner == 1 for game in games} == dict(
        enumerate(solved_openings(5).tolist())
    )


def test_a_lost_solver_plays_the_move_that_was_hardest_to_refute() -> None:
    """By its own count of nodes, and with ties and moves refuted at sight as two-distance plays."""
    cells, white = np.zeros((1, 36), np.int8), np.full(1, -1, np.int8)
    cells[0, 11] = 1
    solver = ExactSolver(6)
    assert solver.winning_move(cells[0], -1) is None
    costs = solver.costs(cells[0], -1)
    assert costs[11] == 0
    assert costs.max() > 1
    assert SolverPlayer(6).choose(cells, white) == costs.argmax()
    cells[0, [8, 14, 20, 26]] = 1
    assert SolverPlayer(6).choose(cells, white) == TwoDistancePlayer().choose(cells, white)


def test_the_solver_counts_and_tells_what_it_gave_up(caplog: pytest.LogCaptureFixture) -> None:
    cells, to_move = np.zeros((3, 36), np.int8), np.ones(3, np.int8)
    cells[1, 14], cells[2, 15] = 1, 1
    to_move[1:] = -1
    player = SolverPlayer(6, node_limit=1, rows=1 << 10)
    with caplog.at_level(logging.WARNING):
        moves = player.choose(cells, to_move)
    assert np.array_equal(moves, TwoDistancePlayer().choose(cells, to_move))
    assert len(caplog.records) == 1
    assert "after 1 nodes" in caplog.text


def first_stones(size: int) -> NDArray[np.int8]:
    """Black's first stone on every cell, int8 `[size*size, size*size]`."""
    return np.eye(size * size, dtype=np.int8)


@pytest.mark.parametrize("size", [3, 4])
def test_the_solver_takes_every_winning_first_stone_and_no_other(size: int) -> None:
    """E5: and keeps the win that White has after a losing one."""
    cells, solver = first_stones(size), ExactSolver(size, rows=1 << 14)
    replies = SolverPlayer(size, rows=1 << 14).reply(cells)
    assert np.array_equal(replies == size * size, solved_openings(size))
    for board, move in zip(cells, replies.tolist(), strict=True):
        if move != size * size:
            assert move in solver.solve(board, -1).winning_moves


@pytest.mark.parametrize(
    "player",
    [TwoDistancePlayer(), TwoDistancePlayer(depth=1)],
    ids=["two-distance", "two-distance, depth 1"],
)
def test_the_others_take_the_first_stone_where_their_own_values_say_so(player: Player) -> None:
    """E5: the middle of the short diagonal,
    but no sharp corner; else they play as without the rule.
    """
    cells = first_stones(4)
    replies = player.reply(cells)
    assert [cell for cell in (0, 6, 9, 15) if replies[cell] == 16] == [6, 9]
    kept = replies != 16
    assert np.array_equal(replies[kept], player.choose(cells, np.full(16, -1, np.int8))[kept])


def test_a_solver_that_gives_up_swaps_as_two_distance_judges(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cells = first_stones(6)
    player = SolverPlayer(6, node_limit=1, seed=2, rows=1 << 14)
    assert np.array_equal(player.reply(cells), TwoDistancePlayer(seed=2).reply(cells))
    assert "the solver gives up" in caplog.text
