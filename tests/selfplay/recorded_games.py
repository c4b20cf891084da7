"""Random recorded games of every kind,
and what is to be learned from one of their positions, by the plain board.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hexlit.hex.arrays import BoolArray, Int64Array
from hexlit.hex.board import GameBoard
from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.dataset import GamePositions
from hexlit.selfplay.flat_games import ReadOptions
from hexlit.selfplay.store import GameStore

Position = tuple[bytes, bytes, float]


def random_game(number: int, size: int, *, swaps: bool = False) -> GameRecord:
    """Every third with an opening, every fourth resigned,
    some of the others swapped; they differ in their length.
    """
    random = np.random.default_rng([number, size])
    board = GameBoard(size, swap=True)
    resigns = int(random.integers(3, 2 * size)) if number % 4 == 0 else size**2 + 1
    while not board.winner and len(board.moves) < resigns:
        swap = swaps and number % 2 == 1 and board.may_swap
        board.play(
            size**2
            if swap
            else int(random.choice([move for move in board.legal_moves() if move < size**2]))
        )
    winner = board.winner or -board.to_move
    return GameRecord(
        game_id=number,
        size=size,
        swap=size**2 in board.moves,
        moves=np.array(board.moves, np.int16),
        winner=winner,
        ending=Ending.CONNECTED if board.winner else Ending.RESIGNED,
        opening=(0, 0, 2)[number % 3],
    )


def random_games(
    count: int, size: int = 4, *, swaps: bool = False, first: int = 0
) -> list[GameRecord]:
    return [random_game(first + number, size, swaps=swaps) for number in range(count)]


def turned_by_180(record: GameRecord, game_id: int) -> GameRecord:
    cells = record.size**2
    moves = np.where(record.moves < cells, cells - 1 - record.moves, cells).astype(np.int16)
    return replace(record, game_id=game_id, moves=moves)


def save(folder: Path, records: Iterable[GameRecord], *, parts: int = 1) -> Path:
    store = GameStore(folder)
    kept = list(records)
    for part in range(parts):
        store.append(kept[part::parts])
        store.flush()
    store.close()
    return folder


def opened(
    folder: Path,
    size: int = 4,
    *,
    swap: bool = False,
    claimed_results: bool = False,
    **settings: Any,
) -> GamePositions:
    cache = folder.parent / "cache"
    return GamePositions.open(folder, ReadOptions(size, swap, claimed_results, **settings), cache)


def plies_of(record: GameRecord, *, swap: bool) -> range:
    """The plies that training may use."""
    begins = record.opening if swap or not record.swap else max(2, record.opening)
    return range(begins, len(record.moves))


def expected(record: GameRecord, ply: int, *, swap: bool, turned: bool = False) -> Position:
    """Planes, policy and value of one position, each made another way than by the data set."""
    size = record.size
    board = GameBoard(size, swap=True, moves=record.moves[:ply].tolist())
    planes = board.planes()[0]
    planes[4] = swap and ply == 1
    policy = np.zeros(size**2 + swap, np.float32)
    policy[record.moves[ply]] = 1
    cells = policy[: size**2].reshape(size, size)
    if ply % 2 == 1:
        cells = cells.T
    if turned:
        planes, cells = planes[:, ::-1, ::-1], cells[::-1, ::-1]
    value = 1.0 if record.winner == board.to_move else -1.0
    return planes.tobytes(), np.concatenate([cells.ravel(), policy[size**2 :]]).tobytes(), value


def seen(positions: GamePositions, rows: Int64Array, turned: BoolArray) -> list[Position]:
    batch = positions.batch(rows, turned)
    return [
        (planes.tobytes(), policy.tobytes(), float(value))
        for planes, policy, value in zip(batch.planes, batch.policy, batch.value, strict=True)
    ]


def content(record: GameRecord) -> bytes:
    """The same for a game and for the game turned by 180 degrees."""
    return min(record.moves.tobytes(), turned_by_180(record, 0).moves.tobytes())
