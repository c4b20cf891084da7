"""Positions from games: exact, different, shared evenly, the same for the same seed."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hexlit.arena import positions as positions_module
from hexlit.arena.matches import play_match
from hexlit.arena.positions import (
    LIMITS,
    SOURCES,
    GameSource,
    SolvingLimits,
    game_positions,
    play_games,
    random_positions,
)
from hexlit.errors import UsageError
from hexlit.hex.arrays import Int8Array, Int16Array
from hexlit.hex.solver import ExactSolver, UnsolvedError
from hexlit.hex.symmetry import exchange_colours
from hexlit.hex.truth import STAGES
from hexlit.search.evaluator import RolloutEvaluator
from tests.arena.stand_ins import NeverSwaps
from tests.hex.reference import winner
from tests.hex.test_truth import same


class SourcePlayer(NeverSwaps):
    """A source of games as a player of a match."""

    def __init__(self, source: GameSource, size: int) -> None:
        self.source = source
        self.search = source.search(size, 100)
        self.random = np.random.default_rng(1)

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        draws = np.where(cells == 0, self.random.random(cells.shape), -1.0)
        moves: Int16Array = draws.argmax(1).astype(np.int16)
        if self.search is None:
            return moves
        found = self.search.run(cells, to_move, RolloutEvaluator(self.source.playouts, 1)).action
        errs = self.random.random(len(cells)) < self.source.error
        return np.where(errs, moves, found)


@pytest.mark.parametrize("size", [4, 5])
def test_positions_are_undecided_and_their_value_and_winning_moves_are_right(size: int) -> None:
    """The positions for measuring value and moves are right, move by move."""
    positions = game_positions(size, 60, seed=3)
    black, white = (positions.cells == 1).sum(axis=1), (positions.cells == -1).sum(axis=1)
    assert (black + white == positions.stones).all()
    assert (black - white == (positions.to_move == -1)).all()
    solver = ExactSolver(size)
    columns = positions.cells, positions.to_move.tolist(), positions.won, positions.winning_moves
    for cells, player, won, wins in zip(*columns, strict=True):
        assert winner(cells.tolist(), size) == 0
        assert won == wins.any()
        for cell in range(size * size):
            after = cells.copy()
            after[cell] = player
            assert wins[cell] == (cells[cell] == 0 and not solver.wins(after, -player))


def test_positions_are_won_and_lost_and_every_source_and_stage_gives_the_same_number() -> None:
    positions = game_positions(5, 5 * len(SOURCES) * len(STAGES), seed=0)
    assert 0.2 < positions.won.mean() < 0.9
    shares = np.bincount(positions.source * len(STAGES) + positions.stage)
    assert shares.tolist() == [5] * (len(SOURCES) * len(STAGES))
    assert positions.sources == tuple(source.name for source in SOURCES)
    for source in range(len(SOURCES)):
        own = positions.source == source
        stones = [positions.stones[own & (positions.stage == stage)].mean() for stage in (0, 2)]
        assert stones[0] < stones[1]
    quick = positions.only(slice(20))
    assert len(set(quick.source.tolist())) == len(SOURCES)


def test_no_position_comes_twice_turned_or_with_the_colours_exchanged_and_small_boards_run_out_of_them() -> (
    None
):
    positions = game_positions(3, 1000, seed=1)
    assert 100 < len(positions) < 1000
    framed = [
        c if p == 1 else exchange_colours(c)
        for c, p in zip(positions.cells, positions.to_move, strict=True)
    ]
    assert len({min(board.tobytes(), board[::-1].tobytes()) for board in framed}) == len(positions)


def test_each_source_is_stronger_than_the_one_before() -> None:
    """Several strengths; they hold on boards of every size (0.94 and more on 7x7)."""
    players = [SourcePlayer(source, 5) for source in SOURCES]
    for weaker, stronger in pairwise(players):
        assert play_match(stronger, weaker, size=5, pairs=40, seed=1).share > 0.65


def test_games_end_with_the_winning_move() -> None:
    for source in SOURCES[:2]:
        for moves in play_games(source, 4, 10, np.random.default_rng(0)):
            assert len(set(moves.tolist())) == len(moves)
            cells = [0] * 16
            for ply, move in enumerate(moves.tolist()):
                assert winner(cells, 4) == 0
                cells[move] = 1 if ply % 2 == 0 else -1
            assert winner(cells, 4) != 0


def test_the_seed_decides_the_positions() -> None:
    assert same(game_positions(4, 30, seed=7), game_positions(4, 30, seed=7))
    assert not same(game_positions(4, 30, seed=7), game_positions(4, 30, seed=8))


def test_draws_beyond_the_limit_of_the_solver_are_skipped_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(LIMITS, 5, SolvingLimits(fewest_stones=4, nodes=20))
    positions = game_positions(5, 48, seed=0)
    assert positions.unsolved > 0
    assert positions.stones.min() >= 4
    assert len(positions) > 0


def test_a_limit_that_solves_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsolved(*_: object) -> None:
        raise UnsolvedError("unsolved after 1 nodes")

    monkeypatch.setattr(ExactSolver, "solve", unsolved)
    monkeypatch.setattr(positions_module, "SOURCES", SOURCES[:1])
    monkeypatch.setattr(positions_module, "_ROUNDS", 1)
    with pytest.raises(UsageError, match="none of the draws was solved"):
        game_positions(7, 1, seed=0)


def test_positions_are_kept_and_a_damaged_file_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = game_positions(3, 20, seed=1, cache=tmp_path)
    (file,) = tmp_path.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(positions_module, "play_games", lambda *_: pytest.fail("played again"))
        assert same(game_positions(3, 20, seed=1, cache=tmp_path), first)
    file.write_bytes(file.read_bytes()[:100])
    assert same(game_positions(3, 20, seed=1, cache=tmp_path), first)
    game_positions(3, 20, seed=2, cache=tmp_path)
    random_positions(3, 20, 1, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
