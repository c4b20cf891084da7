"""How much faster the compiled game is than plain Python that does the same: measured, and printed with `-s`."""

import time

import numpy as np
import pytest

from hexlit.hex.engine import empty_stones, play_sequence
from hexlit.hex.geometry import geometry
from tests.hex import reference

SIZE = 11
GAMES = 10_000


def find(parent: list[int], cell: int) -> int:
    """The root of a chain of stones, the way to it halved."""
    while parent[cell] != cell:
        parent[cell] = parent[parent[cell]]
        cell = parent[cell]
    return cell


def ply_of_the_win(moves: list[int], size: int) -> int:
    """The plies until one colour connects its edges: chains are merged stone by stone, as the engine does it.

    A flood fill after every move, as in the reference for the rules, would be slower for another reason than Python.
    """
    cells = size * size
    parent, stones = list(range(cells + 4)), [0] * cells
    touching = reference.neighbours(size)
    for ply, cell in enumerate(moves):
        colour = reference.BLACK if ply % 2 == 0 else reference.WHITE
        first, last = (cells, cells + 1) if colour == reference.BLACK else (cells + 2, cells + 3)
        stones[cell] = colour
        line = cell // size if colour == reference.BLACK else cell % size
        chains = [other for other in touching[cell] if stones[other] == colour]
        chains += [first] * (line == 0) + [last] * (line == size - 1)
        for other in chains:
            parent[find(parent, other)] = find(parent, cell)
        if find(parent, first) == find(parent, last):
            return ply + 1
    return 0


@pytest.mark.slow
@pytest.mark.row("E10")
def test_the_compiled_game_and_plain_python_end_ten_thousand_games_at_the_same_ply() -> None:
    """In turn, a fifth of the games each time, as the processor's clock may change; in processor time."""
    random = np.random.default_rng(0)
    games = [random.permutation(SIZE * SIZE).astype(np.int16) for _ in range(GAMES)]
    table, stones = geometry(SIZE), empty_stones(1, SIZE)
    play_sequence(stones, 0, games[0], table)  # compiles
    compiled, plain = [], []
    for start in range(0, GAMES, GAMES // 5):
        part = games[start : start + GAMES // 5]
        lists = [moves.tolist() for moves in part]
        began = time.process_time()
        found = [play_sequence(stones, 0, moves, table) for moves in part]
        between = time.process_time()
        expected = [ply_of_the_win(moves, SIZE) for moves in lists]
        ended = time.process_time()
        assert found == expected
        assert min(found) > 0
        compiled.append(len(part) / (between - began))
        plain.append(len(part) / (ended - between))
    ratio = np.median([one / other for one, other in zip(compiled, plain, strict=True)])
    print(f"compiled {np.median(compiled):,.0f} games/s, plain Python {np.median(plain):,.0f}: {ratio:.0f} times")
