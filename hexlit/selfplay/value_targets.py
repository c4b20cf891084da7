"""Value targets of a game: its result, mixed with the searched values.

A result is unbiased but noisy: one blunder decides it. The search of a position has little noise but is only as good as
the network. The searches of the next moves see more of the game; Wu (KataGo) learns short-term values from them, as
TD(lambda) does (Sutton 1988).
"""

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.record import GameRecord


def value_targets(record: GameRecord, search_share: float, search_decay: float) -> NDArray[np.float32]:
    """Targets in [-1, 1] for the player to move at `record.policy_plies`, `[K]`.

    `search_share` of a target is the searched value, the rest the result. With `search_decay` the searched value is the
    mean over this search and all later ones, each weighing `search_decay` times the one before. The result stands for
    all searches after the last move.
    """
    plies = record.policy_plies
    colour = np.where(plies % 2 == 0, 1, -1)
    searched = _smoothed(record, search_decay)[plies] * colour if search_decay else record.values[plies]
    return ((1 - search_share) * (record.winner * colour) + search_share * searched).astype(np.float32)


def _smoothed(record: GameRecord, decay: float) -> NDArray[np.float64]:
    """Means of the searched values from each ply on, for Black, `[T]`."""
    black = np.where(np.arange(len(record.values)) % 2 == 0, record.values, -record.values)
    backwards = accumulate(
        black[::-1].tolist(), lambda later, value: decay * later + (1 - decay) * value, initial=float(record.winner)
    )
    return np.array(list(backwards)[:0:-1])
