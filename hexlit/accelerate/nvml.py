"""NVIDIA's driver: memory, load and names of the devices that a process sees.

It imports no torch, so that light commands can use it.
"""

import contextlib
import platform
from collections.abc import Callable, Collection
from itertools import compress
from statistics import fmean
from typing import Any

import pynvml

from hexlit.accelerate.host import pid_namespace

ROOT_PID_NAMESPACE = 0xEFFFFFFC
"""Inode of Linux's first PID namespace; in a container, /proc/self/ns/pid has another."""


class Nvml:
    """The driver, and those of its devices that a process with a given CUDA_VISIBLE_DEVICES sees.

    It makes no CUDA context, so it takes no memory of a device. Indices follow the driver's order.
    CUDA uses the same order if the cards are alike or CUDA_DEVICE_ORDER is PCI_BUS_ID.

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
        try:
            pynvml.nvmlInit()
            self.driver = str(pynvml.nvmlSystemGetDriverVersion())
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            self.reason = why_not_read(error)
            return
        names = (
            map(str, range(count))
            if visible is None
            else (word.strip() for word in visible.split(","))
        )
        by_index, by_uuid = pynvml.nvmlDeviceGetHandleByIndex, pynvml.nvmlDeviceGetHandleByUUID
        # As CUDA reads its variable: the first entry that names no device hides all following ones.
        with contextlib.suppress(pynvml.NVMLError):
            for name in names:
                self._handles.append(by_index(int(name)) if name.isdecimal() else by_uuid(name))
        if not self._handles:
            hidden = f"the NVIDIA driver knows none of the devices {visible!r}"
            self.reason = hidden if count else "the NVIDIA driver sees no device"

    def names(self) -> list[str]:
        """The names of the visible devices, in the order of CUDA_VISIBLE_DEVICES; empty where the
        driver fails.
        """
        return self._per_device(pynvml.nvmlDeviceGetName)[0]

    def free_bytes(self) -> list[int]:
        """Free memory of every visible device, in their order; empty where the driver does not
        report it.
        """
        return [
            int(one.total) - int(one.used)
            for one in self._per_device(pynvml.nvmlDeviceGetMemoryInfo)[0]
        ]

    def _per_device(self, question: Callable[[Any], Any]) -> tuple[list[Any], str]:
        """The answer of every visible device; or none, and the reason."""
        try:
            return [question(handle) for handle in self._handles], self.reason
        except pynvml.NVMLError as error:
            return [], why_not_read(error)

    def usage(self, pids: Collection[int]) -> tuple[int | None, float | None, dict[str, str]]:
        """Memory of the processes `pids` in bytes, the utilisation of their devices, and the
        reasons of missing ones.

        The utilisation is that of the driver's last sampling period (up to a second).
        """
        running, no_bytes = self._per_device(pynvml.nvmlDeviceGetComputeRunningProcesses)
        rates, no_rates = self._per_device(pynvml.nvmlDeviceGetUtilizationRates)
        held: list[list[Any]] = []
        for processes in running:
            memory = [process.usedGpuMemory for process in processes if process.pid in pids]
            held.append(memory)
        # In a container processes have other numbers than in the driver: a missing one proves
        # nothing.
        renumbered = pid_namespace() not in (0, ROOT_PID_NAMESPACE)
        if any(None in memory or (renumbered and not memory) for memory in held):
            no_bytes = "the driver does not report the memory of these processes"
        busy = [int(rate.gpu) / 100 for rate in rates]
        used = [*compress(busy, map(any, held))] or busy
        reasons = {"device_bytes": no_bytes, "device_utilisation": no_rates}
        figures = None if no_bytes else sum(map(sum, held)), None if no_rates else fmean(used)
        return *figures, {name: why for name, why in reasons.items() if why}

    def close(self) -> None:
        """Release the driver; no device can be read afterwards."""
        with contextlib.suppress(pynvml.NVMLError):  # it was never open
            pynvml.nvmlShutdown()


def why_not_read(error: Exception) -> str:
    """The words of the driver for one of its errors."""
    if type(error).__name__ != "NVMLError_LibraryNotFound":
        return " ".join(str(error).split())
    on_mac = "; on a Mac only the process itself knows" if platform.system() == "Darwin" else ""
    return f"no NVIDIA driver{on_mac}"
