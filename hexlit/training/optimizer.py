"""Optimizers, learning rates and the running average of the weights."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hexlit.training.config import OptimizerConfig

MOMENTUM = 0.9
"""Default momentum."""


def build_optimizer(config: OptimizerConfig, net: nn.Module, *, fused: bool, lr: float) -> Optimizer:
    """The optimizer over the parameters of `net`, with the rate `lr`.

    adamw and sgd can be `fused` into one kernel per step; the others have no such kernel. `fused` must be off with
    float16 gradients: that kernel would unscale them after the clipping.
    """
    decayed = [p for p in net.parameters() if p.ndim > 1]
    others = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
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
                if not isinstance(value, Tensor):
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
    values = (value for state in optimizer.state.values() for value in state.values())
    return sum(value.numel() * value.element_size() for value in values if isinstance(value, Tensor))


def learning_rate_factor(config: OptimizerConfig, progress: Callable[[], float]) -> Callable[[int], float]:
    """Factor on `lr` at a step, for `LambdaLR`; `progress` gives the progress of the run, 0 to 1."""

    def factor(step: int) -> float:
        warmup = min(1.0, (step + 1) / (config.warmup_steps + 1))
        if config.schedule == "constant":
            return warmup
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress() / config.decay_share)))
        return warmup * (config.final_lr_share + (1 - config.final_lr_share) * cosine)

    return factor


Closure = Callable[[], float] | None
Parameters = Iterable[Tensor] | Iterable[dict[str, Any]]


class _ByParameter(Optimizer, ABC):
    """An optimizer that updates one parameter after another."""

    @torch.no_grad()
    def step(self, closure: Closure = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient; `closure` computes the loss and the gradients again."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad.float(), group)
        return loss

    @abstractmethod
    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        """Update `parameter` by its `gradient` in float32."""


class AdamWBf16(_ByParameter):
    """AdamW (Loshchilov & Hutter 2019) with both moments kept in bfloat16: 4 bytes a parameter instead of 8.

    The moments are computed in float32 and rounded stochastically when they are stored (Zamirai et al. 2020): up or
    down with the probability that makes the expected value exact. Rounding to the nearest would not work. bfloat16 has
    8 significant bits. With beta2 = 0.999 a step lowers the second moment by at most a 1000th of itself. Rounding would
    always undo that, so the moment could never fall.

    The random draws depend on the seed of torch (`torch.manual_seed`) when the optimizer is made, and on the steps it
    has taken. They neither use nor move torch's own stream. Processes of a distributed run with the same seed therefore
    draw the same, and a resumed run continues with the same draws.
    """

    def __init__(
        self, params: Parameters, lr: float, betas: tuple[float, float] = (0.9, 0.999), weight_decay: float = 1e-2
    ) -> None:
        seed = torch.initial_seed() % 2**63
        super().__init__(params, {"lr": lr, "betas": betas, "eps": 1e-8, "weight_decay": weight_decay, "seed": seed})

    def step(self, closure: Closure = None) -> float | None:  # type: ignore[override]
        """As for every optimizer, with new random draws."""
        group = self.param_groups[0]
        self._generator = torch.Generator(group["params"][0].device).manual_seed(group["seed"])
        loss = super().step(closure)
        group["seed"] = (group["seed"] + 1) % 2**63
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state, generator = self.state[parameter], self._generator
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(parameter, dtype=torch.bfloat16)
            state["exp_avg_sq"] = torch.zeros_like(parameter, dtype=torch.bfloat16)
        state["step"] += 1
        beta1, beta2 = group["betas"]
        first = state["exp_avg"].float().lerp_(gradient, 1 - beta1)
        second = state["exp_avg_sq"].float().mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        state["exp_avg"].copy_(rounded_to_bf16(first, generator))
        state["exp_avg_sq"].copy_(rounded_to_bf16(second, generator))
        root = second.sqrt_().div_(math.sqrt(1 - beta2 ** state["step"])).add_(group["eps"])
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(first.div_(root), alpha=-group["lr"] / (1 - beta1 ** state["step"]))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state; torch casts it to the parameters' float32 on the way, which is undone here."""
        super().load_state_dict(state_dict)
        for state in self.state.values():
            for name in ("exp_avg", "exp_avg_sq"):
                state[name] = state[name].to(torch.bfloat16)


def rounded_to_bf16(x: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """float32 `x` in bfloat16, each value rounded up or down, more likely to the nearer one. Infinity and NaN stay."""
    # bfloat16 is the upper half of float32: noise in the lower half carries as often as the lower half is large.
    noise = torch.empty_like(x, dtype=torch.int32).random_(0, 2**16, generator=generator)
    rounded = ((x.view(torch.int32) + noise) & -(2**16)).view(torch.float32)
    return torch.where(x.isfinite(), rounded, x).to(torch.bfloat16)


class Adafactor(_ByParameter):
    """Adafactor (Shazeer & Stern 2018) without momentum: it keeps only a row and a column of a matrix's second moments.

    Unlike in `torch.optim.Adafactor`, a kernel `[out, in, h, w]` counts as the matrix `[out, in*h*w]`. torch factors
    the last two dimensions. For 3x3 kernels that keeps two thirds of the moments, for 1x1 kernels twice as many as
    there are. The step is relative to the parameter: `lr` times its root mean square.

    Args:
        lr: highest step relative to the parameter; step t takes at most 1/sqrt(t).
        weight_decay: decoupled.
        smallest_scale: least value used for the root mean square, so that a parameter can leave zero.
            The paper's 1e-3 keeps blocks whose last norm starts at zero passive for hundreds of steps.
    """

    def __init__(
        self, params: Parameters, lr: float = 1e-2, weight_decay: float = 0.0, smallest_scale: float = 1e-2
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "smallest_scale": smallest_scale})

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        state["step"] = state.get("step", 0) + 1
        new = state["step"] ** -0.8  # weight of this step's squares
        tiny = torch.finfo(parameter.dtype).eps
        if gradient.ndim > 1:
            gradient = gradient.flatten(1)
            squares = gradient.square()
            if "row" not in state:
                state["row"] = torch.zeros_like(squares[:, :1])
                state["column"] = torch.zeros_like(squares[:1])
            row = state["row"].lerp_(squares.mean(1, keepdim=True), new)
            column = state["column"].lerp_(squares.mean(0, keepdim=True), new)
            variance = (row @ column).div_(row.mean().clamp_min(tiny))
        else:
            if "variance" not in state:
                state["variance"] = torch.zeros_like(gradient)
            variance = state["variance"].lerp_(gradient.square(), new).clone()
        update = variance.clamp_(min=tiny**2).rsqrt_().mul_(gradient)
        relative = _root_mean_square(parameter).clamp_min(group["smallest_scale"])
        length = relative / _root_mean_square(update).clamp_min(1) * min(group["lr"], state["step"] ** -0.5)
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.sub_(update.mul_(length).view_as(parameter))


def _root_mean_square(x: Tensor) -> Tensor:
    return x.square().mean().sqrt()


class RunningAverage(nn.Module):
    """Exponential moving average of the weights and buffers of a network; the first update copies them.

    An update does not wait for the device, except the first of a process, which reads `n_averaged`.

    Attributes:
        module: the averaged network.
        n_averaged: number of updates, a tensor, so that a checkpoint has it.
    """

    n_averaged: Tensor

    def __init__(self, net: nn.Module, decay: float) -> None:
        """An update keeps the share `decay` of the average and takes the rest from `net`."""
        super().__init__()
        self.module = deepcopy(net)
        self.register_buffer("n_averaged", torch.tensor(0))
        self._decay = decay
        self._begun: bool | None = None  # None: `n_averaged` tells

    @torch.no_grad()
    def update(self, net: nn.Module) -> None:
        """Add the present weights of `net`."""
        if self._begun is None:
            self._begun = bool(self.n_averaged)
        averaged, current = ([*one.parameters(), *one.buffers()] for one in (self.module, net))
        floats = [i for i, tensor in enumerate(averaged) if self._begun and tensor.is_floating_point()]
        if floats:
            torch._foreach_lerp_([averaged[i] for i in floats], [current[i] for i in floats], 1 - self._decay)
        for i in set(range(len(averaged))).difference(floats):
            averaged[i].copy_(current[i])
        self.n_averaged += 1
        self._begun = True
