"""Ratings of players from their results on the Elo scale, and the sequential test between two
strengths.

The model is that of Bradley and Terry (1952): i beats j with probability 1 / (1 + 10^((R_j - R_i) /
400)). Its maximum likelihood would put a player who won every game infinitely far above. So two
players that have met get one more pair of games (`PRIOR_PAIRS`), with 0, 1 or 2 wins equally
likely. With n pairs played, a perfect score gives about 400 log10(2 n + 1) Elo, and is labelled as
a bound (`Rating.bound`).

Intervals hold 95% of a Bayesian bootstrap (Rubin 1981) over the *pairs* of games, because the two
games of an opening depend on each other: an opening that favours Black tends to give each player
one of them. A resample weighs the results of the pairs of two players by a Dirichlet distribution
around the observed ones, the prior pair included.

Wald's sequential probability ratio test (1945) stops a match as soon as it is decided. Its
observations are pairs of games, too: a test that took the games as independent would keep neither
of its error rates. Only the mean of a pair's result (0, 1 or 2 wins) is known under a hypothesis.
So the hypothesis is represented by the distribution of that mean that fits the results best
(generalised SPRT; Van den Bergh 2017, as in Stockfish's fishtest).

The rating pool of a training run holds the networks, epoch by epoch, and fixed players, rated by
all games they played. Each new network meets the fixed players and a few earlier networks, which
stay on disk. One fit to all results gives the ratings, so those of earlier networks change, too.
Its files are `ratings.json` and `checkpoints/pool/` in the run's folder.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.config import PoolConfig, SprtConfig
from hexlit.arena.matches import balanced_openings, first_openings, most_openings, pair_counts
from hexlit.arena.players import Player
from hexlit.files import read_regular, write_text_atomic

PRIOR_PAIRS = 1.0
"""Pairs of games that are added for every two players that have met; a third of each result."""

RESAMPLES = 1000

PERFECT = "perfect play"
"""Name of the exact solver among the players."""

NEARLY = 50.0
"""Elo below perfect play at which `macs_to_perfect` counts, as Jones 2021 does."""

OPENING_PLIES = 2
"""Of the pool's matches."""

OPPONENTS = 3
"""Most earlier networks that a new one of the pool meets."""

CHECKED_EVERY = 16
"""Pairs between two checks of the sequential test; at most this many are played in parallel."""

ELO = 400 / np.log(10)
"""Elo of one natural unit of strength."""

PairCounts = tuple[int, int, int]
"""Numbers of pairs with none, one, or both games won by the first player."""

Results = Mapping[tuple[str, str], PairCounts]
"""Counts by the names of the first and the second player."""


@dataclass(frozen=True)
class Rating:
    """Rating of a player, relative to the anchor."""

    name: str
    elo: float
    low: float
    """Lower end of the 95% interval."""
    high: float
    games: int
    wins: int
    bound: str
    """`at least` or `at most` if the player won all or none of its games, so that only the prior
    limits the rating; else empty.
    """


def rate(names: Sequence[str], results: Results, anchor: str, *, seed: int = 0) -> list[Rating]:
    """Ratings of `names` in their order; the `anchor` has 0, exactly.

    Raises:
        ValueError: the results do not connect every player with the anchor.
    """
    count = len(names)
    index_of = {name: index for index, name in enumerate(names)}
    random = np.random.default_rng([seed, count])
    wins = np.zeros((1 + RESAMPLES, count, count))
    played = np.zeros((count, count), np.int64)
    for (first, second), counts in results.items():
        if not sum(counts):
            continue
        i, j = index_of[first], index_of[second]
        seen = np.array(counts) + PRIOR_PAIRS / 3
        # Row 0 holds the observed results; the others are resamples.
        weights = np.vstack([seen, seen.sum() * random.dirichlet(seen, RESAMPLES)])
        wins[:, i, j] += weights @ [0, 1, 2]
        wins[:, j, i] += weights @ [2, 1, 0]
        played[i, j] += counts[1] + 2 * counts[2]
        played[j, i] += counts[1] + 2 * counts[0]
    # The import takes half a second, which no match waits for at its start.
    from scipy.sparse.csgraph import connected_components

    _, group = connected_components(played)
    apart = ", ".join(np.array(names)[group != group[index_of[anchor]]])
    if apart:
        raise ValueError(f"no games connect {apart} with the anchor {anchor}")
    elo = ELO * bradley_terry(wins, index_of[anchor])
    low, high = np.quantile(elo[1:], [0.025, 0.975], axis=0)
    ratings = []
    for i, name in enumerate(names):
        won, lost = int(played[i].sum()), int(played[:, i].sum())
        bound = ""
        if won and not lost:
            bound = "at least"
        elif lost and not won:
            bound = "at most"
        ratings.append(
            Rating(
                name=name,
                elo=float(elo[0, i]),
                low=float(low[i]),
                high=float(high[i]),
                games=won + lost,
                wins=won,
                bound=bound,
            )
        )
    return ratings


def bradley_terry(wins: NDArray[np.float64], anchor: int) -> NDArray[np.float64]:
    """Strengths `[..., N]` that make the results `wins` `[..., N, N]` likeliest, by Newton's
    method.

    `wins[..., i, j]` counts the games that i won against j (fractions too); the wins must connect
    all players in both directions. The strengths are in natural units; the anchor has 0.
    """
    games = wins + np.swapaxes(wins, -1, -2)
    free = np.delete(np.arange(wins.shape[-1]), anchor)
    strength = np.zeros(wins.shape[:-1])
    if len(free) == 0:
        return strength
    for _ in range(200):
        chance = 1 / (1 + np.exp(strength[..., None, :] - strength[..., :, None]))
        gradient = (wins - games * chance).sum(-1)
        information = -games * chance * (1 - chance)
        diagonal = np.arange(wins.shape[-1])
        information[..., diagonal, diagonal] -= information.sum(-1)
        matrix = information[..., free[:, None], free]
        step = np.linalg.solve(matrix, gradient[..., free, None])[..., 0]
        # The likelihood is concave: steps of bounded length always arrive.
        longest = np.abs(step).max(-1, keepdims=True)
        strength[..., free] += step * np.minimum(1, 1 / np.maximum(longest, 1e-300))
        if longest.max() < 1e-9:
            break
    return strength


def rate_against_perfect(
    players: Mapping[str, Player], perfect: Player, size: int, pairs: int, seed: int
) -> list[Rating]:
    """Ratings of `players` by games against `perfect`, a `SolverPlayer`, which has 0 and comes
    first.

    Each plays `pairs` openings with both colours, see `first_openings`. Perfect play wins at least
    one of the two.
    """
    openings = first_openings(size, pairs, seed)
    results = {}
    for name, player in players.items():
        counts = [pair_counts(player, perfect, alike, size) for alike in openings]
        none, one, both = np.sum(counts, axis=0).tolist()
        results[name, PERFECT] = none, one, both
    return rate([PERFECT, *players], results, PERFECT, seed=seed)


def macs_to_perfect(macs: float, elo: float) -> float:
    """Multiply-adds to come within 50 Elo of perfect play, of a player at `elo` after `macs`.

    Further away it is an estimate: ten times the computation is worth 500 Elo (Jones 2021, arXiv
    2104.03113).
    """
    return float(macs * 10 ** (max(0.0, -NEARLY - elo) / 500))


SCORES = (0.0, 0.5, 1.0)
"""The first player's score in a pair of games, by its wins."""

UNSEEN = 1e-3
"""Pairs added to each result, so that no result is impossible."""


class Sprt:
    """The test of `elo0` against `elo1`, advantages of the first player over the second."""

    def __init__(self, config: SprtConfig) -> None:
        """Error rates and hypotheses as configured; `config.elo1` is not None."""
        if config.elo1 is None:
            raise ValueError("the test needs two hypotheses")
        self.config = config
        self.expected = expected_score(config.elo0), expected_score(config.elo1)
        self.lower = math.log(config.beta / (1 - config.alpha))
        self.upper = math.log((1 - config.beta) / config.alpha)

    def ratio(self, counts: PairCounts) -> float:
        """Log of the likelihood ratio of the results, `elo1` to `elo0`."""
        total = sum(counts)
        shares = [(count + UNSEEN) / (total + len(counts) * UNSEEN) for count in counts]
        nulls, alternatives = (_fit(shares, mean) for mean in self.expected)
        terms = [
            share * math.log(alternative / null)
            for share, null, alternative in zip(shares, nulls, alternatives, strict=True)
        ]
        return float(total * sum(terms))

    def decision(self, counts: PairCounts) -> str:
        """`elo1` or `elo0`, the hypothesis accepted; empty while more pairs are needed."""
        ratio = self.ratio(counts)
        if ratio >= self.upper:
            return "elo1"
        if ratio <= self.lower:
            return "elo0"
        return ""


def expected_score(elo: float) -> float:
    """Share of the games won by a player that is better by `elo`."""
    return 1 / (1 + math.exp(-elo * math.log(10) / 400))


def _fit(shares: list[float], mean: float) -> list[float]:
    """The distribution over `SCORES` with the given mean that makes `shares` likeliest.

    Its entries are share / (1 + x (score - mean)) for the one x that gives the mean (Owen 2001,
    "Empirical likelihood").
    """
    from scipy.optimize import brentq  # as above

    distances = [score - mean for score in SCORES]

    def excess(x: float) -> float:
        terms = [
            share * distance / (1 + x * distance)
            for share, distance in zip(shares, distances, strict=True)
        ]
        return sum(terms)

    # Between the poles of the sum, which falls from one to the other.
    lowest, highest = (1e-12 - 1) / (1 - mean), (1 - 1e-12) / mean
    x = brentq(excess, lowest, highest)
    return [share / (1 + x * distance) for share, distance in zip(shares, distances, strict=True)]


@dataclass(frozen=True)
class PoolResult:
    """Result of the network of an epoch against one opponent."""

    epoch: int
    opponent: str
    pairs: PairCounts


@dataclass
class RatingPool:
    """Rates networks of one run.

    Attributes:
        results: of all epochs, in the order of play.
        ratings: of all players, the fixed ones first; empty before the first epoch.
    """

    folder: Path
    """Folder of the run."""
    config: PoolConfig
    fixed: Mapping[str, Player]
    """Players of every rating; the first one is the anchor."""
    restored: Callable[[Path], Player]
    """Gives the player of the network kept at a path; it may replace the player before it."""
    _: KW_ONLY
    size: int
    seed: int

    def __post_init__(self) -> None:
        self.path = self.folder / "ratings.json"
        self.networks = self.folder / "checkpoints" / "pool"
        self.results: list[PoolResult] = []
        self.ratings: list[Rating] = []

    def resume(self, first_epoch: int) -> None:
        """Load the ratings before `first_epoch`; later ones, of a run that was killed, are
        dropped.
        """
        if self.path.exists():
            self.results = []
            for row in json.loads(read_regular(self.path))["results"]:
                if row["epoch"] < first_epoch:
                    result = PoolResult(row["epoch"], row["opponent"], tuple(row["pairs"]))
                    self.results.append(result)
        known = {self._network_path(result.epoch) for result in self.results}
        for path in self.networks.glob("*.pt"):
            if path not in known:
                path.unlink()
        if self.results:
            self._rate()

    def play(self, epoch: int, network: Player, save: Callable[[Path], None]) -> Rating:
        """Rate the network of `epoch`, and keep it by `save(path)` for later ones."""
        earlier = sorted({result.epoch for result in self.results})
        for name, opponent in self.fixed.items():
            counts = self._match(epoch, network, opponent)
            self.results.append(PoolResult(epoch, name, counts))
        for rated in _at_doubling_distances(earlier, OPPONENTS):
            opponent = self.restored(self._network_path(rated))
            counts = self._match(epoch, network, opponent)
            self.results.append(PoolResult(epoch, name_of(rated), counts))
        save(self._network_path(epoch))
        self._rate()
        return self.ratings[-1]

    def _match(self, epoch: int, network: Player, opponent: Player) -> PairCounts:
        size = self.size
        plies = min(OPENING_PLIES, size - 1)
        pairs = min(self.config.pairs, most_openings(size, plies))
        # Each epoch has other openings, so that no network profits from those of an earlier one.
        openings = balanced_openings(size, pairs, plies, self.seed + epoch)
        return pair_counts(network, opponent, openings, size)

    def _rate(self) -> None:
        epochs = sorted({result.epoch for result in self.results})
        names = [*self.fixed, *map(name_of, epochs)]
        results = {
            (name_of(result.epoch), result.opponent): result.pairs for result in self.results
        }
        self.ratings = rate(names, results, names[0], seed=self.seed)
        document = {
            "anchor": names[0],
            "ratings": [asdict(rating) for rating in self.ratings],
            "results": [asdict(result) for result in self.results],
        }
        write_text_atomic(self.path, json.dumps(document, indent=2, allow_nan=False) + "\n")

    def _network_path(self, epoch: int) -> Path:
        return self.networks / f"{epoch:06d}.pt"


def name_of(epoch: int) -> str:
    """Name of the network of `epoch` among the players."""
    return f"epoch {epoch}"


def _at_doubling_distances(epochs: Sequence[int], most: int) -> list[int]:
    """The last of `epochs`, and those 2, 4, 8, ... from the end."""
    return [epochs[-(2**power)] for power in range(most) if 2**power <= len(epochs)]
