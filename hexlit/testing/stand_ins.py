"""A stand-in for a network: answers that depend on the position alone."""

import hashlib
from dataclasses import dataclass, field

import numpy as np

from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN


@dataclass
class KeyedEvaluator:
    """Stands in for a network: continuous policies and values made from a digest of each position.

    They come from SHAKE-256 and elementary arithmetic, so no version of NumPy changes them. Illegal
    actions get weight, too: a search has to leave them out itself.
    """

    salt: bytes = b""
    swap_weight: float = 1.0
    """Factor on the weight of the swap action."""
    seen: set[tuple[int, bool]] = field(default_factory=set)
    """(stones, whether the mover may swap) of everything that was asked for."""

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        """See `hexlit.search.evaluator.Evaluator`, but for the illegal actions."""
        for row, position in enumerate(planes):
            actions = policy.shape[1]
            content = self.salt + position.tobytes()
            bits = hashlib.shake_256(content).digest(4 * (actions + 1))
            numbers = np.frombuffer(bits, "<u4").astype(np.float64)
            numbers /= 2**32
            weights = np.exp2(4 * numbers[1:])
            if actions > position[OWN].size:
                weights[-1] *= self.swap_weight
            policy[row] = weights / weights.sum()
            value[row] = 1.8 * numbers[0] - 0.9
            stones = int(position[[OWN, OPPONENT]].sum())
            may_swap = bool(position[MAY_SWAP].any())
            self.seen.add((stones, may_swap))
