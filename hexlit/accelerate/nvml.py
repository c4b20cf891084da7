"""Devices of NVIDIA as their driver reports them, without a CUDA context; what it cannot read has its reason."""

import contextlib
import platform
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pynvml

T = TypeVar("T")

NO_DRIVER = "no NVIDIA driver"
ROOT_PID_NAMESPACE = 0xEFFFFFFC
"""Inode of Linux's first PID namespace; in a container, /proc/self/ns/pid has another."""


@dataclass(frozen=True)
class DeviceReading:
    """Figures of one device at one instant; a None has its reason in `reasons`, by field."""

    name: str | None
    utilisation: float | None
    """Share of the driver's last sampling period (up to a second) with a running kernel, 0 to 1, of any process."""
    used_bytes: int | None
    """Memory in use by all processes and the driver itself."""
    total_bytes: int | None
    process_bytes: int | None
    """Memory of the requested processes."""
    reasons: dict[str, str] = field(default_factory=dict)


class Nvml:
    """The driver, and those of its devices that a process with a given CUDA_VISIBLE_DEVICES sees.

    It makes no CUDA context, so it takes no memory of a device. Indices follow the driver's order. CUDA uses the same
    order if the cards are alike or CUDA_DEVICE_ORDER is PCI_BUS_ID.

    Attributes:
        reason: why no device is read; empty if at least one is.
        driver: version of the driver, None if it cannot be read, or there is none.

    Args:
        visible: the value of CUDA_VISIBLE_DEVICES, None if it is not set.
    """

    def __init__(self, visible: str | None = None) -> None:
        self.driver: str | None = None
        self.reason = ""
        self._handles: list[Any] = []
        self._is_open = False
        try:
            pynvml.nvmlInit()
            self._is_open = True
            self.driver = str(pynvml.nvmlSystemGetDriverVersion())
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            self.reason = why_not_read(error)
            return
        names = map(str, range(count)) if visible is None else (word.strip() for word in visible.split(","))
        for name in names:
            try:
                if name.isdecimal():
                    self._handles.append(pynvml.nvmlDeviceGetHandleByIndex(int(name)))
                else:
                    self._handles.append(pynvml.nvmlDeviceGetHandleByUUID(name))
            except pynvml.NVMLError:
                break  # as CUDA reads its variable: the first entry that names no device hides all following ones
        if not self._handles:
            hidden = f"CUDA_VISIBLE_DEVICES={visible} hides every device"
            self.reason = hidden if count else "the NVIDIA driver sees no device"

    def read(self, pids: Collection[int] = ()) -> list[DeviceReading]:
        """The figures of every visible device, in the order of CUDA_VISIBLE_DEVICES."""
        return [_reading(handle, pids) for handle in self._handles]

    def close(self) -> None:
        """Release the driver; no device can be read afterwards."""
        if self._is_open:
            with contextlib.suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()
        self._is_open, self._handles, self.reason = False, [], self.reason or "closed"


def _reading(handle: Any, pids: Collection[int]) -> DeviceReading:
    reasons: dict[str, str] = {}

    def ask(name: str, question: Callable[[Any], T]) -> T | None:
        try:
            return question(handle)
        except pynvml.NVMLError as error:
            reasons[name] = why_not_read(error)
            return None

    memory = ask("used_bytes", pynvml.nvmlDeviceGetMemoryInfo)
    running = ask("process_bytes", pynvml.nvmlDeviceGetComputeRunningProcesses)
    held = [process.usedGpuMemory for process in running or () if process.pid in pids]
    # In a container processes have other numbers than in the driver, so that a missing one proves nothing.
    if running is not None and (None in held or (not held and _in_container())):
        reasons["process_bytes"] = "the driver does not tell the memory of these processes"
    return DeviceReading(
        name=ask("name", lambda device: str(pynvml.nvmlDeviceGetName(device))),
        utilisation=ask("utilisation", lambda device: int(pynvml.nvmlDeviceGetUtilizationRates(device).gpu) / 100),
        used_bytes=None if memory is None else int(memory.used),
        total_bytes=None if memory is None else int(memory.total),
        process_bytes=None if "process_bytes" in reasons else sum(map(int, held)),
        reasons=reasons,
    )


def why_not_read(error: Exception) -> str:
    """The words of the driver for one of its errors."""
    if type(error).__name__ != "NVMLError_LibraryNotFound":
        return " ".join(str(error).split())
    return f"{NO_DRIVER}; on a Mac only the process itself knows" if platform.system() == "Darwin" else NO_DRIVER


def _in_container() -> bool:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino != ROOT_PID_NAMESPACE
    except OSError:
        return False
