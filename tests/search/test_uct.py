"""Plain Monte Carlo tree search: against plain Python, and towards perfect play."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from hexlit.hex.geometry import geometry
from hexlit.hex.playout import playouts
from hexlit.hex.rng import PLAYOUT, draw, stones_key
from hexlit.hex.symmetry import exchange_colours
from hexlit.hex.truth import won_positions
from hexlit.search.uct import uct_moves
from tests.hex.reference import connects, transposed
from tests.search.positions import random_games


@dataclass
class Node:
    """A move, by the player that `wins` are counted for."""

    visits: int = 0
    wins: int = 0
    children: dict[int, "Node"] = field(default_factory=dict)

    def bound(self, parent_visits: int, rollouts: int, exploration: float) -> float:
        return self.wins / (self.visits * rollouts) + exploration * math.sqrt(math.log(parent_visits) / self.visits)


def reference_search(
    cells: list[int], size: int, simulations: int, rollouts: int, exploration: float, seed: int
) -> tuple[int, float]:
    """The move of Black, who cannot win at once and is not threatened, and the mean of all rollouts."""
    root, room = Node(), np.zeros(size * size, np.int16)
    stream = np.uint64(stones_key(np.array(cells, np.int8), seed, PLAYOUT))
    for simulation in range(simulations):
        k = np.uint64(draw(stream, simulation))
        board, colour, path, won = cells.copy(), 1, [root], False
        while not won:
            node = path[-1]
            untried = [cell for cell, stone in enumerate(board) if stone == 0 and cell not in node.children]
            if untried:
                move = untried[int(draw(k, 0)) % len(untried)]
                node.children[move] = Node()
            else:
                # Of equal bounds the child that was added last.
                move = max(
                    reversed(node.children),
                    key=lambda cell: node.children[cell].bound(node.visits, rollouts, exploration),
                )
            path.append(node.children[move])
            board[move] = colour
            won = connects(board, size, colour)
            colour = -colour
            if untried:
                break
        if won:
            last_player_wins = rollouts
        else:
            wins = playouts(np.array(board, np.int8), colour, rollouts, np.uint64(draw(k, 1)), size, room)
            last_player_wins = rollouts - wins if colour > 0 else wins
        for distance, node in enumerate(reversed(path)):
            node.visits += 1
            node.wins += last_player_wins if distance % 2 == 0 else rollouts - last_player_wins
    move = max(reversed(root.children), key=lambda cell: (root.children[cell].visits, root.children[cell].wins))
    total = sum(child.wins for child in root.children.values())
    return move, 2 * total / (simulations * rollouts) - 1


@pytest.mark.parametrize(("simulations", "rollouts", "exploration"), [(3, 2, 0.7), (60, 1, 0.3), (200, 3, 1.4)])
def test_the_move_is_that_of_the_reference(simulations: int, rollouts: int, exploration: float) -> None:
    quiet = 0
    for game in random_games(simulations, 40):
        cells = np.array(game.cells, np.int8)
        own = cells if game.to_move > 0 else exchange_colours(cells)
        at_once = [
            cell
            for colour in (1, -1)
            for cell in np.flatnonzero(own == 0)
            if connects([colour if other == cell else int(own[other]) for other in range(own.size)], game.size, colour)
        ]
        if at_once:
            continue
        quiet += 1
        moves, values = np.zeros(1, np.int16), np.zeros(1)
        to_move = np.array([game.to_move], np.int8)
        uct_moves(cells[None], to_move, simulations, rollouts, exploration, 7, geometry(game.size), moves, values)
        expected, value = reference_search(own.tolist(), game.size, simulations, rollouts, exploration, 7)
        assert moves[0] == (expected if game.to_move > 0 else transposed(expected, game.size)), game.moves
        assert values[0] == pytest.approx(value)
    assert quiet > 10


def share_of_wins_kept(simulations: int) -> float:
    """On 4×4, over positions with fewer than half of their cells taken."""
    positions = won_positions(4, 60, seed=5)
    early = positions.stones < 8
    cells, winning = positions.cells[early], positions.winning_moves[early]
    moves, values = np.zeros(len(cells), np.int16), np.zeros(len(cells))
    uct_moves(cells, positions.to_move[early], simulations, 1, 0.7, 0, geometry(4), moves, values)
    return float(winning[np.arange(len(cells)), moves].mean())


def test_simulations_lead_to_perfect_play() -> None:
    assert share_of_wins_kept(1) < 0.7
    assert share_of_wins_kept(10_000) >= 0.9
