"""Recorded games as examples: flat arrays of all games, batches drawn from them, and what is held
out.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, Int16Array, Int64Array
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import inline, kernel
from hexlit.hex.rng import GOLDEN, key, mix, uniform
from hexlit.locks import alone
from hexlit.selfplay.flat_games import FlatGames, ReadOptions, read_flat_games
from hexlit.selfplay.rebuild import (
    Batch,
    Epoch,
    Histories,
    Ints,
    Part,
    drawn_part,
    further_targets,
    with_policy,
)
from hexlit.selfplay.store import part_files

LAYOUT = 5
"""Raised when the meaning of the arrays or the checks of the games change, so that older caches are
not read.
"""


FURTHER = "further"
"""Folder of the further targets, a file for each."""


class GamePositions:
    """Positions of recorded games, with a policy and the game's result as targets.

    The positions of one game have consecutive numbers (rows), in the order of play. Other processes
    that get a copy map the same files.
    """

    def __init__(self, folder: Path, size: int, swap: bool, search_value_share: float) -> None:
        """Map the arrays in `folder`, made by `open`."""
        self.folder = folder
        self.size = size
        self.swap = swap
        self.search_value_share = search_value_share
        arrays = {name: _mapped(folder / f"{name}.npy") for name in FlatGames._fields}
        self.flat = FlatGames(**arrays)
        files = sorted((folder / FURTHER).glob("*.npy"))
        self.further = {file.stem: _mapped(file) for file in files}
        self.left_out: dict[str, int] = json.loads(
            (folder / "left_out.json").read_text(encoding="utf-8")
        )

    @classmethod
    def open(cls, folder: Path, options: ReadOptions, cache: Path) -> Self:
        """The positions of the games in the store `folder` that `options` choose.

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
        sources = [(target.name, target.source) for target in options.further]
        chosen = options._replace(further=(), search_value_share=0.0)
        digest = _digest(parts, [LAYOUT, *chosen, *sources])

        def build(target: Path) -> None:
            games, further, left_out = read_flat_games(parts, options)
            (target / FURTHER).mkdir()
            for name, array in games._asdict().items():
                np.save(target / f"{name}.npy", array, allow_pickle=False)
            for name, array in further.items():
                np.save(target / FURTHER / f"{name}.npy", array, allow_pickle=False)
            (target / "left_out.json").write_text(json.dumps(left_out), encoding="utf-8")

        make_folder_once(cache / digest, build)
        return cls(cache / digest, options.size, options.swap, options.search_value_share)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process maps the files."""
        return type(self), (self.folder, self.size, self.swap, self.search_value_share)

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
        ply = games.ply[rows]
        first_move = games.first_move[game]
        may_swap = (ply == 1) & self.swap
        histories = Histories(games.moves, first_move, ply, may_swap)
        source = np.zeros((len(rows), self.actions), np.float32)
        searched = games.policy_row[rows] >= 0
        source[searched] = games.policies[games.policy_row[rows[searched]]]
        move = games.moves[first_move + ply]
        played = np.flatnonzero(~searched)
        source[played, move[played]] = 1
        winner = games.winner[game]
        result = np.where(ply % 2 == 0, winner, -winner)
        share = np.where(np.isnan(games.value[rows]), 0, self.search_value_share)
        value = (1 - share) * result + share * np.nan_to_num(games.value[rows])
        planes, policy = with_policy(histories, self.size, source, turned)
        further = further_targets(self.further, rows, ply, turned, self.size)
        return Batch(planes, policy, value.astype(np.float32), further)

    def targets_in_words(self, rows: Int64Array) -> str:
        """What the positions `rows` teach, such as `1,200 searched policies`."""
        searched = int((self.flat.policy_row[rows] >= 0).sum())
        counts = {"searched policies": searched, "moves played": len(rows) - searched}
        return " and ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _mapped(file: Path) -> NDArray[Any]:
    """The array of `file`, a plain view: a memmap would cost time at every access."""
    array: NDArray[Any] = np.load(file, mmap_mode="r").view(np.ndarray)
    return array


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
