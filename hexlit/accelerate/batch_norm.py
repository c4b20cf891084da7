"""Batch norm with the statistics of a batch over all ranks, on every device, or by the size of images.

torch's own `SyncBatchNorm` does not support the cpu.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from hexlit.accelerate.collectives import are_several


class SizedBatchNorm2d(nn.BatchNorm2d):
    """Batch norm of square images, `[B, C, n, n]`, with running statistics for each size n.

    Batches are of one size, so training normalises by the statistics of that size. A mean over all
    sizes would fit none in evaluation. Sizes that were never trained have the statistics of the one
    trained last.

    Attributes:
        means: running mean of each size, float32 `[largest + 1, C]`.
        variances: running variance of each size, float32 `[largest + 1, C]`.
        trained: whether a size was trained, bool `[largest + 1]`.
    """

    def __init__(self, channels: int, largest: int) -> None:
        super().__init__(channels, track_running_stats=False)
        self.means: Tensor
        self.variances: Tensor
        self.trained: Tensor
        self.register_buffer("means", torch.zeros(largest + 1, channels))
        self.register_buffer("variances", torch.ones(largest + 1, channels))
        self.register_buffer("trained", torch.zeros(largest + 1, dtype=torch.bool))

    def forward(self, input: Tensor) -> Tensor:
        """Normalise, and in training note the statistics."""
        size = input.shape[-1]
        if self.training:
            self.begin(size)
        return functional.batch_norm(
            input,
            *self.statistics(size),
            self.weight,
            self.bias,
            self.training,
            self.momentum or 0.0,
            self.eps,
        )

    def statistics(self, size: int) -> tuple[Tensor, Tensor]:
        """Running mean and variance of a size, `[C]` each."""
        return self.means[size], self.variances[size]

    @torch.no_grad()
    def begin(self, size: int) -> None:
        """Train `size`; those that were never trained follow."""
        self.trained[size] = True
        for rows in (self.means, self.variances):
            rows.copy_(torch.where(self.trained[:, None], rows, rows[size]))

    def of_size(self, size: int) -> nn.BatchNorm2d:
        """The plain batch norm that equals this one for images of `size`, with the same weights."""
        plain = nn.BatchNorm2d(self.num_features, self.eps)
        plain.weight, plain.bias = self.weight, self.bias
        mean, variance = self.statistics(size)
        plain.running_mean, plain.running_var = mean.clone(), variance.clone()
        return plain.train(self.training)


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
            for running, new in zip(self.noted(input), (mean, unbiased), strict=True):
                running.lerp_(new, self.momentum)  # type: ignore[arg-type, union-attr]
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
        scale = torch.rsqrt(variance + self.eps) * self.weight
        shift = self.bias - mean * scale
        normalised: Tensor = x * scale[:, None, None] + shift[:, None, None]
        return normalised.to(input.dtype)

    def noted(self, input: Tensor) -> tuple[Tensor | None, ...]:
        """The running statistics that a batch changes."""
        return self.running_mean, self.running_var


class RankedSizedBatchNorm2d(RankedBatchNorm2d, SizedBatchNorm2d):
    """`SizedBatchNorm2d` over the examples of all ranks."""

    def noted(self, input: Tensor) -> tuple[Tensor | None, ...]:
        """See `RankedBatchNorm2d`."""
        self.begin(input.shape[-1])
        return self.statistics(input.shape[-1])


_RANKED: dict[type[nn.Module], type[nn.Module]] = {
    nn.BatchNorm2d: RankedBatchNorm2d,
    SizedBatchNorm2d: RankedSizedBatchNorm2d,
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
