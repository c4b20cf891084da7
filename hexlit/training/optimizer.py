"""Optimizers, learning rates and the running average of the weights."""

import inspect
import math
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hexlit.errors import UsageError
from hexlit.settings import OPTIMIZER_GROUP, SCHEDULE_GROUP, loaded
from hexlit.training.config import OPTIMIZERS, OptimizerConfig


class FlatParameters:
    """The trained parameters of a network, stored in two flat tensors: those that decay, and the
    others.

    The parameters become views into these tensors and keep their memory layout. An update, the
    clipping before it and the average after it are then a few kernels, however many parameters
    there are.

    Attributes:
        parts: the parameters of each flat tensor.
        flat: the flat tensors `[N]`; one without parameters is left out.
        groups: what the optimizer updates: the flat tensors, or a view of each parameter, kernels
            as matrices `[out, in*h*w]`, whose columns follow the memory layout.
    """

    def __init__(self, net: nn.Module, *, by_parameter: bool = False) -> None:
        """Move the parameters of `net`, which stays on its device from now on."""
        trained = [p for p in net.parameters() if p.requires_grad]
        matrices = [p for p in trained if p.ndim > 1]
        vectors = [p for p in trained if p.ndim <= 1]
        self.parts = [part for part in (matrices, vectors) if part]
        self.flat = [_joined(part) for part in self.parts]
        self._by_parameter = by_parameter
        self.groups = []
        for flat, part in zip(self.flat, self.parts, strict=True):
            self.groups.append([nn.Parameter(piece) for piece in self._pieces(flat, part)])
            for parameter, view in zip(part, _views(flat, part), strict=True):
                parameter.data = view

    def gradients(self) -> list[Tensor]:
        """The gradients, joined for the optimizer; those of the parameters are gone, and a missing
        one is zeros.
        """
        result = []
        for part, group in zip(self.parts, self.groups, strict=True):
            result.append(
                _joined([torch.zeros_like(p) if p.grad is None else p.grad for p in part])
            )
            for own, piece in zip(group, self._pieces(result[-1], part), strict=True):
                own.grad = piece
            for parameter in part:
                parameter.grad = None
        return result

    def _pieces(self, flat: Tensor, part: Sequence[Tensor]) -> list[Tensor]:
        if not self._by_parameter:
            return [flat]
        pieces = []
        for piece, parameter in zip(
            torch.split(flat, [p.numel() for p in part]), part, strict=True
        ):
            is_matrix = parameter.ndim > 1
            pieces.append(piece.view(len(parameter), -1) if is_matrix else piece.view_as(parameter))
        return pieces

    def split_state(self, saved: dict[str, Any]) -> dict[str, Any]:
        """The state of an optimizer of the flat tensors, by parameter, as views: it then suits any
        memory layout.
        """
        state: dict[int, Any] = {}
        groups = []
        for number, (part, group) in enumerate(zip(self.parts, saved["param_groups"], strict=True)):
            pieces = {}
            for name, value in saved["state"].get(number, {}).items():
                pieces[name] = [value] * len(part) if name == "step" else _views(value, part)
            first = len(state)
            groups.append({**group, "params": list(range(first, first + len(part)))})
            for at in range(len(part)):
                state[first + at] = {name: values[at] for name, values in pieces.items()}
        return {"state": state, "param_groups": groups}

    def join_state(self, saved: dict[str, Any], fused: bool | None) -> dict[str, Any]:
        """The inverse of `split_state`, for an optimizer that is `fused` or not; None: it has no
        such kernel.
        """
        state, groups = dict[int, Any](), []
        own_groups = [group for group in saved["param_groups"] if group["params"]]
        for number, (part, group) in enumerate(zip(self.parts, own_groups, strict=True)):
            groups.append(
                {**group, "params": [number]} | ({} if fused is None else {"fused": fused})
            )
            own = [saved["state"].get(place, {}) for place in group["params"]]
            for name, value in own[0].items():
                if name != "step":
                    value = torch.empty(sum(p.numel() for p in part), dtype=value.dtype)
                    for view, one in zip(_views(value, part), own, strict=True):
                        view.copy_(one[name])
                state.setdefault(number, {})[name] = value
        return {"state": state, "param_groups": groups}


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of `tensors` in the order of their memory, which must have no gaps, as a new
    tensor `[N]`.
    """
    return torch.cat([tensor.detach().as_strided((tensor.numel(),), (1,)) for tensor in tensors])


def _views(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Views into `flat` `[N]`, one after the other, with the shapes and layouts of `like`."""
    parts = torch.split(flat, [one.numel() for one in like])
    return [part.as_strided(one.shape, one.stride()) for part, one in zip(parts, like, strict=True)]


def build_optimizer(
    config: OptimizerConfig, parameters: FlatParameters, *, lr: float, fused: bool = True
) -> Optimizer:
    """The optimizer of the groups of `parameters`, with the rate `lr`.

    adamw and sgd can be `fused` into one kernel per step; the others have no such kernel.
    """
    groups: list[dict[str, Any]] = [
        {"params": group, "weight_decay": config.weight_decay * (part[0].ndim > 1)}
        for group, part in zip(parameters.groups, parameters.parts, strict=True)
    ]
    if config.name not in OPTIMIZERS:
        return _brought_optimizer(config, groups, lr)
    momentum = 0.9 if config.momentum is None else config.momentum
    optimizer: Optimizer
    if config.name == "adamw":
        optimizer = torch.optim.AdamW(groups, lr=lr, betas=(momentum, 0.999), fused=fused)
    elif config.name == "adamw_bf16":
        optimizer = AdamWBf16(groups, lr=lr, betas=(momentum, 0.999))
    elif config.name == "adafactor":
        # The steps are relative to the parameters. With torch's least scale of 1e-3, blocks whose
        # last norm starts at zero would stay passive for hundreds of steps.
        return torch.optim.Adafactor(groups, lr=lr, eps=(None, 1e-2))
    else:
        optimizer = torch.optim.SGD(
            groups, lr=lr, momentum=momentum, nesterov=momentum > 0, fused=fused
        )
    own = optimizer.defaults.get("fused")
    optimizer.register_state_dict_post_hook(lambda _, state: parameters.split_state(state))
    optimizer.register_load_state_dict_pre_hook(lambda _, state: parameters.join_state(state, own))
    return optimizer


def _brought_optimizer(
    config: OptimizerConfig, groups: list[dict[str, Any]], lr: float
) -> Optimizer:
    """The optimizer `config.name` of torch or of another package, for `groups` of parameters.

    Raises:
        UsageError: its class or its arguments do not fit.
    """
    kind: Any = optimizer_class(config.name)
    rest = []
    if config.parameters == "matrices":
        rest = [group for group in groups if group["params"][0].ndim <= 1]
        groups = [group for group in groups if group["params"][0].ndim > 1]
    try:
        optimizer: Optimizer = kind(groups, **{"lr": lr, **config.arguments})
    except (TypeError, ValueError) as error:
        matrices = "; optimizer.parameters=matrices leaves the others to AdamW"
        hint = matrices if "2D parameters" in str(error) else ""
        raise UsageError(
            f"optimizer.name={config.name}, optimizer.arguments={config.arguments}: {error}{hint}"
        ) from error
    if not rest:
        return optimizer
    return PairedOptimizer(optimizer, torch.optim.AdamW(rest, lr=lr))


def check_optimizer(config: OptimizerConfig) -> None:
    """Make the optimizer of `config` for a small layer; raises `UsageError` as `build_optimizer`."""
    layer = FlatParameters(nn.Linear(2, 2), by_parameter=True)
    build_optimizer(config, layer, fused=False, lr=config.lr)


def optimizer_class(name: str) -> type[Any]:
    """The class of the optimizer `name`, `torch.optim.NAME` or that of an entry point.

    Raises:
        UsageError: it is no subclass of `torch.optim.Optimizer`, or its step needs a closure.
    """
    if name.startswith("torch.optim."):
        found = getattr(torch.optim, name.removeprefix("torch.optim."), None)
    else:
        found = loaded(OPTIMIZER_GROUP, name, "optimizer.name")
    if not (isinstance(found, type) and issubclass(found, Optimizer)):
        raise UsageError(f"optimizer.name={name}: is no subclass of torch.optim.Optimizer")
    closure = inspect.signature(found.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise UsageError(f"optimizer.name={name}: its step needs a closure")
    return found


class PairedStates(ChainMap[Tensor, Any]):
    """The states of two optimizers by parameter, each of which is in one of them.

    They are default dictionaries, which would make an entry for every parameter that is asked for.
    """

    def _home(self, parameter: Tensor) -> Any:
        return next(states for states in self.maps if parameter in states)

    def __getitem__(self, parameter: Tensor) -> Any:
        return self._home(parameter)[parameter]

    def __setitem__(self, parameter: Tensor, state: Any) -> None:
        self._home(parameter)[parameter] = state


class PairedOptimizer(Optimizer):
    """Two optimizers of different parameters as one."""

    def __init__(self, first: Optimizer, second: Optimizer) -> None:
        """The groups stay those of `first` and `second`: a schedule reaches both."""
        super().__init__([*first.param_groups, *second.param_groups], {})
        self._pair = first, second
        self._join_states()

    def _join_states(self) -> None:
        first, second = self._pair
        self.state = PairedStates(first.state, second.state)  # type: ignore[assignment]

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """A step of both; `closure` computes the loss and the gradients again."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for optimizer in self._pair:
            optimizer.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The states of both."""
        return {"pair": [optimizer.state_dict() for optimizer in self._pair]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the states of both."""
        for optimizer, state in zip(self._pair, state_dict["pair"], strict=True):
            optimizer.load_state_dict(state)
        self.param_groups = [*self._pair[0].param_groups, *self._pair[1].param_groups]
        self._join_states()


def scaled_lr(config: OptimizerConfig, batch: int) -> float:
    """The learning rate for `batch` examples a step, as `optimizer.lr_scaling` says."""
    ratio = batch / config.lr_batch
    return config.lr * {"none": 1.0, "linear": ratio, "sqrt": math.sqrt(ratio)}[config.lr_scaling]


def optimizer_state_bytes(optimizer: torch.optim.Optimizer) -> int:
    """Bytes of the tensors that `optimizer` keeps next to the parameters; 0 before a step."""
    total = 0
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, Tensor):
                total += value.numel() * value.element_size()
    return total


def learning_rate_factor(
    config: OptimizerConfig, progress: Callable[[], float]
) -> Callable[[int], float]:
    """Factor on `lr` at a step, for `LambdaLR`; `progress` gives the progress of the run, 0 to 1."""
    course = _course(config)

    def factor(step: int) -> float:
        warmup = min(1.0, (step + 1) / (config.warmup_steps + 1))
        return warmup if course is None else warmup * float(course(progress()))

    return factor


def _course(config: OptimizerConfig) -> Callable[[float], float] | None:
    """The schedule of `config`, from the progress of the run to a factor; None: it stays 1."""

    def cosine(progress: float) -> float:
        angle = math.pi * min(1.0, progress / config.decay_share)
        return config.final_lr_share + (1 - config.final_lr_share) * 0.5 * (1 + math.cos(angle))

    if config.schedule == "constant":
        return None
    if config.schedule == "cosine":
        return cosine
    brought = loaded(SCHEDULE_GROUP, config.schedule, "optimizer.schedule")

    def course(progress: float) -> float:
        factor = float(brought(progress))
        if not 0 <= factor < math.inf:
            raise UsageError(
                f"optimizer.schedule={config.schedule}: returned {factor}, not a number from 0 on"
            )
        return factor

    return course


class AdamWBf16(Optimizer):
    """AdamW (Loshchilov & Hutter 2019) with both moments kept in bfloat16: 4 bytes a parameter
    instead of 8.

    The moments are computed in float32 and rounded stochastically when they are stored (Zamirai et
    al. 2020): up or down with the probability that makes the expected value exact. Rounding to the
    nearest would not work. bfloat16 has 8 significant bits. With beta2 = 0.999 a step lowers the
    second moment by at most a 1000th of itself. Rounding would always undo that, so the moment
    could never fall.

    The random draws depend on the seed of torch (`torch.manual_seed`) when the optimizer is made,
    and on the steps it has taken. They neither use nor move torch's own stream. Processes of a
    distributed run with the same seed therefore draw the same, and a resumed run continues with the
    same draws.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        weight_decay: float = 1e-2,
    ) -> None:
        seed = torch.initial_seed() % 2**63
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "eps": 1e-8, "weight_decay": weight_decay, "seed": seed},
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient; `closure` computes the loss and the gradients
        again.
        """
        loss = None if closure is None else torch.enable_grad()(closure)()
        first = self.param_groups[0]
        generator = torch.Generator(first["params"][0].device).manual_seed(first["seed"])
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad.float(), group, generator)
        first["seed"] = (first["seed"] + 1) % 2**63
        return loss

    def _update(
        self, parameter: Tensor, gradient: Tensor, group: dict[str, Any], generator: torch.Generator
    ) -> None:
        state = self.state[parameter]
        if not state:
            zeros = torch.zeros_like(parameter, dtype=torch.bfloat16)
            state.update(step=0, exp_avg=zeros, exp_avg_sq=zeros.clone())
        state["step"] += 1
        beta1, beta2 = group["betas"]
        first = state["exp_avg"].float().lerp_(gradient, 1 - beta1)
        second = (
            state["exp_avg_sq"].float().mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        )
        state["exp_avg"].copy_(rounded_to_bf16(first, generator))
        state["exp_avg_sq"].copy_(rounded_to_bf16(second, generator))
        root = second.sqrt_().div_(math.sqrt(1 - beta2 ** state["step"])).add_(group["eps"])
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(first.div_(root), alpha=-group["lr"] / (1 - beta1 ** state["step"]))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state; torch casts it to the parameters' float32 on the way, which is undone
        here.
        """
        super().load_state_dict(state_dict)
        for state in self.state.values():
            for name in ("exp_avg", "exp_avg_sq"):
                state[name] = state[name].to(torch.bfloat16)


def rounded_to_bf16(x: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """float32 `x` in bfloat16, each value rounded up or down, more likely to the nearer one.
    Infinity and NaN stay.
    """
    # bfloat16 is the upper half of float32: noise in the lower half carries as often as the lower
    # half is large.
    noise = torch.empty_like(x, dtype=torch.int32)
    noise.random_(0, 2**16, generator=generator)
    upper_half = (x.view(torch.int32) + noise) & -(2**16)
    rounded = upper_half.view(torch.float32)
    return torch.where(x.isfinite(), rounded, x).to(torch.bfloat16)


def skips_itself(optimizer: Optimizer, device: torch.device) -> bool:
    """Whether a step is one kernel that skips itself by `found_inf`, so that nothing waits.

    The kernel of SGD would begin its momentum with uninitialised memory, and those of mps do not
    check.
    """
    fused = type(optimizer) is torch.optim.AdamW and bool(optimizer.defaults["fused"])
    return fused and device.type != "mps"


class StateBefore:
    """The parameters and the state of an optimizer before a step, to be restored on the device.

    Counts that an optimizer keeps on the host go on.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._copies = {key: tensor.clone() for key, tensor in updated_by(optimizer).items()}

    @torch.no_grad()
    def restore_unless(self, finite: Tensor) -> None:
        """Restore all tensors if `finite` `[]` is False; those that the step has made become 0."""
        for key, tensor in updated_by(self._optimizer).items():
            if tensor.device == finite.device:
                before = self._copies.get(key, tensor.new_zeros(()))
                tensor.copy_(torch.where(finite, tensor, before))


def updated_by(optimizer: Optimizer) -> dict[tuple[int, str], Tensor]:
    """The parameters of `optimizer` and the tensors of its state, each by its parameter and its
    name there: a step may put another tensor in its place.
    """
    result: dict[tuple[int, str], Tensor] = {}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            result[id(parameter), ""] = parameter
    for parameter, state in optimizer.state.items():
        for name, value in state.items():
            if isinstance(value, Tensor):
                result[id(parameter), name] = value
    return result


class RunningAverage(nn.Module):
    """Exponential moving average of the weights and buffers of a network; the first update copies
    them.

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

    def follow(self, net: nn.Module, parameters: FlatParameters) -> None:
        """Average `net`, whose `parameters` are flat, from now on; both stay on their device."""
        self._begun = bool(self.n_averaged)
        pairs = list(zip(FlatParameters(self.module).flat, parameters.flat, strict=True))
        self._others: list[tuple[Tensor, Tensor]] = []
        for averaged, current in zip(self.module.buffers(), net.buffers(), strict=True):
            same_kind = pairs if averaged.is_floating_point() else self._others
            same_kind.append((averaged, current))
        self._floats = [list(tensors) for tensors in zip(*pairs, strict=True)]

    @torch.no_grad()
    def update(self) -> None:
        """Add the present weights."""
        averaged, current = self._floats
        if self._begun:
            torch._foreach_lerp_(averaged, current, 1 - self._decay)
        else:
            torch._foreach_copy_(averaged, current)
        for own, other in self._others:
            own.copy_(other)
        self.n_averaged += 1
        self._begun = True
