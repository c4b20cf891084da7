"""Shares with their confidence intervals."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Z95 = 1.959963984540054
"""Standard deviations that hold 95% of a normal distribution."""


@dataclass(frozen=True)
class Share:
    """`hits` of `count`, and the interval that holds the true share with a confidence of 95% (Wilson 1927)."""

    hits: int
    count: int

    @classmethod
    def of(cls, hits: NDArray[np.bool_]) -> "Share":
        """The share of true `hits`."""
        return cls(int(hits.sum()), len(hits))

    @property
    def share(self) -> float | None:
        """The share; None if nothing was counted."""
        return self.hits / self.count if self.count else None

    @property
    def interval(self) -> tuple[float, float]:
        """Low and high end; 0 and 1 if nothing was counted."""
        if self.count == 0:
            return 0.0, 1.0
        n, share, square = self.count, self.hits / self.count, Z95 * Z95
        middle = (share + square / (2 * n)) / (1 + square / n)
        half = Z95 / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
        # The ends of no and of all hits are exact; rounding would miss them by a little.
        return 0.0 if self.hits == 0 else middle - half, 1.0 if self.hits == n else middle + half

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON: `share`, `low`, `high`, `hits`, `count`."""
        low, high = self.interval
        return {"share": self.share, "low": low, "high": high, "hits": self.hits, "count": self.count}
