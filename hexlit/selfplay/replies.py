"""Reply targets: the searched policy one ply after a position, if that search was recorded.

Source: Wu 2019 (KataGo), section 3.4: the opponent's reply as an auxiliary target of the policy.
"""

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.frame import frame_maps
from hexlit.hex.symmetry import rotate_policy

Policies = NDArray[np.float16] | NDArray[np.float32]


def next_policies(policies: Policies, first: NDArray[np.int64], ply: NDArray[np.int16]) -> Policies:
    """For each of P positions the policy of the same game's next ply, `[P, A]`; zeros if unknown.

    Args:
        policies: over the board's actions, `[P, A]`; the positions of a game follow each other.
        first: tells the games apart, `[P]`.
        ply: moves before the position, `[P]`. A fast search between two positions leaves a gap here.
    """
    known = np.flatnonzero((first[1:] == first[:-1]) & (ply[1:] == ply[:-1] + 1))
    replies = np.zeros_like(policies)
    replies[known] = policies[known + 1]
    return replies


def seen_by_mover(
    replies: NDArray[np.float32], ply: NDArray[np.int16], size: int, turned: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Policies over the board's actions `[B, A]` in the frame of the player who moves at `ply`, turned or not."""
    colours = np.where(ply % 2 == 0, 1, -1).astype(np.int8)
    seen = frame_maps(replies, colours, size)
    return np.where(turned[:, None], rotate_policy(seen, size), seen)
