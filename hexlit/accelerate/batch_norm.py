"""Batch norm with the statistics of a batch over all ranks, on every device, and renormalisation.

torch's own `SyncBatchNorm` does not support the cpu.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from hexlit.accelerate.collectives import are_several

MOST_RATIO, MOST_SHIFT = 3.0, 5.0
"""Bounds of a renormalisation, the second in standard deviations."""

RENORM_MOMENTUM = 0.003
"""Share of a batch in the running statistics: hundreds of steps, so of all boards of a run."""


class BatchRenorm2d(nn.BatchNorm2d):
    """Batch norm that normalises in training as in evaluation, by the running statistics; batch
    renormalisation (Ioffe 2017, algorithm 1).

    Plain batch norm takes those of the batch in training. Where batches differ in kind, as those of
    small and large boards do, the running statistics fit none of them, and the network plays
    otherwise than it learned.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalise, and in training note the statistics."""
        if not self.training:
            return super().forward(input)
        variance, mean = torch.var_mean(input.detach().float(), (0, 2, 3), correction=0)
        weight, bias = _renormalising(self, mean, variance)
        statistics = self.running_mean, self.running_var
        self.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        return functional.batch_norm(
            input, *statistics, weight, bias, True, RENORM_MOMENTUM, self.eps
        )


def _renormalising(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Weight and bias with which statistics of a batch give what the running ones would."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    running = torch.sqrt(norm.running_var + norm.eps)
    ratio = torch.sqrt(variance + norm.eps) / running
    ratio = ratio.clamp(1 / MOST_RATIO, MOST_RATIO)
    shift = ((mean - norm.running_mean) / running).clamp(-MOST_SHIFT, MOST_SHIFT)
    return norm.weight * ratio, norm.bias + norm.weight * shift


def renormalise(net: nn.Module) -> None:
    """Make every batch norm of images in `net` a `BatchRenorm2d`; its tensors stay the same."""
    for module in net.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = BatchRenorm2d


class RankedBatchNorm2d(nn.BatchNorm2d):
    """`nn.BatchNorm2d` over the examples of all ranks, `[B, C, h, w]` on each; with one rank it is
    the same.

    Every rank has as many forward and backward passes in training as the others.
    """

    renorm = False
    """Whether it corrects the statistics of the batch."""

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
        weight: Tensor = self.weight
        bias: Tensor = self.bias
        momentum = self.momentum
        if self.renorm:
            weight, bias = _renormalising(self, mean.detach(), variance.detach())
            momentum = RENORM_MOMENTUM
        with torch.no_grad():
            unbiased = variance * total / (total - 1).clamp_min(1)
            self.running_mean.lerp_(mean, momentum)  # type: ignore[arg-type, union-attr]
            self.running_var.lerp_(unbiased, momentum)  # type: ignore[arg-type, union-attr]
            self.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        scale = torch.rsqrt(variance + self.eps) * weight
        shift = bias - mean * scale
        normalised: Tensor = x * scale[:, None, None] + shift[:, None, None]
        return normalised.to(input.dtype)


class RankedBatchRenorm2d(RankedBatchNorm2d, BatchRenorm2d):
    """`BatchRenorm2d` over the examples of all ranks."""

    renorm = True


_RANKED: dict[type[nn.Module], type[nn.Module]] = {
    nn.BatchNorm2d: RankedBatchNorm2d,
    BatchRenorm2d: RankedBatchRenorm2d,
}


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
        if type(module) in _RANKED:
            module.__class__ = _RANKED[type(module)]
