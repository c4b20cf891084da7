"""The replay window: the latest games, and their positions rebuilt as they were."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.hex.board import GameBoard
from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.dataset import GameRows
from hexlit.selfplay.rebuild import Batch
from hexlit.selfplay.targets import Target
from hexlit.selfplay.window import ReplayWindow, brier_score, value_targets
from tests.selfplay.recorded_games import opened, save
from tests.selfplay.recorded_games import random_games as random_recorded_games


def random_game(game_id: int, size: int, *, swap: bool, full_share: float = 0.6) -> GameRecord:
    """A random game played with `GameBoard`,
    with random policies over the legal moves of some plies.
    """
    random = np.random.default_rng([game_id, size])
    board = GameBoard(size, swap=swap)
    plies, policies = [], []
    while not board.winner:
        legal = board.legal_moves()
        if random.random() < full_share:
            policy = np.zeros(size**2 + swap)
            policy[legal] = random.random(len(legal))
            plies.append(len(board.moves))
            policies.append(policy / policy.sum())
        if board.may_swap and game_id % 2:
            board.play(size**2)
        else:
            board.play(int(random.choice(legal)))
    count = len(board.moves)
    return GameRecord(
        game_id,
        size,
        swap,
        np.array(board.moves, np.int16),
        board.winner,
        Ending.CONNECTED,
        values=random.uniform(-1, 1, count).astype(np.float32),
        simulations=np.full(count, 8, np.int16),
        policy_plies=np.array(plies, np.int16),
        policies=np.array(policies, np.float16).reshape(len(plies), size**2 + swap),
    )


def games(count: int, size: int = 4, *, swap: bool = False) -> list[GameRecord]:
    return [random_game(game, size, swap=swap) for game in range(count)]


def window_of(records: list[GameRecord], capacity: int = 10**6, share: float = 0.0) -> ReplayWindow:
    window = ReplayWindow(records[0].size, records[0].swap, capacity, share)
    window.extend(records)
    return window


Position = tuple[bytes, bytes, float]


def as_drawn(record: GameRecord, ply: int, *, turned: bool, share: float = 0.0) -> Position:
    """Expected entry of a batch for one position:
    the board turned first, then seen by the player to move.
    """
    size = record.size
    board = GameBoard(size, swap=record.swap, moves=record.moves[:ply].tolist())
    planes = board.planes()[0]
    policy = record.policies[record.policy_plies.tolist().index(ply)].astype(np.float32)
    cells = policy[: size**2].reshape(size, size)
    if ply % 2 == 1:
        cells = cells.T
    if turned:
        planes, cells = planes[:, ::-1, ::-1], cells[::-1, ::-1]
    mover = 1 if ply % 2 == 0 else -1
    value = (1 - share) * (1.0 if record.winner == mover else -1.0) + share * float(
        record.values[ply]
    )
    return (
        planes.tobytes(),
        np.concatenate([cells.ravel(), policy[size**2 :]]).tobytes(),
        round(value, 5),
    )


def rows(batch: Batch) -> list[Position]:
    return [
        (planes.tobytes(), policy.tobytes(), round(float(value), 5))
        for planes, policy, value in zip(batch.planes, batch.policy, batch.value, strict=True)
    ]


@pytest.mark.parametrize("share", [0.0, 0.25])
@pytest.mark.parametrize(("size", "swap"), [(2, True), (4, False), (5, True)])
def test_positions_are_rebuilt_as_the_board_plays_them(size: int, swap: bool, share: float) -> None:
    """Planes, policy and value in the mover's frame, for White, after a swap, and turned."""
    records = games(30, size, swap=swap)
    window = window_of(records, share=share)
    expected: dict[Position, tuple[int, int]] = {}
    both_ways = Counter[bool]()
    for record in records:
        for ply in record.policy_plies.tolist():
            for turned in (False, True):
                expected[as_drawn(record, ply, turned=turned, share=share)] = (record.game_id, ply)
    batch = window.epoch(batch=len(window), steps=1, seed=1, epoch=0)[0]
    assert batch.planes.dtype == np.int8
    assert batch.policy.dtype == batch.value.dtype == np.float32
    for position in rows(batch):
        game, ply = expected[position]
        both_ways[position == as_drawn(records[game], ply, turned=True, share=share)] += 1
    assert min(both_ways.values()) > 0.3 * len(window)


def test_every_position_comes_once_before_any_comes_again() -> None:
    records = games(40)
    window = window_of(records)
    turned = {
        as_drawn(r, ply, turned=True): as_drawn(r, ply, turned=False)
        for r in records
        for ply in r.policy_plies
    }
    batch = len(window) // 4
    epoch = window.epoch(batch=batch, steps=8, seed=3, epoch=1)
    seen = Counter(turned.get(row, row) for step in range(4) for row in rows(epoch[step]))
    assert max(seen.values()) == 1 or len(set(turned.values())) < len(window)
    assert len(epoch) == 8


@pytest.mark.parametrize("capacity", [1, 20, 100])
def test_the_window_keeps_the_latest_games_and_no_more_than_it_needs(capacity: int) -> None:
    """The window is honoured."""
    records = games(50)
    window = ReplayWindow(4, False, capacity)
    for record in records:
        window.extend([record])
        kept = records[: record.game_id + 1][-len(window.game_ids) :]
        held = [len(one.policy_plies) for one in kept]
        assert len(window) == sum(held)
        assert sum(held[1:]) < capacity
    assert len(window) >= capacity
    allowed = {
        as_drawn(r, ply, turned=turned)
        for r in kept
        for ply in r.policy_plies
        for turned in (False, True)
    }
    assert set(rows(window.epoch(batch=400, steps=1, seed=0, epoch=0)[0])) <= allowed


def test_games_added_one_by_one_or_at_once_leave_the_same_window() -> None:
    """A resumed run fills its window at once."""
    records = games(50)
    at_once, one_by_one = window_of(records, capacity=60), ReplayWindow(4, False, 60)
    for record in records:
        one_by_one.extend([record])
    assert (len(at_once), at_once.game_ids) == (len(one_by_one), one_by_one.game_ids)
    drawn = [window.epoch(batch=32, steps=2, seed=0, epoch=4) for window in (at_once, one_by_one)]
    assert rows(drawn[0][1]) == rows(drawn[1][1])


def arrays_of(window: ReplayWindow, epoch: int) -> list[tuple[object, ...]]:
    """Type, shape and bytes of each array of the batches of an epoch."""
    found: list[tuple[object, ...]] = []
    drawn = window.epoch(batch=32, steps=3, seed=0, epoch=epoch)
    for step in range(len(drawn)):
        planes, policy, value, further = drawn[step]
        arrays: list[NDArray[Any]] = [planes, policy, value, *further.values()]
        for array in arrays:
            found.append((array.dtype, array.shape, array.tobytes()))
    return found


@pytest.mark.parametrize("capacity", [1, 40, 200])
def test_an_index_that_grew_is_the_one_built_at_once(capacity: int) -> None:
    """Bit by bit, also when games have left, and with games that teach nothing."""
    plies = SimpleNamespace(KIND="value", of_game=lambda record: np.arange(len(record.moves)) / 32)
    cells = SimpleNamespace(
        KIND="cells", of_game=lambda record: np.outer(record.moves, np.arange(16)) / 256
    )
    targets = [Target("plies", 1.0, plies), Target("cells", 1.0, cells)]
    records = [random_game(game, 4, swap=True, full_share=game % 3 / 4) for game in range(90)]
    grown = ReplayWindow(4, True, capacity, 0.25, targets)
    done = 0
    for epoch, count in enumerate([1, 2, 30, 0, 3, 1, 40, 13]):
        grown.extend(records[done : done + count])
        done += count
        at_once = ReplayWindow(4, True, capacity, 0.25, targets)
        at_once.extend(records[:done])
        held = ReplayWindow(4, True, np.inf, 0.25, targets)
        held.extend(records[game] for game in grown.game_ids)
        assert len(grown) == len(at_once) == len(held)
        if len(grown):
            assert arrays_of(grown, epoch) == arrays_of(at_once, epoch) == arrays_of(held, epoch)


def test_seed_and_epoch_decide_the_batches() -> None:

    def drawn(seed: int, epoch: int) -> list[Position]:
        return rows(window.epoch(batch=64, steps=2, seed=seed, epoch=epoch)[1])

    window = window_of(games(30))
    first = drawn(1, 2)
    window.epoch(batch=64, steps=2, seed=9, epoch=9)
    assert drawn(1, 2) == first
    assert drawn(1, 3) != first
    assert drawn(2, 2) != first


def test_an_epoch_stays_as_it_was_drawn_when_games_arrive() -> None:
    window = window_of(games(10))
    epoch = window.epoch(batch=16, steps=1, seed=0, epoch=0)
    before = rows(epoch[0])
    window.extend(games(30)[10:])
    assert rows(epoch[0]) == before


def imported(tmp_path: Path, count: int = 30) -> GameRows:
    positions = opened(save(tmp_path / "store", random_recorded_games(count)))
    return GameRows(positions, np.arange(0, len(positions), 2))


def drawn_of(others: GameRows) -> dict[Position, int]:
    """Position, turned or not, by the number of its row."""
    found: dict[Position, int] = {}
    for turned in (False, True):
        batch = others.positions.batch(others.rows, np.full(len(others.rows), turned))
        found |= {
            position: int(row) for position, row in zip(rows(batch), others.rows, strict=True)
        }
    return found


@pytest.mark.parametrize("share", [0.0, 0.25, 0.3, 0.9])
def test_a_share_of_every_batch_comes_from_the_other_games(tmp_path: Path, share: float) -> None:
    """Rounded so that it holds over the epoch; the number of batches and their size stay."""
    window, others = window_of(games(60)), imported(tmp_path)
    epoch = window.epoch(batch=33, steps=10, seed=1, epoch=0, others=others, share=share)
    known = set(drawn_of(others))
    counts = [
        sum(position in known for position in rows(epoch[step])) for step in range(len(epoch))
    ]
    assert [len(epoch[step].value) for step in range(len(epoch))] == [33] * 10
    assert all(abs(count - 33 * share) <= 1 for count in counts)
    assert abs(sum(counts) - 330 * share) <= 0.5


def test_other_positions_come_once_before_any_comes_again(tmp_path: Path) -> None:
    """And none that was not to be learned from."""
    window, others = window_of(games(60)), imported(tmp_path, 12)
    steps = 2 * len(others.rows) // 8
    epoch = window.epoch(batch=16, steps=steps, seed=1, epoch=0, others=others, share=0.5)
    taken: list[int] = []
    for part in epoch._parts[1].rows:
        taken += part.tolist()
    assert sorted(taken[: len(others.rows)]) == others.rows.tolist()
    assert max(Counter(taken).values()) <= 2


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_targets_mix_the_searched_value_and_the_result(share: float) -> None:
    record, expected = random_game(0, 5, swap=False), []
    for ply in record.policy_plies.tolist():
        result = record.winner if ply % 2 == 0 else -record.winner
        expected.append((1 - share) * result + share * float(record.values[ply]))
    found = value_targets([record], share)
    assert found.dtype == np.float32
    assert found == pytest.approx(expected, abs=1e-6)


def test_the_brier_score_is_the_mean_square_of_the_missed_chance() -> None:
    records, squares = [random_game(seed, 5, swap=False) for seed in range(3)], []
    for record in records:
        for ply in record.policy_plies.tolist():
            won = record.winner == (1 if ply % 2 == 0 else -1)
            squares.append(((1 + float(record.values[ply])) / 2 - won) ** 2)
    assert brier_score(records) == pytest.approx(sum(squares) / len(squares))
    assert brier_score([]) == 1
