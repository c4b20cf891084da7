"""Recorded games as examples: flat arrays of all games, batches drawn from them, and what is held
out.
"""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, Int8Array, Int16Array, Int64Array
from hexlit.hex.geometry import BLACK, WHITE, Geometry, geometry
from hexlit.hex.jit import inline, kernel
from hexlit.hex.record import Ending
from hexlit.hex.rng import GOLDEN, key, mix, uniform
from hexlit.locks import alone
from hexlit.selfplay.rebuild import Batch, Epoch, Histories, Ints, Part, drawn_part, with_policy
from hexlit.selfplay.store import checked_table, part_files

COLUMNS = ["size", "swap", "moves", "winner", "ending", "opening", "values"]

OTHER_SIZE = "games on another board"
UNFINISHED = "unfinished games"
NO_WINNER = "games without a winner"
NO_MOVE = "games without a move to learn from"
OPENING = "plies of an opening"
BEFORE_SWAP = "plies before a swap"


class FlatGames(NamedTuple):
    """G games with M moves in all, and P positions to learn from; arrays of offsets have one more
    entry.
    """

    moves: Int16Array
    """All moves, one game after the other, `[M]`."""
    first_move: Int64Array
    """Index in `moves` of each game's first move, and M, `[G + 1]`."""
    first_row: Int64Array
    """Number of each game's first position, and P, `[G + 1]`."""
    first_ply: Int16Array
    """Moves before each game's first position, `[G]`."""
    winner: Int8Array
    """+1 Black, -1 White, `[G]`."""


def read_flat_games(
    parts: list[Path], *, size: int, swap: bool, claimed_results: bool
) -> tuple[FlatGames, dict[str, int]]:
    """The games in `parts` of a store for learning, and the number of games or plies left out, by
    reason.

    Raises:
        UsageError: a file is damaged or holds other data, a winner is refuted by the last move, or
            nothing is left.
    """
    left_out: Counter[str] = Counter()
    chunks: list[tuple[NDArray[Any], ...]] = []

    def without(games: pa.RecordBatch, wrong: pa.BooleanArray, reason: str) -> pa.RecordBatch:
        left_out[reason] += wrong.true_count
        return games.filter(pc.invert(wrong))

    for games in chain.from_iterable(
        checked_table(part, COLUMNS).combine_chunks().to_batches() for part in parts
    ):
        games = without(games, pc.not_equal(games["size"], size), OTHER_SIZE)
        if not claimed_results:
            games = without(games, pc.equal(games["ending"], str(Ending.UNFINISHED)), UNFINISHED)
        games = without(games, pc.equal(games["winner"], 0), NO_WINNER)
        # Whoever connects has made the last move.
        last = np.where(games["moves"].value_lengths().to_numpy() % 2, BLACK, WHITE)
        connected = pc.equal(games["ending"], str(Ending.CONNECTED)).to_numpy(zero_copy_only=False)
        refuted = connected & (games["winner"].to_numpy() != last)
        if refuted.any():
            raise UsageError(
                f"data.path={parts[0].parent}: {int(refuted.sum())} games have not their winner; "
                "see hexlit games verify"
            )
        games = without(
            games, pc.greater_equal(games["opening"], games["moves"].value_lengths()), NO_MOVE
        )
        opening = games["opening"].to_numpy()
        first_ply = _first_plies(games, size, swap)
        left_out[OPENING] += int(opening.sum())
        left_out[BEFORE_SWAP] += int((first_ply - opening).sum())
        late = first_ply >= games["moves"].value_lengths().to_numpy()
        games = without(games, pa.array(late), NO_MOVE)
        moves = games["moves"]
        lengths = moves.value_lengths().to_numpy()
        chunks.append(
            (moves.flatten().to_numpy(), lengths, first_ply[~late], games["winner"].to_numpy())
        )
    if not any(len(winner) for *_, winner in chunks):
        counts = ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)
        advice = (
            "; data.claimed_results=true takes those with a claimed winner"
            if left_out[UNFINISHED]
            else ""
        )
        raise UsageError(
            f"data.path={parts[0].parent} board={size}: no position to learn from ({counts}){advice}"
        )
    moves, lengths, first_ply, winner = map(np.concatenate, zip(*chunks, strict=True))
    flat = FlatGames(
        moves, _sums(lengths), _sums(lengths - first_ply), first_ply.astype(np.int16), winner
    )
    return flat, {reason: count for reason, count in sorted(left_out.items()) if count}


def _first_plies(games: pa.RecordBatch, size: int, swap: bool) -> Int64Array:
    """Moves before the first position to learn from with or without the swap rule, `[N]`.

    Without the rule the swap is no move, and the first stone of a swap game would be a poor target.
    A swap of sides is no move in a record either: the recorded answer to the first stone was played
    after the swap. In an imported record `swap` means that a player swapped, in one of self-play
    that the rule was on.
    """
    second_moves = pc.list_slice(games["moves"], 1, 2, return_fixed_size_list=True).flatten()
    is_swap_pieces = pc.fill_null(pc.equal(second_moves, size**2), False)
    pieces = is_swap_pieces.to_numpy(zero_copy_only=False)
    imported = games["values"].value_lengths().to_numpy() == 0
    swapped = games["swap"].to_numpy(zero_copy_only=False)
    sides = swapped & imported & ~pieces
    if swap:
        least = np.where(sides, 2, 0)
    else:
        least = np.where(pieces, 2, np.where(sides, 1, 0))
    first: Int64Array = np.maximum(least, games["opening"].to_numpy())
    return first


def _sums(counts: NDArray[Any]) -> Int64Array:
    """Sum of the counts before each, and of all, `[G + 1]`."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


LAYOUT = 4
"""Raised when the meaning of the arrays or the checks of the games change, so that older caches are
not read.
"""


class GamePositions:
    """Positions of recorded games before a chosen move, with that move and the game's result as
    targets.

    The positions of one game have consecutive numbers (rows), in the order of play. Other processes
    that get a copy map the same files.
    """

    def __init__(self, folder: Path, size: int, swap: bool) -> None:
        """Map the arrays in `folder`, made by `open`."""
        self.folder = folder
        self.size = size
        self.swap = swap
        arrays = {
            name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in FlatGames._fields
        }
        # Plain views of the same memory, without the cost of a memmap on every access.
        self.flat = FlatGames(**{name: array.view(np.ndarray) for name, array in arrays.items()})
        self.left_out: dict[str, int] = json.loads(
            (folder / "left_out.json").read_text(encoding="utf-8")
        )

    @classmethod
    def open(
        cls, folder: Path, *, size: int, swap: bool, cache: Path, claimed_results: bool = False
    ) -> Self:
        """The positions of the games in the store `folder` on boards of `size`.

        Left out, and counted in `left_out`: games on other boards; games that did not end, unless
        `claimed_results` takes the winner that their source claims; plies of an opening. A swap is
        a target if `swap` is set: the network knows the rule; otherwise a game begins at the
        position after its swap. A swap of sides leaves no move, so it is never a target: with the
        rule such a game begins after the next move.

        The arrays are kept in `cache`; of several processes that ask at once, one makes them.

        Raises:
            UsageError: there is no store, or nothing in it to learn from.
        """
        parts = part_files(folder)
        if not parts:
            raise UsageError(
                f"data.path={folder}: no games here (part-*.parquet); hexlit games import makes them"
            )
        digest = _digest(parts, [LAYOUT, size, swap, claimed_results])

        def build(target: Path) -> None:
            games, left_out = read_flat_games(
                parts, size=size, swap=swap, claimed_results=claimed_results
            )
            for name, array in games._asdict().items():
                np.save(target / f"{name}.npy", array, allow_pickle=False)
            (target / "left_out.json").write_text(json.dumps(left_out), encoding="utf-8")

        make_folder_once(cache / digest, build)
        return cls(cache / digest, size, swap)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process maps the files."""
        return type(self), (self.folder, self.size, self.swap)

    def __len__(self) -> int:
        """Number of positions."""
        return int(self.flat.first_row[-1])

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.flat.winner)

    @property
    def actions(self) -> int:
        """Actions of a policy: the cells, and the swap if the rule is on."""
        return self.size**2 + self.swap

    def games_of(self, rows: Int64Array) -> Int64Array:
        """Number of the game of each position, `[B]`."""
        return np.searchsorted(self.flat.first_row, rows, side="right") - 1

    def batch(self, rows: Int64Array, turned: BoolArray) -> Batch:
        """The positions `rows` `[B]`, each turned by 180 degrees where `turned` `[B]` is set."""
        games = self.flat
        game = self.games_of(rows)
        ply_in_row = rows - games.first_row[game]
        ply = (games.first_ply[game] + ply_in_row).astype(np.int16)
        first_move = games.first_move[game]
        may_swap = (ply == 1) & self.swap
        histories = Histories(games.moves, first_move, ply, may_swap)
        played = np.zeros((len(rows), self.actions), np.float32)
        move = games.moves[first_move + ply]
        played[np.arange(len(rows)), move] = 1
        winner = games.winner[game]
        value = np.where(ply % 2 == 0, winner, -winner).astype(np.float32)
        planes, policy = with_policy(histories, self.size, played, turned)
        return Batch(planes, policy, value)


class GameRows(NamedTuple):
    """Some positions of a store's games, such as those for training."""

    positions: GamePositions
    rows: Int64Array
    """Their numbers, `[P]`."""

    def shuffled(self, *, batch: int, seed: int, epoch: int) -> Epoch:
        """Batches of `batch` positions, in an order drawn by `seed` and `epoch`; each is turned
        with probability 1/2.

        All batches are whole: the rest at the end is dropped, unless it is all there is.
        """
        batch = min(batch, len(self.rows))
        ends = np.arange(batch, len(self.rows) + 1, batch)
        return Epoch(
            drawn_part(np.random.default_rng([seed, epoch]), self.positions, self.rows, ends)
        )

    def in_order(self, *, batch: int) -> Epoch:
        """All positions in batches of `batch` (the last may be smaller); none is turned."""
        parts = np.split(self.rows, range(batch, len(self.rows), batch))
        return Epoch(Part(self.positions, parts, [np.zeros(len(part), np.bool_) for part in parts]))


def _digest(parts: list[Path], settings: list[Any]) -> str:
    digest = hashlib.sha256(json.dumps(settings).encode())
    for part in parts:
        with part.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()[:24]


SIDE, CHOICE = range(2)
"""Purposes of a draw: the side of a game, and its rank when only some games are taken."""


class Split(NamedTuple):
    """Rows of `GamePositions`, in rising order."""

    train_rows: Int64Array
    """`[P]`."""
    validation_rows: Int64Array
    """`[Q]`."""


def split_games(
    positions: GamePositions,
    *,
    share: float = 0.2,
    seed: int,
    by: str = "game",
    opening_plies: int = 2,
    most: int = 500_000,
) -> Split:
    """Draw about `share` of the games for validation, each game or each opening as a whole.

    `by="opening"` keeps games together if their first `opening_plies` moves are the same, turned or
    not. If a store has more than `most` positions, some games are drawn by `seed`, with at most
    `most` positions on both sides together.

    Raises:
        UsageError: one side would be empty.
    """
    games = positions.flat
    table = geometry(positions.size)
    starts = games.first_move[:-1]
    lengths = np.diff(games.first_move)
    together = lengths if by == "game" else np.minimum(lengths, opening_plies)
    validates = _draws(games.moves, starts, together, seed, SIDE, table) < share
    counts = np.diff(games.first_row)
    order = np.argsort(_draws(games.moves, starts, lengths, seed, CHOICE, table), kind="stable")
    chosen = np.zeros(positions.games, np.bool_)
    chosen[order[np.cumsum(counts[order]) <= most]] = True
    train_rows = np.flatnonzero(np.repeat(chosen & ~validates, counts))
    validation_rows = np.flatnonzero(np.repeat(chosen & validates, counts))
    for name, rows in (("training", train_rows), ("validation", validation_rows)):
        if not len(rows):
            settings = f"data.split={by} data.validation_share={share}"
            raise UsageError(f"{settings}: none of {int(chosen.sum())} games is left for {name}")
    return Split(train_rows, validation_rows)


@kernel
def _draws(
    moves: Int16Array, starts: Ints, lengths: Ints, seed: int, purpose: int, table: Geometry
) -> NDArray[np.float64]:
    """For each game a number in [0, 1) that depends on its first moves, `seed` and `purpose`,
    `[G]`.
    """
    drawn = np.empty(len(starts))
    for game in range(len(starts)):
        plain = np.uint64(lengths[game])
        turned = plain
        for i in range(starts[game], starts[game] + lengths[game]):
            plain = _with_move(plain, moves[i])
            turned = _with_move(turned, table.rotated[moves[i]])
        drawn[game] = uniform(key(seed, int(min(plain, turned)), 0, purpose), 0)
    return drawn


@inline
def _with_move(content: np.uint64, move: int) -> np.uint64:
    return mix((content + GOLDEN) ^ np.uint64(move))


def make_folder_once(folder: Path, build: Callable[[Path], None]) -> None:
    """Fill `folder` by `build`, unless it exists; of several processes at once, one builds and the
    others wait.

    All files of `build` reach the disk before the folder gets its name. Remains of a killed build
    go at the next one. Folders next to each other are built one after the other.
    """
    with alone(folder.parent / ".lock"):
        if folder.exists():
            return
        for torn in folder.parent.glob(".*.building"):
            shutil.rmtree(torn)
        temporary = folder.with_name(f".{folder.name}.building")
        temporary.mkdir()
        try:
            build(temporary)
            os.sync()
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
