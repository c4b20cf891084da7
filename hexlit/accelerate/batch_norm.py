"""Batch norm with the statistics of a batch over all ranks, on every device.

torch's own `SyncBatchNorm` does not support the cpu.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hexlit.accelerate.collectives import are_several


class RankedBatchNorm2d(nn.BatchNorm2d):
    """`nn.BatchNorm2d` over the examples of all ranks, `[B, C, h, w]` on each; with one rank it is
    the same.

    Every rank has as many forward and backward passes in training as the others.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalise, and in training note the statistics."""
        if not (self.training and are_several()):
            return super().forward(input)
        x = input.float()
        variance, mean = torch.var_mean(x, (0, 2, 3), correction=0)
        count = torch.full_like(mean, x.numel() / x.shape[1])
        own = torch.stack([count, mean, variance])
        counts, means, variances = _EveryRank.apply(own).unbind(1)  # type: ignore[no-untyped-call]  # [ranks, C] each
        total = counts.sum(0)
        mean = (counts * means).sum(0) / total
        variance = (counts * (variances + (means - mean) ** 2)).sum(
            0
        ) / total  # Chan, Golub & LeVeque 1979
        with torch.no_grad():
            unbiased = variance * total / (total - 1).clamp_min(1)
            self.running_mean.lerp_(mean, self.momentum)  # type: ignore[arg-type, union-attr]
            self.running_var.lerp_(unbiased, self.momentum)  # type: ignore[arg-type, union-attr]
            self.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        scale = torch.rsqrt(variance + self.eps) * self.weight
        shift = self.bias - mean * scale
        normalised: Tensor = x * scale[:, None, None] + shift[:, None, None]
        return normalised.to(input.dtype)


class _EveryRank(torch.autograd.Function):
    """The tensor `[...]` of every rank as `[ranks, ...]`. Gradients of all ranks flow back to the
    tensor's own rank.
    """

    @staticmethod
    def forward(context: Any, own: Tensor) -> Tensor:
        result = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(result, own.contiguous())
        return torch.stack(result)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].contiguous()
        dist.all_reduce(total)
        return total[dist.get_rank()]


def over_ranks(net: nn.Module) -> None:
    """Let every batch norm of images in `net` cover all ranks. Parameters and statistics stay the
    same tensors.

    Their names in a checkpoint stay the same too.
    """
    for module in net.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = RankedBatchNorm2d
