"""The games of a store as a data set: flat arrays on disk that all processes map, and positions rebuilt from them.

The arrays hold the moves, and where each game begins in them; a position is a game and a ply, and its number follows
from these. They are made once for a state of the store and kept in a cache; the cache may be deleted at any time.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.files import make_folder_once
from hexlit.selfplay.flat_games import FlatGames, read_flat_games
from hexlit.selfplay.rebuild import Batch, Epoch, Histories, Part, with_move_played
from hexlit.selfplay.store import part_files

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
