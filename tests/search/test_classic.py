"""Searches without a network: against plain Python, and towards perfect play."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from hexlit.hex.distance import potentials
from hexlit.hex.geometry import geometry
from hexlit.hex.playout import playouts
from hexlit.hex.rng import PLAYOUT, draw, stones_key
from hexlit.hex.symmetry import exchange_colours
from hexlit.hex.truth import won_positions
from hexlit.search.classic import alpha_beta_moves, uct_moves
from tests.hex.reference import connects, transposed, wins_at_once
from tests.search.positions import random_game, random_games


@dataclass
class Node:
    """A move, by the player that `wins` are counted for."""

    visits: int = 0
    wins: int = 0
    children: dict[int, "Node"] = field(default_factory=dict)

    def bound(self, parent_visits: int, rollouts: int, exploration: float) -> float:
        return self.wins / (self.visits * rollouts) + exploration * math.sqrt(
            math.log(parent_visits) / self.visits
        )


def reference_search(
    cells: list[int], size: int, simulations: int, rollouts: int, exploration: float, seed: int
) -> tuple[int, float]:
    """The move of Black, who cannot win at once and is not threatened,
    and the mean of all rollouts.
    """
    root, room = Node(), np.zeros(size * size, np.int16)
    stream = np.uint64(stones_key(np.array(cells, np.int8), seed, PLAYOUT))
    for simulation in range(simulations):
        k = np.uint64(draw(stream, simulation))
        board, colour, path, won = cells.copy(), 1, [root], False
        while not won:
            node = path[-1]
            untried = [
                cell for cell, stone in enumerate(board) if stone == 0 and cell not in node.children
            ]
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
            wins = playouts(
                np.array(board, np.int8), colour, rollouts, np.uint64(draw(k, 1)), size, room
            )
            last_player_wins = rollouts - wins if colour > 0 else wins
        for distance, node in enumerate(reversed(path)):
            node.visits += 1
            node.wins += last_player_wins if distance % 2 == 0 else rollouts - last_player_wins
    move = max(
        reversed(root.children),
        key=lambda cell: (root.children[cell].visits, root.children[cell].wins),
    )
    total = sum(child.wins for child in root.children.values())
    return move, 2 * total / (simulations * rollouts) - 1


@pytest.mark.parametrize(
    ("simulations", "rollouts", "exploration"), [(3, 2, 0.7), (60, 1, 0.3), (200, 3, 1.4)]
)
def test_the_move_is_that_of_the_reference(
    simulations: int, rollouts: int, exploration: float
) -> None:
    quiet = 0
    for game in random_games(simulations, 40):
        cells = np.array(game.cells, np.int8)
        own = cells if game.to_move > 0 else exchange_colours(cells)
        if any(wins_at_once(own.tolist(), game.size, colour) for colour in (1, -1)):
            continue
        quiet += 1
        to_move = np.array([game.to_move], np.int8)
        moves, values = uct_moves(
            cells[None], to_move, simulations, rollouts, exploration, 7, geometry(game.size)
        )
        expected, value = reference_search(
            own.tolist(), game.size, simulations, rollouts, exploration, 7
        )
        assert moves[0] == (expected if game.to_move > 0 else transposed(expected, game.size)), (
            game.moves
        )
        assert values[0] == pytest.approx(value)
    assert quiet > 10


def share_of_wins_kept(simulations: int) -> float:
    """On 4×4, over positions with fewer than half of their cells taken."""
    positions = won_positions(4, 60, seed=5)
    early = positions.stones < 8
    cells, winning = positions.cells[early], positions.winning_moves[early]
    moves, _ = uct_moves(cells, positions.to_move[early], simulations, 1, 0.7, 0, geometry(4))
    return float(winning[np.arange(len(cells)), moves].mean())


def test_simulations_lead_to_perfect_play() -> None:
    assert share_of_wins_kept(1) < 0.7
    assert share_of_wins_kept(10_000) >= 0.9


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
