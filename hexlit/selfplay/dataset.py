"""Recorded games as examples: flat arrays of all games, batches drawn from them, and what is held out."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hexlit.choices import check_word
from hexlit.errors import UsageError
from hexlit.files import make_folder_once
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import inline, kernel
from hexlit.hex.record import Ending
from hexlit.hex.rng import GOLDEN, key, mix, uniform
from hexlit.selfplay.checking import faults_of
from hexlit.selfplay.rebuild import Batch, Epoch, Histories, Part, with_move_played
from hexlit.selfplay.store import SCHEMA, part_files

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


LAYOUT = 3
"""Raised when the meaning of the arrays or the checks of the games change, so that older caches are not read."""


class GamePositions:
    """Positions of recorded games before a chosen move, with that move and the game's result as targets.

    The positions of one game have consecutive numbers (rows), in the order of play. Other processes that get a copy map
    the same files.
    """

    def __init__(self, folder: Path, *, size: int, swap: bool) -> None:
        """Map the arrays in `folder`, made by `open`."""
        self.folder = folder
        self.size = size
        self.swap = swap
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in FlatGames._fields}
        self.arrays: dict[str, NDArray[Any]] = arrays
        self.left_out: dict[str, int] = json.loads((folder / "left_out.json").read_text(encoding="utf-8"))
        # Plain views of the same memory, without the cost of a memmap on every access.
        self._games = FlatGames(**{name: array.view(np.ndarray) for name, array in arrays.items()})

    @classmethod
    def open(cls, folder: Path, *, size: int, swap: bool, cache: Path, claimed_results: bool = False) -> Self:
        """The positions of the games in the store `folder` on boards of `size`.

        Left out, and counted in `left_out`: games on other boards; games that did not end, unless `claimed_results`
        takes the winner that their source claims; plies of an opening. A swap is a target if `swap` says that the
        network knows the rule; otherwise a game begins at the position after its swap. A swap of sides leaves no move,
        so it is never a target: with the rule such a game begins after the next move.

        The arrays are kept in `cache`; of several processes that ask at once, one makes them.

        Raises:
            UsageError: there is no store, or nothing in it to learn from.
        """
        parts = part_files(folder)
        if not parts:
            raise UsageError(
                f"data.path={folder}: no games here (part-*.parquet); "
                "make a store by: hexlit games import source=FILE target=FOLDER"
            )
        digest = _digest(parts, [LAYOUT, size, swap, claimed_results])

        def build(target: Path) -> None:
            games, left_out = read_flat_games(parts, size=size, swap=swap, claimed_results=claimed_results)
            for name, array in games._asdict().items():
                np.save(target / f"{name}.npy", array, allow_pickle=False)
            (target / "left_out.json").write_text(json.dumps(left_out), encoding="utf-8")

        try:
            make_folder_once(cache / digest, build)
            return cls(cache / digest, size=size, swap=swap)
        except UsageError:
            raise
        except (OSError, ValueError) as error:
            said = f"the arrays of data.path={folder} cannot be kept there, or are damaged; delete the folder"
            raise UsageError(f"{cache / digest}: {said} ({error})") from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process maps the files."""
        return _mapped, (self.folder, self.size, self.swap)

    def __len__(self) -> int:
        """Number of positions."""
        return int(self._games.first_row[-1])

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self._games.winner)

    @property
    def actions(self) -> int:
        """Actions of a policy: the cells, and the swap if the rule is on."""
        return self.size**2 + self.swap

    @property
    def flat(self) -> FlatGames:
        """The games' arrays, read-only."""
        return self._games

    def games_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of the game of each position, `[B]`."""
        return np.searchsorted(self._games.first_row, rows, side="right") - 1

    def batch(self, rows: NDArray[np.int64], turned: NDArray[np.bool_]) -> Batch:
        """The positions `rows` `[B]`, each turned by 180 degrees where `turned` `[B]` says so."""
        games = self._games
        game = self.games_of(rows)
        ply = (games.first_ply[game] + rows - games.first_row[game]).astype(np.int16)
        histories = Histories(games.moves, games.first_move[game], ply, (ply == 1) & self.swap)
        value = np.where(ply % 2 == 0, games.winner[game], -games.winner[game]).astype(np.float32)
        return Batch(*with_move_played(histories, self.size, self.actions, turned), value)


class GameRows(NamedTuple):
    """Some positions of a store's games, such as those for training."""

    positions: GamePositions
    rows: NDArray[np.int64]
    """Their numbers, `[P]`."""

    def shuffled(self, *, batch: int, seed: int, epoch: int) -> Epoch:
        """Batches of `batch` positions, in an order drawn by `seed` and `epoch`; each is turned with probability 1/2.

        All batches are whole: the rest at the end is dropped, unless it is all there is.
        """
        random = np.random.default_rng([seed, epoch])
        batch = min(batch, len(self.rows))
        steps = len(self.rows) // batch
        rows = random.permutation(self.rows)[: steps * batch].reshape(steps, batch)
        return Epoch(Part(self.positions, rows, random.random(rows.shape) < 0.5))

    def in_order(self, *, batch: int) -> Epoch:
        """All positions in batches of `batch` (the last may be smaller); none is turned."""
        parts = np.split(self.rows, range(batch, len(self.rows), batch))
        return Epoch(Part(self.positions, parts, [np.zeros(len(part), np.bool_) for part in parts]))


def _mapped(folder: Path, size: int, swap: bool) -> GamePositions:
    return GamePositions(folder, size=size, swap=swap)


def _digest(parts: list[Path], settings: list[Any]) -> str:
    digest = hashlib.sha256(json.dumps(settings).encode())
    for part in parts:
        try:
            with part.open("rb") as file:
                digest.update(hashlib.file_digest(file, "blake2b").digest())
        except OSError as error:
            raise UsageError(f"data.path: {part} cannot be read ({error.strerror})") from error
    return digest.hexdigest()[:24]


WAYS = ("game", "opening")

SIDE, CHOICE = range(2)
"""Purposes of a draw: the side of a game, and its rank when only some games are taken."""


class Split(NamedTuple):
    """Rows of `GamePositions`, in rising order."""

    train_rows: NDArray[np.int64]
    """`[P]`."""
    validation_rows: NDArray[np.int64]
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

    `by="opening"` keeps games together if their first `opening_plies` moves are the same, turned or not. If a store has
    more than `most` positions, some games are drawn by `seed`, with at most `most` positions on both sides together.

    Raises:
        UsageError: a setting is out of range, or one side would be empty.
    """
    if not 0 < share < 1:
        raise UsageError(f"data.validation_share={share}: a share between 0 and 1, such as 0.2")
    check_word("data.split", by, WAYS)
    if opening_plies < 1:
        raise UsageError(f"data.opening_plies={opening_plies}: an opening has at least 1 ply")
    if most < 2:
        raise UsageError(f"data.max_positions={most}: at least 2, one for each side")
    games = positions.flat
    table = geometry(positions.size)
    starts, lengths = games.first_move[:-1], np.diff(games.first_move)
    together = lengths if by == "game" else np.minimum(lengths, opening_plies)
    validates = _draws(games.moves, starts, together, seed, SIDE, table) < share
    counts = np.diff(games.first_row)
    order = np.argsort(_draws(games.moves, starts, lengths, seed, CHOICE, table), kind="stable")
    taken = np.zeros(positions.games, np.bool_)
    taken[order[np.cumsum(counts[order]) <= most]] = True
    sides = [np.flatnonzero(np.repeat(taken & side, counts)) for side in (~validates, validates)]
    for name, rows in zip(("training", "validation"), sides, strict=True):
        if not len(rows):
            raise UsageError(
                f"data.split={by} data.validation_share={share}: none of {int(taken.sum())} games is left for {name}; "
                "change the share or data.split_seed, or take more games"
            )
    return Split(*sides)


@kernel
def _draws(
    moves: NDArray[np.int16],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    seed: int,
    purpose: int,
    table: Geometry,
) -> NDArray[np.float64]:
    """For each game a number in [0, 1) that depends on its first moves, `seed` and `purpose`, `[G]`."""
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
