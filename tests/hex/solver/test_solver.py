"""The exact solver against plain Python brute force,
the published tables and the game's symmetries.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from hexlit.errors import UsageError
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.hex.solver import ExactSolver, UnsolvedError
from hexlit.hex.solver.first_moves import FirstMoves
from hexlit.hex.solver.table import (
    UNSOLVED,
    Knowledge,
    add_carrier,
    copy,
    find,
    find_carrier,
    new_table,
    store,
)
from tests.commands.preloaded import run_apart

Board = tuple[int, ...]


def connected(board: Board, size: int, player: int) -> bool:
    """Plain rules: Black (+1) row 0 to the last row, White (-1) column 0 to the last column."""
    cells = {divmod(cell, size) for cell, stone in enumerate(board) if stone == player}
    axis = 0 if player == 1 else 1
    stack = [cell for cell in cells if cell[axis] == 0]
    seen = set(stack)
    while stack:
        row, column = stack.pop()
        if (row, column)[axis] == size - 1:
            return True
        for step in ((0, 1), (0, -1), (1, 0), (-1, 0), (-1, 1), (1, -1)):
            beside = (row + step[0], column + step[1])
            if beside in cells and beside not in seen:
                seen.add(beside)
                stack.append(beside)
    return False


@cache
def brute_wins(board: Board, size: int, player: int) -> bool:
    """Whether `player`, to move, wins."""
    if connected(board, size, player):
        return True
    if connected(board, size, -player):
        return False
    return any(
        not brute_wins((*board[:cell], player, *board[cell + 1 :]), size, -player)
        for cell, stone in enumerate(board)
        if stone == 0
    )


def brute_winning_moves(board: Board, size: int, player: int) -> tuple[int, ...]:
    if connected(board, size, player) or connected(board, size, -player):
        return ()
    return tuple(
        cell
        for cell, stone in enumerate(board)
        if stone == 0 and not brute_wins((*board[:cell], player, *board[cell + 1 :]), size, -player)
    )


def random_board(rng: np.random.Generator, size: int, stones: int) -> npt.NDArray[np.int8]:
    board = np.zeros(size * size, dtype=np.int8)
    cells = rng.permutation(size * size)[:stones]
    board[cells[0::2]] = 1
    board[cells[1::2]] = -1
    return board


def agrees(solver: ExactSolver, board: npt.NDArray[np.int8], player: int) -> bool:
    plain = tuple(board.tolist())
    solution = solver.solve(board, player)
    expected = player if brute_wins(plain, solver.size, player) else -player
    return (
        solution.winner == expected
        and solution.winning_moves == brute_winning_moves(plain, solver.size, player)
        and solver.wins(board, player) == (expected == player)
    )


@pytest.mark.parametrize(
    ("size", "count", "fewest"),
    [(2, 40, 0), (3, 150, 0), (4, 400, 8), (5, 400, 16), (6, 150, 27), (7, 80, 40), (8, 60, 55)],
)
def test_random_positions_have_the_winning_moves_of_brute_force(
    size: int, count: int, fewest: int
) -> None:
    """The solver that the search is measured against is exact, for either side to move."""
    rng = np.random.default_rng(size)
    solver = ExactSolver(size, rows=1 << 16)
    for _ in range(count):
        board = random_board(rng, size, int(rng.integers(fewest, size * size + 1)))
        player = int(rng.choice([-1, 1]))
        assert agrees(solver, board, player), (board.tolist(), player)


def test_a_tiny_table_that_overflows_changes_no_answer() -> None:
    rng = np.random.default_rng(0)
    small, large = ExactSolver(5, rows=1 << 4), ExactSolver(5, rows=1 << 18)
    for _ in range(60):
        board = random_board(rng, 5, int(rng.integers(6, 16)))
        assert small.solve(board, 1).winning_moves == large.solve(board, 1).winning_moves


def test_a_larger_table_takes_over_all_that_is_known() -> None:
    rng = np.random.default_rng(8)
    boards = [
        tuple(np.uint64(word) for word in rng.integers(0, 1 << 48, 2).tolist()) for _ in range(100)
    ]
    small, larger, spare = new_table(1 << 10), new_table(1 << 12), np.uint64(9)
    for i, (own, opp) in enumerate(boards):
        store(
            small.positions,
            own,
            opp,
            spare,
            Knowledge(UNSOLVED, i, 2, np.uint64(i), np.uint64(5)),
            1 + i,
        )
        add_carrier(small.carriers, own, i % 2 == 0, np.uint64(i + 1))
    before = [find(small.positions, own, opp, spare) for own, opp in boards]
    assert sum(seen for seen, _ in before) > 90
    copy(small, larger)
    assert np.count_nonzero(larger.positions[:, 0]) == np.count_nonzero(small.positions[:, 0])
    assert [find(larger.positions, own, opp, spare) for own, opp in boards] == before
    for i, (own, _) in enumerate(boards):
        assert find_carrier(larger.carriers, own, i % 2 == 0, ~np.uint64(i + 1)) == i + 1
        assert find_carrier(larger.carriers, own, i % 2 == 1, np.uint64(0)) == 0, (
            "the other side is to move"
        )
        assert find_carrier(larger.carriers, own, i % 2 == 0, np.uint64(i + 1)) == 0, (
            "the cells are not free"
        )


def test_a_row_torn_by_two_writers_is_not_read() -> None:
    table, spare = new_table(16).positions, np.uint64(9)
    own, opp = np.uint64(3), np.uint64(1 << 20)
    store(table, own, opp, spare, Knowledge(UNSOLVED, 7, 2, np.uint64(64), np.uint64(128)), 1)
    (row,) = np.flatnonzero(table[:, 2])
    whole = table[row].copy()
    for column in range(5):
        table[row] = whole
        table[row, column] ^= np.uint64(1 << 30)
        assert not find(table, own, opp, spare)[0]
    table[row] = whole
    assert find(table, own, opp, spare)[0]


def test_where_passing_wins_every_move_wins_and_none_is_searched() -> None:
    """A column of bridges down the middle connects whatever the other side does."""
    board = np.zeros((5, 5), np.int8)
    board[1, 2] = board[3, 1] = 1
    solution = ExactSolver(5).solve(board.ravel(), 1)
    assert solution.winner == 1
    assert solution.winning_moves == tuple(np.flatnonzero(board.ravel() == 0).tolist())
    assert solution.nodes == 1


@pytest.mark.parametrize("size", [3, 4, 5, 6, pytest.param(7, marks=pytest.mark.slow)])
def test_every_opening_has_its_published_value(size: int) -> None:
    """One solve of the empty board lists exactly the winning openings."""
    solution = ExactSolver(size).solve(np.zeros(size * size, dtype=np.int8), 1)
    assert solution.winner == 1
    assert solution.winning_moves == tuple(np.flatnonzero(solved_openings(size)).tolist())
    assert solution.nodes > 0
    assert solution.seconds > 0


@pytest.mark.parametrize(("size", "stones", "count"), [(6, 4, 20), (7, 12, 20)])
def test_threads_that_share_a_table_give_the_same_answers(
    size: int, stones: int, count: int
) -> None:
    rng = np.random.default_rng(size)
    one, three = ExactSolver(size), ExactSolver(size, threads=3)
    three.alone = 10
    for _ in range(count):
        board = random_board(rng, size, stones)
        solution = three.solve(board, 1)
        assert solution.winning_moves == one.solve(board, 1).winning_moves
        assert solution.nodes > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_policy_is_asked_for_costly_positions_and_changes_no_answer(threads: int) -> None:
    rng, asked, empty = np.random.default_rng(threads), list[Board](), np.zeros(49, np.int8)

    def policy(cells: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        asked.append(tuple(cells.tolist()))
        return rng.random(cells.size, np.float32)

    six, seven = ExactSolver(6, threads=threads), ExactSolver(7, threads=threads)
    six.policy = seven.policy = policy
    assert six.solve(empty[:36], 1).winning_moves == tuple(
        np.flatnonzero(solved_openings(6)).tolist()
    )
    assert threads > 1 or len({*asked}) == len(asked) > 2
    with pytest.raises(UnsolvedError):
        seven.wins(empty, 1, node_limit=1100)
    assert seven.wins(empty, 1)
    assert (0,) * 49 in asked


def test_a_search_ends_though_the_table_keeps_no_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hexlit.hex.solver.solver.store_prior", lambda prior, work: None)
    solver = ExactSolver(6)
    solver.policy = lambda cells: np.ones(cells.size, np.float32)
    assert solver.solve(np.zeros(36, np.int8), 1).winning_moves == tuple(
        np.flatnonzero(solved_openings(6)).tolist()
    )


def test_what_a_used_table_holds_changes_no_answer() -> None:
    rng = np.random.default_rng(7)
    used = ExactSolver(7, rows=1 << 18)
    for _ in range(20):
        board = random_board(rng, 7, 30)
        assert (
            used.solve(board, 1).winning_moves
            == ExactSolver(7, rows=1 << 12).solve(board, 1).winning_moves
        )


@pytest.mark.parametrize("size", [4, 5, 6, 8])
def test_turned_and_colour_exchanged_positions_have_mirrored_winning_moves(size: int) -> None:
    rng = np.random.default_rng(size)
    cells = size * size
    index = np.arange(cells)
    transposed = index.reshape(size, size).T.ravel()
    for _ in range(15):
        board = random_board(rng, size, max(cells * 2 // 3, cells - 20))
        moves = set(ExactSolver(size, rows=1 << 12).solve(board, 1).winning_moves)
        exchanged = ExactSolver(size, rows=1 << 12).solve(-board[transposed], -1)
        assert {int(transposed[move]) for move in exchanged.winning_moves} == moves
        turned = ExactSolver(size, rows=1 << 12).solve(board[::-1].copy(), 1)
        assert {cells - 1 - move for move in turned.winning_moves} == moves


def test_a_finished_game_has_a_winner_and_no_moves() -> None:
    board = np.zeros(9, dtype=np.int8)
    board[[1, 4, 7]] = 1
    for player in (1, -1):
        solution = ExactSolver(3).solve(board, player)
        assert (solution.winner, solution.winning_moves) == (1, ())
        assert ExactSolver(3).wins(board, player) == (player == 1)


def test_the_node_limit_gives_up_clearly_and_a_later_call_still_succeeds() -> None:
    solver = ExactSolver(5)
    empty = np.zeros(25, dtype=np.int8)
    with pytest.raises(UnsolvedError, match="unsolved after 50 nodes"):
        solver.solve(empty, 1, node_limit=50)
    assert len(solver.solve(empty, 1).winning_moves) == int(solved_openings(5).sum())


def test_wrong_input_is_refused_in_one_line() -> None:
    empty = np.zeros(9, dtype=np.int8)
    with pytest.raises(UsageError, match="size=9"):
        ExactSolver(9)
    with pytest.raises(UsageError, match=r"\(16,\)"):
        ExactSolver(4).solve(empty, 1)
    with pytest.raises(UsageError, match="to_move is 0"):
        ExactSolver(3).solve(empty, 0)
    with pytest.raises(UsageError, match="value other than"):
        ExactSolver(3).solve(empty + 2, 1)
    with pytest.raises(UsageError, match="node_limit=0"):
        ExactSolver(3).solve(empty, 1, node_limit=0)


def test_openings_go_on_where_a_killed_run_was(tmp_path: Path) -> None:
    """What the first run has saved is not searched again."""
    whole, part = FirstMoves(ExactSolver(6)), FirstMoves(ExactSolver(6), tmp_path)
    assert list(whole.solve())
    assert whole.rows == SOLVED[6]
    part.save_after = 0.0
    list(islice(part.solve(), 8))
    assert 0 < np.count_nonzero(part.values) < 36
    rest = FirstMoves(ExactSolver(6), tmp_path)
    assert np.array_equal(rest.values, part.values)
    before = rest.nodes
    assert list(rest.solve())
    assert rest.rows == whole.rows
    assert rest.nodes - before < whole.nodes


def test_threads_may_share_a_solver() -> None:
    """Its table and its scratch memory serve one call at a time,
    though the kernels release the GIL.
    """
    draws = np.random.default_rng(0)
    stones = np.array([1, -1, 1, -1, 1, -1, *[0] * 19], np.int8)
    positions = [draws.permutation(stones) for _ in range(300)]
    shared, alone = ExactSolver(5), ExactSolver(5)
    expected = [alone.solve(cells, 1).winning_moves for cells in positions]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda cells: shared.solve(cells, 1).winning_moves, positions))
    assert answers == expected
    assert [shared.solve(cells, 1).winning_moves for cells in positions] == expected


INTERRUPTED = """
import _thread, threading
import numpy as np
from hexlit.hex.solver import ExactSolver
ExactSolver(3).solve(np.zeros(9, np.int8), 1)  # compiled
solver, board = ExactSolver(8, rows=1 << 12), np.zeros(64, np.int8)
board[31] = 1
threading.Timer(0.2, _thread.interrupt_main).start()
try:
    solver.proof(board, -1, 20_000)  # one call of the kernel, for a second
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interruption_waits_for_the_kernel_and_is_raised() -> None:
    done = run_apart(INTERRUPTED)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
