"""Optimizers whose state takes half of the memory of AdamW's, or nearly none."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

Closure = Callable[[], float]
Parameters = Iterable[Tensor] | Iterable[dict[str, Any]]


class AdamWBf16(Optimizer):
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
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        seed = torch.initial_seed() % 2**63
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "seed": seed})

    @torch.no_grad()
    def step(self, closure: Closure | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient; `closure` computes the loss and the gradients again."""
        loss = _evaluated(closure)
        seed = self.param_groups[0]["seed"]
        self.param_groups[0]["seed"] = (seed + 1) % 2**63
        generators: dict[torch.device, torch.Generator] = {}
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.device not in generators:
                    generators[parameter.device] = torch.Generator(parameter.device).manual_seed(seed)
                self._update(parameter, parameter.grad.float(), group, generators[parameter.device])
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any], generator: torch.Generator) -> None:
        state = self.state[parameter]
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


class Adafactor(Optimizer):
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

    @torch.no_grad()
    def step(self, closure: Closure | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient; `closure` computes the loss and the gradients again."""
        loss = _evaluated(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

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


def _evaluated(closure: Closure | None) -> float | None:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()
