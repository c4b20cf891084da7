"""The one place that finds out which devices exist."""

import contextlib
import logging
import os
import platform
from typing import Any

import torch

from hexlit.accelerate.config import DEVICES
from hexlit.accelerate.memory import is_oom_message
from hexlit.accelerate.nvml import Nvml
from hexlit.errors import UsageError
from hexlit.settings import check_word

log = logging.getLogger(__name__)


def choose_device(
    requested: str | torch.device = "auto", card: int = 0, *, shares_a_study: bool = False
) -> torch.device:
    """The device to work on, tested with a small product first.

    `cuda`, `cuda:0` and `torch.device("cuda")` all give `torch.device("cuda:0")`, unless `card` is
    another number. `auto` takes the first existing one of cuda, mps and cpu. If its test fails, it
    takes the cpu and one warning gives the reason.

    Args:
        requested: its name.
        card: number of the cuda device where the name has none.
        shares_a_study: the results of this run are compared with others, so it does not evade a
            full device.

    Raises:
        UsageError: a device named explicitly is missing or fails its test; the message names what
            to do. Or a run that shares a study has no memory on its device.
    """
    name = str(requested)
    check_word("accelerator.device", name, DEVICES)
    cuda = torch.device("cuda", card)
    if name == "auto":
        device = next(
            (one for one in (cuda, torch.device("mps")) if not why_missing(one)),
            torch.device("cpu"),
        )
    else:
        device = cuda if name == "cuda" else torch.device(name)
        if reason := why_missing(device):
            raise UsageError(f"accelerator.device={name}: {reason}")
    if name == "auto" and device.type == "cpu":
        warn_of_unused_card()
        return device
    failure = trial_failure(device)
    if not failure:
        return device
    if name != "auto":
        reason = f"the device is there but fails a small matrix product ({failure})"
        raise UsageError(
            f"accelerator.device={name}: {reason}; check its driver or use accelerator.device=cpu"
        )
    if shares_a_study and is_oom_message(failure):
        raise UsageError(
            f"accelerator.device=auto: {device} has no memory left for this trial ({failure})"
        )
    why = "accelerator.device=auto: %s fails a small matrix product (%s); continuing with cpu"
    log.warning(why, device, failure)
    return torch.device("cpu")


def warn_of_unused_card() -> None:
    """Warn of a card of this machine that this torch cannot use: it was built without CUDA, or for
    a newer driver.
    """
    with contextlib.closing(Nvml(os.environ.get("CUDA_VISIBLE_DEVICES"))) as driver:
        names = driver.names()
    if names:
        built = f"for CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"
        log.warning(
            "accelerator.device=auto: %s with driver %s is not used, as this torch (%s) is built %s; "
            "pytorch.org/get-started has others, cu126 for older drivers and cards; continuing with cpu",
            names[0],
            driver.driver,
            torch.__version__,
            built,
        )


def cuda_devices() -> list[torch.device]:
    """The cuda devices that this process sees; none without any."""
    return [torch.device("cuda", number) for number in range(torch.cuda.device_count())]


def as_current(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Make `device` the default cuda device of one thread inside a `with` statement; a thread
    begins with card 0.
    """
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()


def why_missing(device: torch.device) -> str:
    """Why `device` cannot be used on this machine, and what to do; empty if it can be used."""
    version = torch.__version__
    if device.type == "cuda":
        if torch.version.cuda is None and torch.version.hip is None:
            return f"this torch ({version}) is built without CUDA; see pytorch.org/get-started, or use the cpu"
        if not torch.cuda.is_available():
            return "no CUDA device or driver is found; see `nvidia-smi` and CUDA_VISIBLE_DEVICES, or use the cpu"
        count = torch.cuda.device_count()
        few = f"this machine has {count} CUDA device(s); the last is cuda:{count - 1}"
        return few if (device.index or 0) >= count else ""
    if device.type != "mps":
        return ""
    if torch.backends.mps.is_available():
        return _why_lightning_refuses_mps()
    if not torch.backends.mps.is_built():
        return f"this torch ({version}) is built without MPS, which torch for Apple silicon has; use the cpu"
    return "no MPS device is found; it needs Apple silicon and macOS 14 or later, else use accelerator.device=cpu"


def _why_lightning_refuses_mps() -> str:
    """Why Lightning does not take the MPS device that torch has; empty if it does."""
    if os.environ.get("DISABLE_MPS") == "1":
        return "DISABLE_MPS=1 turns it off; unset it, or use the cpu"
    if platform.processor() not in ("arm", "arm64"):
        return "this Python is not one for Apple silicon; use the cpu, or a Python built for arm64"
    return ""


def trial_failure(device: torch.device) -> str:
    """The error when `device` multiplies two small matrices; empty if the product equals the CPU's.

    The factors are small whole numbers, which every inner precision (TF32 too) multiplies exactly.
    """
    generator = torch.Generator().manual_seed(0)
    left = torch.randint(-4, 5, (64, 64), generator=generator).float()
    right = torch.randint(-4, 5, (64, 64), generator=generator).float()
    try:
        product = (left.to(device) @ right.to(device)).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = " ".join(str(error).split())
        return reason[:200] or type(error).__name__
    difference = (product - left @ right).abs().max().item()
    return "" if difference < 1e-3 else f"its product differs from the CPU's by {difference:.3g}"
