"""Policy surprise: positions whose search changed the network's mind are drawn more often.

Source: Wu 2019 (KataGo), "policy surprise weighting", from its later notes on methods. A position's surprise is the
divergence of the searched policy from the prior that the search began with. The network learns most where it was wrong.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.jit import inline


@inline
def divergence(policy: NDArray[np.float32], prior: NDArray[np.float32]) -> float:
    """Kullback-Leibler divergence of `policy` `[A]` from `prior` `[A]` in nats, at least 0."""
    total = 0.0
    for action in range(policy.size):
        if policy[action] > 0.0 and prior[action] > 0.0:
            total += policy[action] * math.log(policy[action] / prior[action])
    return max(0.0, total)


def surprise_weights(surprises: NDArray[np.float32], share: float) -> NDArray[np.float64]:
    """Draws of each of P positions, relative to the mean: float64 `[P]` with mean 1.

    A `share` of all draws goes to the positions in proportion to `surprises` `[P]`, the rest to all equally. Without
    any surprise all weigh the same.
    """
    mean = surprises.mean(dtype=np.float64)
    if mean <= 0:
        return np.ones(len(surprises))
    weights: NDArray[np.float64] = (1 - share) + share * surprises / mean
    return weights


def drawn_by_weight(random: np.random.Generator, weights: NDArray[np.float64], draws: int) -> NDArray[np.int64]:
    """`draws` row numbers in random order; row i comes draws * weights[i] / sum times, rounded up or down.

    It is systematic sampling: evenly spaced marks on the line of all weights, with one random offset. It has the least
    variance; with equal weights no row comes twice before all have come once.
    """
    ends = np.cumsum(weights[order := random.permutation(len(weights))])
    marks = (np.arange(draws) + random.random()) * (ends[-1] / draws)
    found = order[np.minimum(np.searchsorted(ends, marks, side="right"), len(order) - 1)]
    return random.permutation(found)
