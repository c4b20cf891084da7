"""The one place where a network is compiled for training, tried before it is relied on."""

import contextlib
import logging
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from hexlit.accelerate.memory import is_out_of_memory
from hexlit.accelerate.profile import DeviceProfile

log = logging.getLogger(__name__)

PRECISION_DTYPES = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


def autocast(profile: DeviceProfile) -> contextlib.AbstractContextManager[object]:
    """The context in which a forward pass of training runs; with `32-true` it does nothing."""
    dtype = PRECISION_DTYPES.get(profile.precision)
    if dtype is None:
        return contextlib.nullcontext()
    return torch.autocast(profile.device.type, dtype=dtype, cache_enabled=False)


def compile_for_training(net: nn.Module, profile: DeviceProfile, trial: Callable[[], Tensor]) -> float | None:
    """Compile `net` in place, which keeps the names of its weights, and try it.

    `trial()` runs `net` on a batch of the size to come and returns a loss; its forward and backward pass are what is
    compiled. Weights, buffers and torch's random numbers are left as they were. Where compiling fails, one warning
    says why and the network stays as it is.

    Returns:
        Seconds that compiling took; None where it failed.

    Raises:
        RuntimeError, MemoryError: memory does not hold that batch, which says nothing of the compiler.
    """
    buffers = [buffer.clone() for buffer in net.buffers()]
    random_state = torch.get_rng_state()
    started = time.monotonic()
    failure: str | None = None
    net.compile(mode=profile.compile_mode, dynamic=False)
    try:
        with autocast(profile):
            loss = trial()
        loss.backward()  # type: ignore[no-untyped-call]
    except Exception as error:  # a compiler can fail in any way, and each is the same news
        if is_out_of_memory(error):
            raise
        failure = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        net._compiled_call_impl = None
    finally:
        for parameter in net.parameters():
            parameter.grad = None
        with torch.no_grad():
            for buffer, before in zip(net.buffers(), buffers, strict=True):
                buffer.copy_(before)
        torch.set_rng_state(random_state)
    if failure is None:
        return time.monotonic() - started
    log.warning("accelerator.compile=true: torch.compile fails here (%s); continuing without it", failure)
    return None
