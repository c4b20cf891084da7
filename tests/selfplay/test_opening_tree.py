"""The tree of openings counts what a plain count of first moves does."""

from collections import Counter
from itertools import product

import numpy as np

from hexlit.selfplay.opening_tree import LEAST_GAMES, OpeningTree
from tests.selfplay.games import record

SIZE = 3


def test_nodes_have_the_counts_of_their_first_moves() -> None:
    draws = np.random.default_rng(0)
    games = [draws.permutation(SIZE**2)[: draws.integers(1, 4)] for _ in range(200)]
    winners = draws.choice([1, -1, 0], 200)
    tree, through, won = OpeningTree(), Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for moves, winner in zip(games, winners, strict=True):
        names = " ".join(f"{'abc'[cell % SIZE]}{cell // SIZE + 1}" for cell in moves)
        tree.add(record(names, SIZE, winner=winner))
        cells = min(moves.tolist(), (SIZE**2 - 1 - moves).tolist())
        for plies in range(len(cells) + 1):
            through[tuple(cells[:plies])] += 1
            won[tuple(cells[:plies])] += winner == 1
    nodes = tree.nodes(SIZE)
    lines: list[tuple[int, ...]] = [()]
    for number, node in enumerate(nodes):
        if number:
            lines.append((*lines[node.parent], node.move))
        line = lines[number]
        assert node.comment.startswith(f"{through[line]} games: Black has won {won[line]},")
    assert sorted(lines) == sorted(line for line in through if through[line] >= LEAST_GAMES)


def test_numbers_are_the_wins_of_the_player_to_move() -> None:
    tree = OpeningTree()
    for winner, _ in product((1, 1, -1, 0), range(2)):
        tree.add(record("a1 b2 c3", SIZE, winner=winner))
    start, first, *_ = tree.nodes(SIZE)
    assert start.labels == {0: "67"}
    assert first.labels == {4: "33"}
