"""The one place that compiles a network for training; it tries the result before relying on it."""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from hexlit.accelerate.memory import is_out_of_memory
from hexlit.accelerate.profile import DeviceProfile

log = logging.getLogger(__name__)


def autocast(profile: DeviceProfile) -> torch.autocast:
    """The context of a training's forward pass; with `32-true` it does nothing."""
    dtype = torch.bfloat16 if profile.precision == "bf16-mixed" else torch.float16
    return torch.autocast(
        profile.device.type,
        dtype=dtype,
        enabled=profile.precision != "32-true",
        cache_enabled=False,
    )


@contextmanager
def unchanged(net: nn.Module) -> Iterator[None]:
    """Restore, at the end of the block, the buffers of `net` and the random numbers of torch and of
    its device, and drop gradients.
    """
    buffers = [buffer.clone() for buffer in net.buffers()]
    device = next(net.parameters()).device
    cards = [device] if device.type == "cuda" else []
    draws = torch.mps.get_rng_state() if device.type == "mps" else None
    try:
        with torch.random.fork_rng(devices=cards):
            yield
    finally:
        if draws is not None:
            torch.mps.set_rng_state(draws)
        net.zero_grad()
        with torch.no_grad():
            for buffer, before in zip(net.buffers(), buffers, strict=True):
                buffer.copy_(before)


def compile_for_training(
    net: nn.Module, profile: DeviceProfile, trial: Callable[[], Tensor], *, dynamic: bool = False
) -> float | None:
    """Compile `net` in place, which keeps the names of its weights, and try it.

    `dynamic` compiles one kernel for inputs of any shape; without it every shape has its own.

    `trial()` runs `net` on a batch of the coming size and returns a loss; its forward and backward
    pass are compiled. Weights, buffers and torch's random numbers stay as they were. If compiling
    fails, or changes the loss or its gradient, one warning gives the reason and the network stays
    uncompiled.

    Returns:
        Seconds of compiling; None if it failed.

    Raises:
        RuntimeError, MemoryError: memory cannot hold that batch, which is no fault of the compiler.
    """
    started = time.monotonic()
    eager = _loss_and_gradient(net, profile, trial)
    net.compile(mode=profile.config.compile_mode, dynamic=dynamic)
    try:
        compiled = _loss_and_gradient(net, profile, trial)
        if not math.isclose(compiled[0], eager[0], rel_tol=LOSS_TOLERANCE, abs_tol=1e-3):
            raise ArithmeticError(f"its loss is {compiled[0]:.4g}, uncompiled {eager[0]:.4g}")
        if not math.isclose(compiled[1], eager[1], rel_tol=GRADIENT_TOLERANCE, abs_tol=1e-3):
            raise ArithmeticError(
                f"the norm of its gradient is {compiled[1]:.4g}, uncompiled {eager[1]:.4g}"
            )
    except Exception as error:  # a compiler can fail in any way, with the same consequence
        if is_out_of_memory(error):
            raise
        net._compiled_call_impl = None
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        log.warning(
            "accelerator.compile=true: torch.compile fails here (%s); continuing without it", why
        )
        return None
    return time.monotonic() - started


LOSS_TOLERANCE, GRADIENT_TOLERANCE = 0.05, 0.25
"""Largest difference of a compiled network, as a share: dropout draws otherwise there."""


def _loss_and_gradient(
    net: nn.Module, profile: DeviceProfile, trial: Callable[[], Tensor]
) -> tuple[float, float]:
    """The loss of `trial()`, and the norm of its gradient; nothing of `net` changes."""
    with unchanged(net):
        with autocast(profile):
            loss = trial()
        loss.backward()  # type: ignore[no-untyped-call]
        gradients = [p.grad for p in net.parameters() if p.grad is not None]
        return float(loss.detach()), float(get_total_norm(gradients))
