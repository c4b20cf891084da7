"""A cache of the evaluator's answers, valid as long as the network does not change.

Parallel games reach the same positions, and a search meets those of the search before it. The table is read while the
games advance, in parallel, and written between two advances, row by row. So its hits do not depend on the number of
threads.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN
from hexlit.hex.jit import inline, uncounted_kernel
from hexlit.hex.rng import GOLDEN, mix
from hexlit.search.tree import NONE

_EMPTY, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_CELLS_A_WORD = 32


class AnswerCache(NamedTuple):
    """Room for N answers; each position has one place, and replaces the answer there."""

    keys: NDArray[np.uint64]
    """Keys of the positions, 0 for an empty place, `[N]`."""
    policy: NDArray[np.float32]
    """`[N, A]`, as the evaluator wrote it."""
    value: NDArray[np.float32]
    """`[N]`, as the evaluator wrote it."""


def empty_cache(positions: int, actions: int) -> AnswerCache:
    """Room for `positions` answers of 4 * (actions + 3) bytes each; 0 makes a cache that stays empty."""
    return AnswerCache(
        keys=np.zeros(positions, np.uint64),
        policy=np.zeros((positions, actions), np.float32),
        value=np.zeros(positions, np.float32),
    )


@inline
def position_key(planes: NDArray[np.int8]) -> np.uint64:
    """Key of one position, planes int8 `[PLANES, n, n]`.

    Up to 5x5 no two positions share one; on larger boards two of them do with a probability of 2^-64.
    """
    size = planes.shape[1]
    key, word = GOLDEN, _EMPTY
    for row in range(size):
        for column in range(size):
            stones = np.uint64(planes[OWN, row, column]) << _ONE | np.uint64(planes[OPPONENT, row, column])
            word = word << _TWO | stones
            if (row * size + column) % _CELLS_A_WORD == _CELLS_A_WORD - 1:
                key, word = mix(key ^ word), _EMPTY
    key = mix(key ^ (word << _ONE | np.uint64(planes[MAY_SWAP, 0, 0])))
    return key if key != _EMPTY else _ONE


@inline
def recall(cache: AnswerCache, planes: NDArray[np.int8]) -> int:
    """Place of the answer for `planes` `[PLANES, n, n]`, or NONE."""
    if cache.keys.size == 0:
        return NONE
    key = position_key(planes)
    place = int(np.int64(key % np.uint64(cache.keys.size)))
    return place if cache.keys[place] == key else NONE


@uncounted_kernel
def remember(
    cache: AnswerCache, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]
) -> None:
    """Keep the evaluator's answers `policy` `[G, A]` and `value` `[G]` for `planes` `[G, PLANES, n, n]`."""
    if cache.keys.size == 0:
        return
    for g in range(value.size):
        key = position_key(planes[g])
        place = int(np.int64(key % np.uint64(cache.keys.size)))
        cache.keys[place] = key
        for action in range(policy.shape[1]):  # assigning the row would bring in code for its error message
            cache.policy[place, action] = policy[g, action]
        cache.value[place] = value[g]
