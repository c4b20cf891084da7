"""The games of a store as flat arrays, without a Python object for any of them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.record import Ending
from hexlit.selfplay.checking import faults_of
from hexlit.selfplay.columns import SCHEMA

COLUMNS = ["size", "swap", "moves", "winner", "ending", "opening", "values"]

GAMES_AT_ONCE = 50_000
"""Games that are read into memory at once."""

OTHER_SIZE = "games on another board"
UNFINISHED = "unfinished games"
NO_WINNER = "games without a winner"
NO_MOVE = "games without a move to learn from"
OPENING = "plies of an opening"
BEFORE_SWAP = "plies before a swap"


class FlatGames(NamedTuple):
    """G games with M moves in all, and P positions to learn from; arrays of offsets have one more entry."""

    moves: NDArray[np.int16]
    """All moves, one game after the other, `[M]`."""
    first_move: NDArray[np.int64]
    """Index in `moves` of each game's first move, and M, `[G + 1]`."""
    first_row: NDArray[np.int64]
    """Number of each game's first position, and P, `[G + 1]`."""
    first_ply: NDArray[np.int16]
    """Moves before each game's first position, `[G]`."""
    winner: NDArray[np.int8]
    """+1 Black, -1 White, `[G]`."""


def read_flat_games(
    parts: list[Path], *, size: int, swap: bool, claimed_results: bool
) -> tuple[FlatGames, dict[str, int]]:
    """The games in `parts` of a store for learning, and the number of games or plies left out, by reason.

    Raises:
        UsageError: a file is damaged or holds other data, or nothing is left.
    """
    left_out: Counter[str] = Counter()
    sizes: set[int] = set()
    claimed = 0
    chunks: list[_Chunk] = []
    for part in parts:
        for batch in _batches(part):
            chunk = _Chunk.of(batch)
            sizes.update(np.unique(chunk.size).tolist())
            chunk = chunk.without(chunk.size != size, OTHER_SIZE, left_out)
            if not claimed_results:
                claimed += int((chunk.unfinished & (chunk.winner != 0)).sum())
                chunk = chunk.without(chunk.unfinished, UNFINISHED, left_out)
            chunk = chunk.without(chunk.winner == 0, NO_WINNER, left_out)
            chunk = chunk.without(chunk.opening >= chunk.lengths, NO_MOVE, left_out)
            left_out[OPENING] += int(chunk.opening.sum())
            begins = chunk.begins(size, swap)
            left_out[BEFORE_SWAP] += int((begins - chunk.opening).sum())
            chunk = chunk._replace(opening=begins).without(begins >= chunk.lengths, NO_MOVE, left_out)
            chunks.append(chunk)
    if not any(len(chunk.winner) for chunk in chunks):
        raise UsageError(_nothing_left(parts[0].parent, size, sizes, claimed))
    return _joined(chunks), {reason: count for reason, count in sorted(left_out.items()) if count}


class _Chunk(NamedTuple):
    """N games as stored in a file."""

    size: NDArray[np.int8]
    winner: NDArray[np.int8]
    unfinished: NDArray[np.bool_]
    opening: NDArray[np.int64]
    told: NDArray[np.bool_]
    """Whether an imported record says that a player swapped; for self-play it says that the rule was on."""
    lengths: NDArray[np.int64]
    """Moves of each game, `[N]`; the others are `[N]`, too."""
    moves: NDArray[np.int16]
    """All moves, `[M]`."""

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> "_Chunk":
        moves = batch.column("moves")
        plain = {
            name: batch.column(name).to_numpy(zero_copy_only=False) for name in ("size", "winner", "opening", "swap")
        }
        offsets = moves.offsets.to_numpy().astype(np.int64)
        return cls(
            plain["size"],
            plain["winner"],
            pc.equal(batch.column("ending"), str(Ending.UNFINISHED)).to_numpy(zero_copy_only=False),
            plain["opening"].astype(np.int64),
            plain["swap"] & (pc.list_value_length(batch.column("values")).to_numpy(zero_copy_only=False) == 0),
            np.diff(offsets),
            moves.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]],
        )

    def without(self, wrong: NDArray[np.bool_], reason: str, left_out: Counter[str]) -> "_Chunk":
        """The games that are not `wrong`; the others are counted."""
        left_out[reason] += int(wrong.sum())
        kept = ~wrong
        return _Chunk(
            self.size[kept],
            self.winner[kept],
            self.unfinished[kept],
            self.opening[kept],
            self.told[kept],
            self.lengths[kept],
            self.moves[np.repeat(kept, self.lengths)],
        )

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.cumsum(self.lengths) - self.lengths

    def swapped(self, size: int) -> NDArray[np.bool_]:
        """Whether the second move is a swap."""
        found = np.zeros(len(self.lengths), np.bool_)
        long = self.lengths > 1
        found[long] = self.moves[self.starts[long] + 1] == size**2
        return found

    def begins(self, size: int, swap: bool) -> NDArray[np.int64]:
        """Moves before the first position to learn from with or without the swap rule, `[N]`.

        Without the rule the swap is no move, and the first stone of a swap game would be a poor target. A swap of sides
        is no move in a record either: the recorded answer to the first stone was played after the swap.
        """
        pieces = self.swapped(size)
        sides = self.told & ~pieces
        least = np.where(sides, 2, 0) if swap else np.where(pieces, 2, np.where(sides, 1, 0))
        return np.maximum(self.opening, least)


def _batches(part: Path) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(part) as file:
            wrong = [name for name in COLUMNS if SCHEMA.field(name) not in list(file.schema_arrow)]
            if wrong:
                raise pa.ArrowInvalid(f"no column {wrong[0]} as a store has it")
            rows = 0
            for batch in file.iter_batches(GAMES_AT_ONCE, columns=COLUMNS):
                for fault in faults_of(pa.Table.from_batches([batch])):
                    raise UsageError(
                        f"data.path: {part}, row {rows + fault.row + 1}: {fault.said}; hexlit games verify finds all "
                        "of them"
                    )
                rows += batch.num_rows
                yield batch
    except (pa.ArrowException, OSError) as error:
        said = str(error).partition("\n")[0]
        raise UsageError(f"data.path: {part} cannot be read as a part of a store ({said})") from error


def _joined(chunks: list[_Chunk]) -> FlatGames:
    lengths = np.concatenate([chunk.lengths for chunk in chunks])
    opening = np.concatenate([chunk.opening for chunk in chunks])
    return FlatGames(
        moves=np.concatenate([chunk.moves for chunk in chunks]).astype(np.int16),
        first_move=_sums(lengths),
        first_row=_sums(lengths - opening),
        first_ply=opening.astype(np.int16),
        winner=np.concatenate([chunk.winner for chunk in chunks]).astype(np.int8),
    )


def _sums(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Sum of the counts before each, and of all, `[G + 1]`."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _nothing_left(folder: Path, size: int, sizes: set[int], claimed: int) -> str:
    if size not in sizes:
        there = ", ".join(map(str, sorted(sizes))) or "no game at all"
        return f"data.path={folder}: no game on a board of {size} (there: {there}); set board"
    if claimed:
        return (
            f"data.path={folder}: none of the games on a board of {size} ended, but {claimed} have a winner whom their "
            "source claims; data.claimed_results=true takes them"
        )
    return f"data.path={folder}: the games on a board of {size} hold no position with a move and a result to learn from"
