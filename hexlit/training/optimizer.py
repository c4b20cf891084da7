"""Optimizers and learning rates as the configuration asks for them."""

import math
from collections.abc import Callable

import torch
from torch import nn

from hexlit.training.config import OptimizerConfig
from hexlit.training.low_memory import Adafactor, AdamWBf16

MOMENTUM = 0.9
"""Default momentum."""


def build_optimizer(
    config: OptimizerConfig, net: nn.Module, *, fused: bool, lr: float | None = None
) -> torch.optim.Optimizer:
    """The optimizer over the parameters of `net`, with the rate `lr`; None: that of the configuration.

    adamw and sgd can be `fused` into one kernel per step; the others have no such kernel. `fused` must be off with
    float16 gradients: that kernel would unscale them after the clipping.
    """
    decayed = [p for p in net.parameters() if p.ndim > 1]
    others = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    lr = config.lr if lr is None else lr
    momentum = MOMENTUM if config.momentum is None else config.momentum
    if config.name == "adamw":
        return torch.optim.AdamW(groups, lr=lr, betas=(momentum, 0.999), fused=fused)
    if config.name == "adamw_bf16":
        return AdamWBf16(groups, lr=lr, betas=(momentum, 0.999))
    if config.name == "adafactor":
        return Adafactor(groups, lr=lr)
    return torch.optim.SGD(groups, lr=lr, momentum=momentum, nesterov=momentum > 0, fused=fused)


def adapt_state(optimizer: torch.optim.Optimizer) -> None:
    """Fit the loaded state of `optimizer` to this run's kernels and memory layout, which may differ.

    Fused kernels read `step` on the device of the parameter; the others would wait for it there, so it is on the cpu.
    """
    for group in optimizer.param_groups:
        if "fused" in group:
            group["fused"] = optimizer.defaults["fused"]
        for parameter in group["params"]:
            state = optimizer.state.get(parameter, {})
            for name, value in state.items():
                if not isinstance(value, torch.Tensor):
                    continue
                if name == "step" and "fused" in group:
                    state[name] = value.to(parameter.device if group["fused"] else "cpu")
                elif value.shape == parameter.shape:
                    state[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)


def scaled_lr(config: OptimizerConfig, batch: int) -> float:
    """The learning rate for `batch` examples a step, as `optimizer.lr_scaling` says."""
    ratio = batch / config.lr_batch
    return config.lr * {"none": 1.0, "linear": ratio, "sqrt": math.sqrt(ratio)}[config.lr_scaling]


def optimizer_state_bytes(optimizer: torch.optim.Optimizer) -> int:
    """Bytes of the tensors that `optimizer` keeps in addition to the parameters; 0 before its first step."""
    kept = (value for state in optimizer.state.values() for value in state.values() if isinstance(value, torch.Tensor))
    return sum(tensor.numel() * tensor.element_size() for tensor in kept)


def learning_rate_factor(config: OptimizerConfig, progress: Callable[[], float]) -> Callable[[int], float]:
    """Factor on `lr` at a step, for `LambdaLR`; `progress` gives the progress of the run, 0 to 1."""

    def factor(step: int) -> float:
        warmup = min(1.0, (step + 1) / (config.warmup_steps + 1))
        if config.schedule == "constant":
            return warmup
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress() / config.decay_share)))
        return warmup * (config.final_lr_share + (1 - config.final_lr_share) * cosine)

    return factor
