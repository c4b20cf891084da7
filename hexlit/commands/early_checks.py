"""Refusals that cost no import: a network or a device that is not there, reported before torch is
loaded.
"""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hexlit.errors import UsageError
from hexlit.tasks.hex.packaged import network_file

DEVICE_FILES = Path("/dev")
_DRIVERS = ("nvidiactl", "nvidia0", "nvmap", "nvhost-ctrl", "dxg", "kfd")
"""Files there of drivers for cuda: of NVIDIA's cards and boards, of Windows' subsystem, and of
AMD.
"""


def refuse_missing(settings: Any) -> None:
    """Refuse the network `checkpoint` and the device of `accelerator` where `settings` have them
    and this machine not.

    Raises:
        UsageError: one of them is surely missing. What seems to be there is tested when it is
            loaded.
    """
    checkpoint = getattr(settings, "checkpoint", None)
    # What has ended needs no network any more.
    resumed = getattr(settings, "resume", None) is not None
    if isinstance(checkpoint, str) and not resumed:
        network_file(checkpoint)
    accelerator = getattr(settings, "accelerator", None)
    # The machines of a cluster may have it.
    if accelerator is None or getattr(settings, "where", "here") != "here":
        return
    if reason := why_surely_missing(accelerator.device):
        raise UsageError(f"accelerator.device={accelerator.device}: {reason}")


def why_surely_missing(device: str) -> str:
    """Why this machine cannot have `device`, and what to do; empty where only torch knows."""
    kind = device.partition(":")[0]
    try:
        torch = version("torch")
    except PackageNotFoundError:  # the import reports it
        return ""
    if kind == "cuda" and torch.endswith("+cpu"):
        return f"this torch ({torch}) is built without CUDA; see pytorch.org/get-started, or use the cpu"
    if kind == "cuda" and sys.platform == "darwin":
        return "macOS has no CUDA; use accelerator.device=mps or the cpu"
    if (
        kind == "cuda"
        and sys.platform == "linux"
        and not any((DEVICE_FILES / name).exists() for name in _DRIVERS)
    ):
        return "no CUDA device or driver is found; see `nvidia-smi`, or use the cpu"
    if kind == "mps" and sys.platform != "darwin":
        return "no MPS device is found; it needs Apple silicon and macOS 14 or later, else use accelerator.device=cpu"
    return ""
