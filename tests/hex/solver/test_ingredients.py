"""The ingredients of the fast search against plain search:
connections hold, filled-in cells change no winner.
"""

from itertools import product

import numpy as np
import pytest

from hexlit.hex.solver import ExactSolver, Ingredients
from hexlit.hex.solver.bitboard import count, index, pack, transpose, unpack
from hexlit.hex.solver.connection import FULL, NOTHING, SEMI, connect, new_connections
from hexlit.hex.solver.moves import edges, fill_in
from tests.hex.solver.test_solver import agrees, random_board

RING = ((0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1), (1, 0))


def words(board: np.ndarray, size: int) -> tuple[np.uint64, np.uint64]:
    return pack(board == 1, size), pack(board == -1, size)


def board_of(own: np.uint64, opp: np.uint64, size: int) -> np.ndarray:
    return unpack(int(own), size).astype(np.int8) - unpack(int(opp), size).astype(np.int8)


@pytest.mark.parametrize(("size", "fewest", "count_of_boards"), [(4, 4, 150), (5, 9, 100)])
def test_connections_that_are_found_hold(size: int, fewest: int, count_of_boards: int) -> None:
    """FULL: the side wins although the other moves,
    even with nothing outside the carrier; SEMI: moving first.
    """
    rng = np.random.default_rng(size)
    connections, sides, solver = new_connections(size), edges(size), ExactSolver(size)
    found = []
    for _ in range(count_of_boards):
        board = random_board(rng, size, int(rng.integers(fewest, size * size - 2)))
        own, opp = words(board, size)
        empty = np.uint64(sides.board & ~(own | opp))
        state, carrier, common, _ = connect(own, empty, sides.top, sides.bottom, True, connections)
        found.append(state)
        if state == NOTHING:
            continue
        needed = unpack(int(carrier), size)
        assert not (needed & (board != 0)).any()
        alone = np.where((board == 0) & ~needed, np.int8(-1), board)
        assert solver.wins(alone, -1 if state == FULL else 1) == (state == SEMI), board
        if state == SEMI:
            for cell in np.flatnonzero((board == 0) & ~unpack(int(common), size)):
                met = board.copy()
                met[cell] = -1
                assert solver.wins(met, 1), "a move that leaves one of the threats alone loses"
    assert min(found.count(state) for state in (NOTHING, SEMI, FULL)) > 5


def test_the_edge_template_of_the_third_row_is_found() -> None:
    """The ziggurat: a stone on the third row with two rows free below, widening to one side."""
    size = 7
    board = np.full((size, size), -1, np.int8)
    board[:5, 3] = 1
    board[4, 4] = 0
    board[5, 2:5] = 0
    board[6, 1:5] = 0
    sides = edges(size)
    for cells, expected in (
        (board, FULL),
        (np.where(np.indices(board.shape)[0] == 6, -1, board), NOTHING),
    ):
        own, opp = words(cells.astype(np.int8).ravel(), size)
        empty = np.uint64(sides.board & ~(own | opp))
        assert (
            connect(own, empty, sides.top, sides.bottom, True, new_connections(size))[0] == expected
        )


def plain_ring(board: np.ndarray, row: int, column: int) -> list[int | None]:
    """The neighbours in order: +1, -1, 0,
    and None at a corner between two edges; edges have their owner's colour.
    """
    size = len(board)
    ring: list[int | None] = []
    for down, right in RING:
        r, c = row + down, column + right
        above, beside = not 0 <= r < size, not 0 <= c < size
        ring.append(
            None if above and beside else 1 if above else -1 if beside else int(board[r, c])
        )
    return ring


def plain_dead(ring: list[int | None]) -> bool:
    """Whether each way to colour the empty neighbours
    leaves each colour in one piece around the cell.
    """
    if None in ring:
        i = ring.index(None)
        return any(plain_dead([*ring[:i], colour, *ring[i + 1 :]]) for colour in (1, -1))
    if 0 in ring:
        i = ring.index(0)
        return all(plain_dead([*ring[:i], colour, *ring[i + 1 :]]) for colour in (1, -1))
    return sum(ring[i] != ring[i - 1] for i in range(6)) <= 2


@pytest.mark.parametrize("size", [3, 5, 8])
def test_a_dead_cell_is_filled_in_exactly_where_the_plain_rule_says(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(150):
        board = random_board(rng, size, int(rng.integers(0, size * size)))
        grid = board.reshape(size, size)
        dead = [
            cell
            for cell in np.flatnonzero(board == 0).tolist()
            if plain_dead(plain_ring(grid, cell // size, cell % size))
        ]
        own, opp, own_captured, opp_captured = fill_in(*words(board, size), edges(size))
        filled = board_of(own, opp, size)
        assert (filled[dead] != 0).all()
        assert not int(own_captured) & int(opp_captured)
        left = [
            cell
            for cell in np.flatnonzero(filled == 0).tolist()
            if plain_dead(plain_ring(filled.reshape(size, size), cell // size, cell % size))
        ]
        assert left == []


@pytest.mark.parametrize("without", Ingredients._fields)
def test_without_an_ingredient_the_answers_are_the_same(without: str) -> None:
    """Same answers on all openings of 4×4 and random positions of 5×5."""
    rng = np.random.default_rng(5)
    whole, part = ExactSolver(5), ExactSolver(5, use=Ingredients()._replace(**{without: False}))
    for _ in range(25):
        board = random_board(rng, 5, int(rng.integers(4, 10)))
        assert part.solve(board, 1).winning_moves == whole.solve(board, 1).winning_moves
    empty = np.zeros(16, np.int8)
    plain = ExactSolver(4, use=Ingredients()._replace(**{without: False}))
    assert plain.solve(empty, 1).winning_moves == ExactSolver(4).solve(empty, 1).winning_moves


def test_any_ingredients_together_give_the_winning_moves_of_brute_force() -> None:
    """All choices on 3×3, with any numbers of stones."""
    rng = np.random.default_rng(7)
    boards = [
        np.zeros(9, np.int8),
        *(rng.choice([-1, 0, 0, 0, 1], 9).astype(np.int8) for _ in range(30)),
    ]
    for use in product((True, False), repeat=len(Ingredients._fields)):
        solver = ExactSolver(3, use=Ingredients(*use))
        for board in boards:
            for player in (1, -1):
                assert agrees(solver, board, player), (use, board.tolist(), player)


def test_words_count_and_find_their_cells() -> None:
    from hexlit.hex.jit import kernel

    @kernel
    def both(word: np.uint64) -> tuple[int, int]:
        return count(word), index(word)

    rng = np.random.default_rng(6)
    for _ in range(50):
        cells = rng.random(64) < rng.random()
        word = pack(cells, 8)
        first = int(np.flatnonzero(cells)[0]) if cells.any() else 64
        assert both(word) == (int(cells.sum()), first)
        assert (unpack(int(transpose(word)), 8) == cells.reshape(8, 8).T.ravel()).all()
