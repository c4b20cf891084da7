"""The search's only way to a network, two evaluators that need none, and a cache of answers."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN, blank_planes
from hexlit.hex.jit import inline, kernel, over_slices, uncounted_kernel
from hexlit.hex.playout import playouts
from hexlit.hex.rng import GOLDEN, PLAYOUT, key, mix
from hexlit.search.tree import NONE


class Batch(NamedTuple):
    """Input and output of one call of the evaluator: R rows.

    A kernel called from Python takes the three arrays one by one: Numba spends 0.6 µs per call on
    each named tuple.
    """

    planes: Int8Array
    """Positions, `[R, PLANES, size, size]`."""
    policy: FloatArray
    """`[R, A]`, see `Evaluator`."""
    value: FloatArray
    """`[R]`."""


def empty_batch(rows: int, size: int, actions: int) -> Batch:
    """`rows` empty boards of `size`, and room for the answers."""
    return Batch(
        blank_planes(rows, size), np.zeros((rows, actions), np.float32), np.zeros(rows, np.float32)
    )


class Evaluator(Protocol):
    """Judges a batch of positions of fixed size B."""

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        """Fill `policy` `[B, A]` and `value` `[B]` for the positions `planes` `[B, PLANES, size,
        size]`.

        Policies are probabilities over the actions of the mover's frame, 0 where illegal; values
        lie in [-1, 1] for the player to move.
        """
        ...


def fill_uniform(planes: Int8Array, policy: FloatArray) -> None:
    """Give every legal action of the positions `planes` `[B, PLANES, size, size]` the same share of
    `policy`.
    """
    batch, _, size, _ = planes.shape
    policy[:, : size * size] = (planes[:, OWN] + planes[:, OPPONENT] == 0).reshape(batch, -1)
    policy[:, size * size :] = planes[:, MAY_SWAP, :1, 0]
    policy /= np.maximum(policy.sum(1, keepdims=True), 1)


class UniformEvaluator:
    """Knows nothing: all actions equally likely, every value 0."""

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        """See `Evaluator`."""
        fill_uniform(planes, policy)
        value.fill(0.0)


class RolloutEvaluator:
    """All actions equally likely; the value is the mean result of random playouts (Coulom 2006)."""

    def __init__(self, playouts: int = 16, seed: int = 0) -> None:
        """`playouts` random games per position, drawn from `seed` and the position itself."""
        self.playouts = playouts
        self.seed = seed

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        """See `Evaluator`."""
        fill_uniform(planes, policy)
        cells = np.ascontiguousarray(
            (planes[:, OWN] - planes[:, OPPONENT]).reshape(len(planes), -1)
        )
        size = planes.shape[-1]

        def judge(first: int, last: int) -> None:
            _playout_values(cells[first:last], size, self.playouts, self.seed, value[first:last])

        over_slices(judge, len(planes))


@kernel
def _playout_values(cells: Int8Array, size: int, count: int, seed: int, value: FloatArray) -> None:
    room = np.empty(cells.shape[1], np.int16)
    for row in range(cells.shape[0]):
        digest = np.uint64(0)
        for cell in range(cells.shape[1]):
            digest = digest * np.uint64(3) + np.uint64(cells[row, cell] + 1)
        wins = playouts(cells[row], 1, count, key(seed, int(digest), 0, PLAYOUT), size, room)
        value[row] = 2.0 * wins / count - 1.0


_EMPTY, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_CELLS_A_WORD = 32


class AnswerCache(NamedTuple):
    """Room for N answers of an evaluator, valid as long as its network does not change.

    Each position has one place, and replaces the answer there. Parallel games reach the same
    positions, and a search meets those of the search before it. The table is read while the games
    advance, in parallel, and written between two advances, row by row. So its hits do not depend on
    the number of threads.
    """

    keys: NDArray[np.uint64]
    """Keys of the positions, 0 for an empty place, `[N]`."""
    policy: FloatArray
    """`[N, A]`, as the evaluator wrote it."""
    value: FloatArray
    """`[N]`, as the evaluator wrote it."""


def empty_cache(positions: int, actions: int) -> AnswerCache:
    """Room for `positions` answers of 4 * (actions + 3) bytes each; 0 makes a cache that stays
    empty.
    """
    return AnswerCache(
        np.zeros(positions, np.uint64),
        np.zeros((positions, actions), np.float32),
        np.zeros(positions, np.float32),
    )


@inline
def position_key(planes: Int8Array) -> np.uint64:
    """Key of one position, planes int8 `[PLANES, n, n]`.

    Up to 5x5 no two positions share one; on larger boards two of them do with a probability of
    2^-64.
    """
    size = planes.shape[1]
    digest, word = GOLDEN, _EMPTY
    for row in range(size):
        for column in range(size):
            stones = np.uint64(planes[OWN, row, column]) << _ONE | np.uint64(
                planes[OPPONENT, row, column]
            )
            word = word << _TWO | stones
            if (row * size + column) % _CELLS_A_WORD == _CELLS_A_WORD - 1:
                digest, word = mix(digest ^ word), _EMPTY
    digest = mix(digest ^ (word << _ONE | np.uint64(planes[MAY_SWAP, 0, 0])))
    return digest if digest != _EMPTY else _ONE


@inline
def recall(cache: AnswerCache, digest: np.uint64) -> int:
    """Place of the answer for the position with the key `digest`, or NONE."""
    place = int(np.int64(digest % np.uint64(cache.keys.size)))
    return place if cache.keys[place] == digest else NONE


@uncounted_kernel
def remember(
    cache: AnswerCache,
    keys: NDArray[np.uint64],
    policy: FloatArray,
    value: FloatArray,
) -> None:
    """Keep the evaluator's answers, the first of `policy` `[R, A]` and `value` `[R]`, for the
    positions with the `keys` `[G]`; 0 stands for none.
    """
    if cache.keys.size == 0:
        return
    for g in range(keys.size):
        if keys[g] == _EMPTY:
            continue
        place = int(np.int64(keys[g] % np.uint64(cache.keys.size)))
        cache.keys[place] = keys[g]
        for action in range(
            policy.shape[1]
        ):  # assigning the row would bring in code for its error message
            cache.policy[place, action] = policy[g, action]
        cache.value[place] = value[g]
