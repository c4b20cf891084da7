"""Reply targets: the next position's policy, as the player to move before it sees the board."""

import numpy as np
import pytest

from hexlit.hex.record import GameRecord
from hexlit.selfplay.rebuild import ReplyBatch
from hexlit.selfplay.window import ReplayWindow
from tests.selfplay.test_window import as_drawn, games

Row = tuple[bytes, bytes]


def window_with_replies(records: list[GameRecord]) -> ReplayWindow:
    window = ReplayWindow(size=records[0].size, swap=records[0].swap, capacity=10**6, replies=True)
    window.extend(records)
    return window


def drawn(window: ReplayWindow) -> ReplyBatch:
    batch = window.epoch(batch=len(window), steps=1, seed=1, epoch=0)[0]
    assert isinstance(batch, ReplyBatch)
    return batch


def plain_reply(record: GameRecord, ply: int, *, turned: bool) -> bytes:
    """Cell by cell: the next policy's cell that lies where this player sees it."""
    size, plies = record.size, record.policy_plies.tolist()
    reply = np.zeros(size**2 + record.swap, np.float32)
    if ply + 1 in plies:
        policy = record.policies[plies.index(ply + 1)].astype(np.float32)
        for row in range(size):
            for column in range(size):
                seen = (row, column) if ply % 2 == 0 else (column, row)
                if turned:
                    seen = (size - 1 - seen[0], size - 1 - seen[1])
                reply[seen[0] * size + seen[1]] = policy[row * size + column]
        reply[size**2 :] = policy[size**2 :]
    return reply.tobytes()


@pytest.mark.row("F6")
@pytest.mark.parametrize(("size", "swap"), [(2, True), (4, False), (5, True)])
def test_the_reply_is_the_next_policy_and_zero_where_the_next_search_was_fast(size: int, swap: bool) -> None:
    records = games(30, size, swap=swap)
    expected: dict[Row, bytes] = {}
    known = 0
    for record in records:
        for ply in record.policy_plies.tolist():
            known += ply + 1 in record.policy_plies
            for turned in (False, True):
                planes, policy, _ = as_drawn(record, ply, turned=turned)
                expected[planes, policy] = plain_reply(record, ply, turned=turned)
    batch = drawn(window_with_replies(records))
    assert batch.reply.dtype == np.float32
    for planes, policy, reply in zip(batch.planes, batch.policy, batch.reply, strict=True):
        assert reply.tobytes() == expected[planes.tobytes(), policy.tobytes()]
    assert 0 < np.count_nonzero(batch.reply.any(1)) == known < len(batch.reply)


@pytest.mark.row("F6")
@pytest.mark.row("F6")
def test_without_replies_a_batch_has_none() -> None:
    records = games(10)
    plain = ReplayWindow(size=4, swap=False, capacity=10**6)
    plain.extend(records)
    batch = plain.epoch(batch=len(plain), steps=1, seed=1, epoch=0)[0]
    assert batch._fields == ("planes", "policy", "value")
    others = drawn(window_with_replies(records))._asdict()
    assert all(np.array_equal(array, others[name]) for name, array in batch._asdict().items())
