"""Equal positions of a window get the mean of their targets."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from hexlit.hex.board import Board
from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.window import ReplayWindow
from tests.selfplay.test_window import random_game

Targets = tuple[list[float], float]


def seen(record: GameRecord, ply: int, *, turned: bool) -> tuple[bytes, list[float]]:
    """Planes and policy of one position, in the mover's frame."""
    size = record.size
    board = Board(size, swap=record.swap, moves=record.moves[:ply].tolist())
    planes = board.planes()[0]
    policy = record.policies[record.policy_plies.tolist().index(ply)].astype(np.float64)
    cells = policy[: size**2].reshape(size, size)
    cells = cells.T if ply % 2 else cells
    if turned:
        planes, cells = planes[:, ::-1, ::-1], cells[::-1, ::-1]
    return planes.tobytes(), [*cells.ravel().tolist(), *policy[size**2 :].tolist()]


def reference(records: list[GameRecord]) -> dict[bytes, list[Targets]]:
    """All targets of each position, by its planes, one entry a position that was played, in plain Python."""
    found: dict[bytes, list[Targets]] = defaultdict(list)
    for record in records:
        for ply in record.policy_plies.tolist():
            value = float(record.winner if ply % 2 == 0 else -record.winner)
            ways = [seen(record, ply, turned=turned) for turned in (False, True)]
            smaller = min(planes for planes, _ in ways)
            found[smaller].append((next(policy for planes, policy in ways if planes == smaller), value))
    return found


def drawn(records: list[GameRecord], duplicates: str, count: int) -> dict[bytes, list[Targets]]:
    """`count` drawn positions, brought to the frame of `reference`."""
    size, swap = records[0].size, records[0].swap
    window = ReplayWindow(size=size, swap=swap, capacity=10**6, duplicates=duplicates)
    window.extend(records)
    batch = window.epoch(batch=count, steps=1, seed=2, epoch=0)[0]
    found: dict[bytes, list[Targets]] = defaultdict(list)
    for planes, policy, value in zip(batch.planes, batch.policy, batch.value, strict=True):
        cells = policy[: size**2].reshape(size, size)
        turned = np.ascontiguousarray(planes[:, ::-1, ::-1])
        if turned.tobytes() < planes.tobytes():
            planes, cells = turned, cells[::-1, ::-1]
        found[planes.tobytes()].append(([*cells.ravel().tolist(), *policy[size**2 :].tolist()], float(value)))
    return found


def is_symmetric(planes: bytes, size: int) -> bool:
    cells = np.frombuffer(planes, np.int8).reshape(-1, size, size)
    return bool((cells == cells[:, ::-1, ::-1]).all())


@pytest.mark.parametrize(("size", "swap"), [(2, True), (3, False), (3, True)])
@pytest.mark.parametrize("duplicates", ["average", "merge"])
def test_equal_positions_get_the_mean_of_their_targets(duplicates: str, size: int, swap: bool) -> None:
    """Each is drawn as often as it was played, or once where they merge."""
    records = [random_game(game, size, swap=swap) for game in range(60)]
    expected = reference(records)
    assert any(len(targets) > 5 for targets in expected.values()), "else nothing is seen"
    played = sum(map(len, expected.values()))
    found = drawn(records, duplicates, len(expected) if duplicates == "merge" else played)
    assert found.keys() == expected.keys()
    for planes, targets in expected.items():
        assert len(found[planes]) == (1 if duplicates == "merge" else len(targets))
        mean_policy = np.mean([policy for policy, _ in targets], axis=0)
        for policy, value in found[planes]:
            assert value == pytest.approx(np.mean([value for _, value in targets]), abs=1e-6)
            if is_symmetric(planes, size):  # then either way round is right
                either = [np.append(mean_policy[: size**2][::-1], mean_policy[size**2 :]), mean_policy]
                assert min(np.abs(policy - way).max() for way in either) < 1e-6
            else:
                assert policy == pytest.approx(mean_policy, abs=1e-6)


def test_equal_positions_keep_their_own_targets_unless_asked_otherwise() -> None:
    records = [random_game(game, 3, swap=False) for game in range(30)]
    expected = reference(records)
    found = drawn(records, "keep", sum(map(len, expected.values())))
    for planes, targets in expected.items():
        assert Counter(value for _, value in found[planes]) == Counter(value for _, value in targets)


def test_a_merged_position_has_the_mean_surprise() -> None:
    """Two games with the same first move, one turned; all draws go by surprise."""

    def game(number: int, move: int, surprises: list[float]) -> GameRecord:
        return GameRecord(
            number,
            2,
            False,
            np.array([move, 1, 2], np.int16),
            1,
            Ending.CONNECTED,
            values=np.zeros(3, np.float32),
            policy_plies=np.array([0, 1], np.int16),
            policies=np.full((2, 4), 0.25, np.float16),
            surprises=np.array(surprises, np.float32),
        )

    window = ReplayWindow(size=2, swap=False, capacity=99, surprise_share=1.0, duplicates="merge")
    window.extend([game(0, 0, [0.0, 1.0]), game(1, 3, [0.5, 2.0])])
    batch = window.epoch(batch=700, steps=1, seed=0, epoch=0)[0]
    stones = batch.planes[:, :2].sum((1, 2, 3))
    assert Counter(stones.tolist()) == {0: 100, 1: 600}  # means of 0.25 and 1.5
