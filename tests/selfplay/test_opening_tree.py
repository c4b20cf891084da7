"""The tree of openings counts what a plain count of first moves does."""

from collections import Counter

import numpy as np

from hexlit.hex.notation import format_moves
from hexlit.selfplay.opening_tree import LEAST_GAMES, OpeningTree
from tests.selfplay.games import record

SIZE = 3


def test_nodes_have_the_counts_and_shares_of_their_first_moves() -> None:
    draws = np.random.default_rng(0)
    tree, results = OpeningTree(), Counter[tuple[tuple[int, ...], int]]()
    for winner in draws.choice([1, -1, 0], 200).tolist():
        moves = draws.permutation(SIZE**2)[: draws.integers(1, 4)]
        tree.add(record(format_moves(moves, SIZE), SIZE, winner=winner))
        cells = min(moves.tolist(), (SIZE**2 - 1 - moves).tolist())
        for plies in range(len(cells) + 1):
            results[tuple(cells[:plies]), winner] += 1
    nodes = tree.nodes(SIZE)
    lines: list[tuple[int, ...]] = []
    for node in nodes:
        line = () if node.parent < 0 else (*lines[node.parent], node.move)
        lines.append(line)
        black = results[line, 1]
        white = results[line, -1]
        games = black + white + results[line, 0]
        assert node.comment.startswith(f"{games} games: Black has won {black}, White {white}.")
        if line:
            own = black if len(line) % 2 else white
            share = f"{100 * own / (black + white):.0f}" if black + white else "?"
            assert nodes[node.parent].labels[node.move] == share
    through = Counter[tuple[int, ...]]()
    for (line, _), games in results.items():
        through[line] += games
    assert sorted(lines) == sorted(line for line in through if through[line] >= LEAST_GAMES)
