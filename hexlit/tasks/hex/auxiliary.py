"""Auxiliary policy targets: knowledge of a search beyond the best move. They shape the trunk and are never played.

Source: Wu 2019 (KataGo), section 3.4, for the opponent's reply; its later notes on methods for the soft policy. Each
has a head of its own, which only training computes.
"""

import torch
from torch import Tensor
from torch.nn import functional

from hexlit.nets.tower import ILLEGAL, masked_logits

SOFT_POWER = 0.25
"""Power of the soft target: the searched policy to this power separates good from bad among unlikely moves."""


def reply_loss(logits: Tensor, planes: Tensor, reply: Tensor) -> Tensor:
    """Mean cross-entropy of the opponent's searched policy one ply later.

    Args:
        logits: `[B, A]` of the reply head.
        planes: int8 `[B, PLANES, n, n]`, the position before the mover's move.
        reply: `[B, A]`, in the frame of that position. A row of zeros is an unknown reply; it adds 0 to the mean, so
        that
            a batch and the sum of its parts have the same gradient.
    """
    return functional.cross_entropy(_reply_logits(logits.float(), planes), reply)


def soft_loss(logits: Tensor, planes: Tensor, policy: Tensor) -> Tensor:
    """Mean cross-entropy of the policy target `[B, A]` to the power `SOFT_POWER`, by `logits` `[B, A]`."""
    flat = policy**SOFT_POWER
    return functional.cross_entropy(masked_logits(logits, planes), flat / flat.sum(1, keepdim=True))


def _reply_logits(logits: Tensor, planes: Tensor) -> Tensor:
    """`logits` with `ILLEGAL` at replies that no move of the mover can make legal.

    A swap moves the first stone to its mirror image, which frees its cell unless both are the same. The reply to a
    first move may be a swap.
    """
    stones = planes[:, 0] + planes[:, 1] != 0
    illegal = (stones & ((planes[:, 4] == 0) | stones.transpose(1, 2))).flatten(1)
    if logits.shape[1] > illegal.shape[1]:
        illegal = torch.cat((illegal, stones.flatten(1).any(1, keepdim=True)), dim=1)
    return logits.masked_fill(illegal, ILLEGAL)
