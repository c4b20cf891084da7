"""Plain Monte Carlo tree search."""

import numpy as np
import pytest

from hexlit.hex.geometry import geometry
from hexlit.hex.truth import won_positions
from hexlit.search.uct import uct_moves


def share_of_wins_kept(simulations: int, rollouts: int = 1, exploration: float = 0.7) -> float:
    """On 4×4, over positions with fewer than half of their cells taken."""
    positions = won_positions(4, 160, seed=5)
    early = positions.stones < 8
    cells, winning = positions.cells[early], positions.winning_moves[early]
    moves = np.zeros(len(cells), np.int16)
    uct_moves(cells, positions.to_move[early], simulations, rollouts, exploration, 0, geometry(4), moves)
    return float(winning[np.arange(len(cells)), moves].mean())


def test_simulations_lead_to_perfect_play() -> None:
    few, some, many = (share_of_wins_kept(simulations) for simulations in (1, 30, 10_000))
    assert few < some < many
    assert few < 0.8
    assert many >= 0.98


def test_rollouts_and_exploration_count() -> None:
    assert share_of_wins_kept(30, rollouts=30) > share_of_wins_kept(30)
    assert share_of_wins_kept(10_000, exploration=0.0) < share_of_wins_kept(10_000)


@pytest.mark.parametrize("simulations", [1, 4, 5])
def test_fewer_simulations_than_moves_try_as_many_moves(simulations: int) -> None:
    """On the empty 2×2 board nobody wins at once; every move is as likely to be tried."""
    cells, moves = np.zeros((1, 4), np.int8), np.zeros(1, np.int16)
    chosen = set()
    for seed in range(60):
        uct_moves(cells, np.ones(1, np.int8), simulations, 1, 0.7, seed, geometry(2), moves)
        chosen.add(int(moves[0]))
    assert chosen == {0, 1, 2, 3}
