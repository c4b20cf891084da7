"""Optimizers and learning rates as the configuration asks for them."""

import math
from collections.abc import Callable

import torch
from torch import nn

from hexlit.training.config import OptimizerConfig


def build_optimizer(config: OptimizerConfig, net: nn.Module, *, fused: bool) -> torch.optim.Optimizer:
    """The optimizer over the parameters of `net`, `fused` into one kernel a step.

    With float16 gradients it must not be: they would be unscaled inside that kernel, after the clipping.
    """
    decayed = [p for p in net.parameters() if p.ndim > 1]
    others = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    if config.name == "adamw":
        return torch.optim.AdamW(groups, lr=config.lr, betas=(config.momentum, 0.999), fused=fused)
    return torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, nesterov=config.momentum > 0, fused=fused)


def learning_rate_factor(config: OptimizerConfig, progress: Callable[[], float]) -> Callable[[int], float]:
    """Factor on `lr` at a step, for `LambdaLR`; `progress` tells how far the run is, 0 to 1."""

    def factor(step: int) -> float:
        warmup = min(1.0, (step + 1) / (config.warmup_steps + 1))
        if config.schedule == "constant":
            return warmup
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress())))
        return warmup * (config.final_lr_share + (1 - config.final_lr_share) * cosine)

    return factor
