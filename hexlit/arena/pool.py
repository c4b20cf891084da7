"""A rating pool: the networks of a training run, epoch by epoch, and fixed players, rated by all games they played.

Each new network meets the fixed players and a few earlier networks, which stay on disk. One Bradley-Terry fit to all
results gives the ratings, so those of earlier networks change, too. All files are in the run's folder: `ratings.json`,
and the networks in `checkpoints/pool/`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hexlit.arena.config import PoolConfig
from hexlit.arena.matches import balanced_openings, most_openings, play_pairs
from hexlit.arena.players import Contestant, Player
from hexlit.arena.ratings import PairCounts, Rating, rate
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

OPENING_PLIES = 2


@dataclass(frozen=True)
class PoolResult:
    """Result of the network of an epoch against one opponent."""

    epoch: int
    opponent: str
    pairs: PairCounts


class RatingPool:
    """Rates networks of one run.

    Attributes:
        results: of all epochs, in the order of play.
        ratings: of all players, the fixed ones first; empty before the first epoch.
    """

    def __init__(
        self,
        folder: Path,
        config: PoolConfig,
        fixed: Mapping[str, Player],
        restored: Callable[[Path], Player],
        *,
        size: int,
        seed: int,
    ) -> None:
        """The pool of the run in `folder`; the first of the `fixed` players is the anchor.

        `restored(path)` gives the player of the network kept at `path`; it may replace the player before it.
        """
        self.path = folder / "ratings.json"
        self.networks = folder / "checkpoints" / "pool"
        self.results: list[PoolResult] = []
        self.ratings: list[Rating] = []
        self._config = config
        self._fixed = fixed
        self._restored = restored
        self._size = size
        self._seed = seed

    def resume(self, first_epoch: int) -> None:
        """Load the ratings before `first_epoch`; later ones, of a run that was killed, are dropped.

        Raises:
            UsageError: `ratings.json` holds something else.
        """
        if self.path.exists():
            try:
                rows = json.loads(self.path.read_text(encoding="utf-8"))["results"]
                found = [PoolResult(row["epoch"], row["opponent"], tuple(row["pairs"])) for row in rows]
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(f"{self.path}: not the ratings of a run; remove it to rate again") from error
            self.results = [result for result in found if result.epoch < first_epoch]
        known = {self._kept_at(result.epoch) for result in self.results}
        for path in self.networks.glob("*.pt"):
            if path not in known:
                path.unlink()
        if self.results:
            self._rate()

    def play(self, epoch: int, network: Player, save: Callable[[Path], None]) -> Rating:
        """Rate the network of `epoch`, and keep it by `save(path)` for later ones."""
        earlier = sorted({result.epoch for result in self.results})
        for name, opponent in self._fixed.items():
            self.results.append(PoolResult(epoch, name, self._match(epoch, network, opponent)))
        for rated in _at_doubling_distances(earlier, self._config.opponents):
            opponent = self._restored(self._kept_at(rated))
            self.results.append(PoolResult(epoch, name_of(rated), self._match(epoch, network, opponent)))
        save(self._kept_at(epoch))
        self._rate()
        return self.ratings[-1]

    def _match(self, epoch: int, network: Player, opponent: Player) -> PairCounts:
        plies = min(OPENING_PLIES, self._size - 1)
        pairs = min(self._config.pairs, most_openings(self._size, plies))
        # Each epoch has its own openings, so that no network profits from those of an earlier one.
        openings = balanced_openings(self._size, pairs, plies, self._seed + epoch)
        counts = [0, 0, 0]
        for pair in play_pairs(
            Contestant("network", lambda games: network),
            Contestant("opponent", lambda games: opponent),
            {number: tuple(opening) for number, opening in enumerate(openings.tolist())},
            self._size,
            at_once=pairs,
        ):
            counts[sum(game.won_by == "network" for game in pair)] += 1
        return counts[0], counts[1], counts[2]

    def _rate(self) -> None:
        epochs = sorted({result.epoch for result in self.results})
        names = [*self._fixed, *map(name_of, epochs)]
        results = {(name_of(result.epoch), result.opponent): result.pairs for result in self.results}
        self.ratings = rate(names, results, names[0], seed=self._seed)
        document: dict[str, Any] = {
            "anchor": names[0],
            "ratings": [asdict(rating) for rating in self.ratings],
            "results": [asdict(result) for result in self.results],
        }
        write_text_atomic(self.path, json.dumps(document, indent=2, allow_nan=False) + "\n")

    def _kept_at(self, epoch: int) -> Path:
        return self.networks / f"{epoch:06d}.pt"


def name_of(epoch: int) -> str:
    """Name of the network of `epoch` among the players."""
    return f"epoch {epoch}"


def _at_doubling_distances(epochs: Sequence[int], most: int) -> list[int]:
    """The last of `epochs`, and those 2, 4, 8, ... from the end."""
    return [epochs[-(2**power)] for power in range(most) if 2**power <= len(epochs)]
