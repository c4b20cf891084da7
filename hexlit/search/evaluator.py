"""The search's only way to a network, and two evaluators that need none."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN, blank_planes
from hexlit.hex.jit import kernel, over_slices
from hexlit.hex.playout import playouts
from hexlit.hex.rng import PLAYOUT, key


class Batch(NamedTuple):
    """Input and output of one call of the evaluator: R rows.

    A kernel called from Python takes the three arrays one by one: Numba spends 0.6 µs per call on each named tuple.
    """

    planes: NDArray[np.int8]
    """Positions, `[R, PLANES, size, size]`."""
    policy: NDArray[np.float32]
    """`[R, A]`, see `Evaluator`."""
    value: NDArray[np.float32]
    """`[R]`."""


def empty_batch(rows: int, size: int, actions: int) -> Batch:
    """`rows` empty boards of `size`, and room for the answers."""
    return Batch(blank_planes(rows, size), np.zeros((rows, actions), np.float32), np.zeros(rows, np.float32))


class Evaluator(Protocol):
    """Judges a batch of positions of fixed size B."""

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        """Fill `policy` `[B, A]` and `value` `[B]` for the positions `planes` `[B, PLANES, size, size]`.

        Policies are probabilities over the actions of the mover's frame, 0 where illegal; values lie in [-1, 1] for
        the player to move.
        """
        ...


def fill_uniform(planes: NDArray[np.int8], policy: NDArray[np.float32]) -> None:
    """Give every legal action of the positions `planes` `[B, PLANES, size, size]` the same share of `policy`."""
    batch, _, size, _ = planes.shape
    policy[:, : size * size] = (planes[:, OWN] + planes[:, OPPONENT] == 0).reshape(batch, -1)
    policy[:, size * size :] = planes[:, MAY_SWAP, :1, 0]
    policy /= np.maximum(policy.sum(1, keepdims=True), 1)


class UniformEvaluator:
    """Knows nothing: all actions equally likely, every value 0."""

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        """See `Evaluator`."""
        fill_uniform(planes, policy)
        value.fill(0.0)


class RolloutEvaluator:
    """All actions equally likely; the value is the mean result of random playouts (Coulom 2006)."""

    def __init__(self, playouts: int = 16, seed: int = 0) -> None:
        """`playouts` random games per position, drawn from `seed` and the position itself."""
        self.playouts = playouts
        self.seed = seed

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        """See `Evaluator`."""
        fill_uniform(planes, policy)
        cells = np.ascontiguousarray((planes[:, OWN] - planes[:, OPPONENT]).reshape(len(planes), -1))
        size = planes.shape[-1]

        def judge(first: int, last: int) -> None:
            _playout_values(cells[first:last], size, self.playouts, self.seed, value[first:last])

        over_slices(judge, len(planes))


@kernel
def _playout_values(cells: NDArray[np.int8], size: int, count: int, seed: int, value: NDArray[np.float32]) -> None:
    room = np.empty(cells.shape[1], np.int16)
    for row in range(cells.shape[0]):
        digest = np.uint64(0)
        for cell in range(cells.shape[1]):
            digest = digest * np.uint64(3) + np.uint64(cells[row, cell] + 1)
        wins = playouts(cells[row], 1, count, key(seed, int(digest), 0, PLAYOUT), size, room)
        value[row] = 2.0 * wins / count - 1.0
