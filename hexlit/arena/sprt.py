"""Wald's sequential probability ratio test (1945) between two strengths: it stops a match as soon as it is decided.

The observations are pairs of games. The two games of an opening depend on each other; a test that took them as
independent would keep neither of its error rates. Only the mean of a pair's result (0, 1 or 2 wins) is known under a
hypothesis. So the hypothesis is represented by the distribution of that mean that fits the results best (generalised
SPRT; Van den Bergh 2017, as in Stockfish's fishtest).
"""

import math

from hexlit.arena.config import SprtConfig
from hexlit.arena.ratings import PairCounts

SCORES = (0.0, 0.5, 1.0)
"""The first player's score in a pair of games, by its wins."""

UNSEEN = 1e-3
"""Pairs added to each result, so that no result is impossible."""

BISECTIONS = 40


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
        if total == 0:
            return 0.0
        shares = [(count + UNSEEN) / (total + len(counts) * UNSEEN) for count in counts]
        null, alternative = (_fit(shares, mean) for mean in self.expected)
        return total * sum(
            share * math.log(other / one) for share, one, other in zip(shares, null, alternative, strict=True)
        )

    def decision(self, counts: PairCounts) -> str:
        """`elo1` or `elo0`, the hypothesis accepted; empty while more pairs are needed."""
        ratio = self.ratio(counts)
        return "elo1" if ratio >= self.upper else "elo0" if ratio <= self.lower else ""


def expected_score(elo: float) -> float:
    """Share of the games won by a player that is better by `elo`."""
    return 1 / (1 + math.exp(-elo * math.log(10) / 400))


def _fit(shares: list[float], mean: float) -> list[float]:
    """The distribution over `SCORES` with the given mean that makes `shares` likeliest.

    Its entries are share / (1 + x (score - mean)) for the one x that gives the mean (Owen 2001, "Empirical
    likelihood").
    """
    low, high = -1 / (1 - mean), 1 / mean  # the poles of the sum below, which falls from one to the other
    for _ in range(BISECTIONS):
        x = (low + high) / 2
        excess = sum(s * (score - mean) / (1 + x * (score - mean)) for s, score in zip(shares, SCORES, strict=True))
        low, high = (x, high) if excess > 0 else (low, x)
    return [share / (1 + x * (score - mean)) for share, score in zip(shares, SCORES, strict=True)]
