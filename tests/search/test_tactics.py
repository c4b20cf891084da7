"""The searches find what can be proved."""

from functools import cache

import numpy as np
import pytest

from hexlit.hex.solver import ExactSolver
from hexlit.search.config import ALGORITHMS, GumbelConfig, SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator
from tests.hex.reference import Game, wins_at_once
from tests.search.positions import random_game, search_games

pytestmark = pytest.mark.parametrize("algorithm", ALGORITHMS)


def immediate_wins(game: Game, colour: int) -> set[int]:
    return set(wins_at_once(game.cells, game.size, colour))


def wins_in_two(game: Game) -> set[int]:
    """Moves that win next turn: the opponent can neither win at once nor stop it."""
    moves: set[int] = set()
    if immediate_wins(game, game.to_move) or immediate_wins(game, -game.to_move):
        return moves
    for move in game.legal_moves():
        after = Game(game.size, moves=[*game.moves, move])
        if len(immediate_wins(after, game.to_move)) >= 2:
            moves.add(move)
    return moves


@cache
def positions(kind: str, count: int = 12) -> tuple[Game, ...]:
    """Games on 4×4: the mover `wins` at once, wins `in two`,
    or is `lost` because two wins threaten it.
    """
    random = np.random.default_rng(len(kind))
    found: list[Game] = []
    while len(found) < count:
        game = random_game(random, 4, int(random.integers(3, 10)))
        wins, threats = immediate_wins(game, game.to_move), immediate_wins(game, -game.to_move)
        is_kind = {
            "wins": bool(wins),
            "in two": bool(wins_in_two(game)),
            "lost": not wins and len(threats) >= 2,
        }
        if is_kind[kind]:
            found.append(game)
    return tuple(found)


def config_of(algorithm: str, simulations: int) -> SearchConfig:
    """Sequential halving looks at every move: nothing is known beforehand."""
    return SearchConfig(algorithm, simulations, gumbel=GumbelConfig(considered=16))


def test_a_forced_win_in_one_is_played(algorithm: str) -> None:
    games = list(positions("wins"))
    result = search_games(games, config_of(algorithm, 64), UniformEvaluator())
    for row, game in enumerate(games):
        assert result.action[row] in immediate_wins(game, game.to_move)
        assert result.value[row] == 1


@pytest.mark.parametrize(
    ("evaluator", "simulations"), [(RolloutEvaluator(8), 400), (UniformEvaluator(), 4000)]
)
def test_a_forced_win_in_two_is_found(
    algorithm: str, evaluator: Evaluator, simulations: int
) -> None:
    """By rules alone with many simulations, sooner with playouts;
    the exact solver agrees that the move wins.
    """
    games, solver = list(positions("in two")), ExactSolver(4, rows=1 << 12)
    result = search_games(games, config_of(algorithm, simulations), evaluator)
    for row, game in enumerate(games):
        winning = solver.solve(np.array(game.cells, np.int8), game.to_move).winning_moves
        assert wins_in_two(game) <= set(winning)
        assert result.action[row] in winning
        assert result.value[row] > 0


def test_moves_agree_with_the_solver_more_and_more_as_simulations_grow(algorithm: str) -> None:
    """On 4×4 positions with winning and losing moves."""
    random, solver = np.random.default_rng(44), ExactSolver(4, rows=1 << 12)
    games: list[Game] = []
    winning = []
    while len(games) < 150:
        game = random_game(random, 4, int(random.integers(1, 8)))
        moves = solver.solve(np.array(game.cells, np.int8), game.to_move).winning_moves
        if 0 < len(moves) < len(game.legal_moves()):
            games.append(game)
            winning.append(moves)
    share = []
    for simulations in (8, 64, 512, 2048):
        action = search_games(games, config_of(algorithm, simulations), RolloutEvaluator(8)).action
        share.append(np.mean([action[row] in moves for row, moves in enumerate(winning)]))
    assert share[0] < share[1] < share[2] < share[3], share
    assert share[2] > 0.8, share
    assert share[3] > 0.9, share
