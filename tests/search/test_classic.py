"""The search without a network, against plain Python."""

import numpy as np
import pytest

from hexlit.hex.distance import potentials
from hexlit.hex.geometry import geometry
from hexlit.search.classic import alpha_beta_moves
from tests.hex.reference import wins_at_once
from tests.search.positions import random_game

WIN = 1e6


def two_distance(cells: list[int]) -> float:
    """Black's advantage in potential, and a thousandth of that in mobility."""
    players, each = potentials(np.array(cells, np.int8))
    mobility = [
        int((row == best).sum()) if best < 1000 else 0
        for row, best in zip(each, players, strict=True)
    ]
    return float(players[1]) - float(players[0]) + 0.001 * (mobility[0] - mobility[1])


def negamax(cells: list[int], size: int, colour: int, ply: int, depth: int) -> dict[int, float]:
    """Value of every move worth looking at, for the player to move;
    under the key -1 that of a settled position.
    """
    wins, threats = (wins_at_once(cells, size, player) for player in (colour, -colour))
    if ply == 0 and wins:
        return dict.fromkeys(wins, WIN)
    if wins:
        return {-1: WIN - ply - 1}
    if ply > 0 and len(threats) > 1:
        return {-1: ply + 2 - WIN}
    if ply == depth:
        return {-1: colour * two_distance(cells)}
    values = {}
    for move in threats or [cell for cell, stone in enumerate(cells) if stone == 0]:
        cells[move] = colour
        values[move] = -max(negamax(cells, size, -colour, ply + 1, depth).values())
        cells[move] = 0
    return values


@pytest.mark.parametrize(("depth", "size", "count"), [(1, 4, 20), (2, 4, 6), (3, 3, 6)])
def test_the_move_is_the_best_of_a_full_search(depth: int, size: int, count: int) -> None:
    random = np.random.default_rng(depth)
    for _ in range(count):
        game = random_game(random, size, int(random.integers(0, size * size // 2)))
        values = negamax(game.cells.copy(), size, game.to_move, 0, depth)
        cells, to_move = np.array([game.cells], np.int8), np.array([game.to_move], np.int8)
        moves, value = alpha_beta_moves(cells, to_move, depth, size * size, 0, geometry(size))
        assert values[moves[0]] == pytest.approx(max(values.values()), abs=2e-6), (
            game.moves,
            values,
        )
        assert value[0] == pytest.approx(values[moves[0]], abs=2e-6)
