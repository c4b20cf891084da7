"""The order of moves: the tuples of a move against plain Python, and the learned score of them."""

import numpy as np
import pytest

from hexlit.hex.solver.bitboard import STRIDE, pack
from hexlit.hex.solver.moves import edges
from hexlit.hex.solver.order import TUPLES, describe, new_ordering, order, packaged_weights
from tests.hex.solver.test_ingredients import RING
from tests.hex.solver.test_solver import random_board

BRIDGES = ((-1, 2), (-2, 1), (-1, -1), (1, -2), (2, -1), (1, 1))


@pytest.mark.parametrize("size", [3, 6, 8])
def test_the_tuples_of_a_move_are_those_of_plain_python(size: int) -> None:
    rng, o = np.random.default_rng(size), new_ordering(size)
    for _ in range(10):
        grid = random_board(rng, size, int(rng.integers(0, size * size - 1))).reshape(size, size)
        own, opp = pack(grid.ravel() == 1, size), pack(grid.ravel() == -1, size)
        empty = edges(size).board & ~(own | opp)
        number = describe(own, opp, empty, empty, o)
        cells = [tuple(cell) for cell in np.argwhere(grid == 0).tolist()]
        assert number == len(cells)
        d = o.distance.reshape(4, STRIDE, STRIDE)
        ways = [d[0] + d[1], d[2] + d[3]]
        short = [min(int(way[cell]) for cell in cells) for way in ways]
        colours = np.pad(
            np.pad(grid % 3, ((0, 0), (2, 2)), constant_values=2),
            ((2, 2), (0, 0)),
            constant_values=1,
        )
        for (row, column), tuples in zip(cells, o.tuples[:number].tolist(), strict=True):
            expected = [0] * len(TUPLES)
            for at, steps in enumerate((RING, BRIDGES)):
                near = [(row + down, column + right) for down, right in steps]
                expected[at] = int("".join(str(colours[r + 2, c + 2]) for r, c in near), 3)
                for side in (0, 1):
                    on_way = [cell in cells and ways[side][cell] == short[side] for cell in near]
                    expected[2 + 2 * side + at] = int("".join(str(int(on)) for on in on_way), 2)
            detours = [min(int(ways[side][row, column]) - short[side], 5) for side in (0, 1)]
            steps_to = [min(int(d[side, row, column]), 3) for side in range(4)]
            beside = [min(at, size - 1 - at, 3) for at in (row, column)]
            expected[6:] = [
                6 * detours[0] + detours[1],
                *(4 * a + b for a, b in (steps_to[:2], steps_to[2:], beside)),
            ]
            assert tuples == expected


def test_moves_come_by_their_score() -> None:
    size, o, weights = 6, new_ordering(6), packaged_weights()
    board = random_board(np.random.default_rng(3), size, 9)
    own, opp = pack(board == 1, size), pack(board == -1, size)
    empty = edges(size).board & ~(own | opp)
    number = describe(own, opp, empty, empty, o)
    rows = weights.rows[o.tuples[:number] + o.first].sum(axis=1)
    scores = np.maximum(rows + weights.bias, 0) @ weights.output
    moves = o.moves[:number].copy()
    assert order(own, opp, empty, empty, (empty, empty), o) == number
    np.testing.assert_allclose(o.scores[:number], np.sort(scores)[::-1], atol=1e-4)
    assert o.moves[0] == moves[scores.argmax()]
    order(own, opp, empty, empty, (moves[0], moves[0] | moves[1]), o)
    less = 2.5 * (moves != moves[0]) + 2.5 * ~np.isin(moves, moves[:2])
    np.testing.assert_allclose(o.scores[:number], np.sort(scores - less)[::-1], atol=1e-4)
