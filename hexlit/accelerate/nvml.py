"""The NVIDIA driver's report on its devices, through NVML. It makes no CUDA context, so it takes no memory there."""

import contextlib
import platform
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

NO_DRIVER = "no NVIDIA driver"
ROOT_PID_NAMESPACE = 0xEFFFFFFC
"""Inode of Linux's first PID namespace; in a container, /proc/self/ns/pid has another."""


@dataclass(frozen=True)
class DeviceReading:
    """Figures of one device at one instant. None is "could not be read", and `reasons` says why, by field."""

    name: str | None
    uuid: str | None
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

    Indices follow the driver's order. CUDA uses the same order if the cards are alike or CUDA_DEVICE_ORDER is
    PCI_BUS_ID.

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
        self._library: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            self._library = pynvml
            self.driver = _text(pynvml.nvmlSystemGetDriverVersion())
            handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
            self._handles = self._visible(handles, visible)
        except Exception as error:
            self.reason = why_not_read(error)
            return
        if not handles:
            self.reason = "the NVIDIA driver sees no device"
        elif not self._handles:
            self.reason = f"CUDA_VISIBLE_DEVICES={visible} hides every device"

    @property
    def devices(self) -> int:
        """Number of readable devices."""
        return len(self._handles)

    def read(self, pids: Collection[int] = ()) -> list[DeviceReading]:
        """The figures of every visible device, in the order of CUDA_VISIBLE_DEVICES."""
        return [self._read(handle, pids) for handle in self._handles]

    def close(self) -> None:
        """Release the driver; no device can be read afterwards."""
        if self._library is not None:
            with contextlib.suppress(self._library.NVMLError):
                self._library.nvmlShutdown()
        self._library, self._handles = None, []
        self.reason = self.reason or "closed"

    def _visible(self, handles: list[Any], visible: str | None) -> list[Any]:
        """As CUDA reads its variable: the first entry that names no device hides itself and all following ones."""
        if visible is None:
            return handles
        uuids = [_text(self._library.nvmlDeviceGetUUID(handle)) for handle in handles]
        result: dict[str, Any] = {}
        for entry in visible.split(","):
            name = entry.strip()
            if name.startswith("MIG-"):
                try:
                    result[name] = self._library.nvmlDeviceGetHandleByUUID(name)
                except self._library.NVMLError:
                    break
                continue
            if name.isdecimal():
                matches = [int(name)] if int(name) < len(handles) else []
            else:
                matches = [i for i, uuid in enumerate(uuids) if name.startswith("GPU-") and uuid.startswith(name)]
            if len(matches) != 1:
                break
            result[uuids[matches[0]]] = handles[matches[0]]
        return list(result.values())

    def _read(self, handle: Any, pids: Collection[int]) -> DeviceReading:
        library, reasons = self._library, dict[str, str]()

        def ask(fields: tuple[str, ...], question: Callable[[], T]) -> T | None:
            try:
                return question()
            except Exception as error:
                reasons.update(dict.fromkeys(fields, why_not_read(error)))
                return None

        memory = ask(("used_bytes", "total_bytes"), lambda: library.nvmlDeviceGetMemoryInfo(handle))
        held = ask(("process_bytes",), lambda: library.nvmlDeviceGetComputeRunningProcesses(handle))
        process_bytes, why = (None, "") if held is None else _held_bytes(held, pids)
        if why:
            reasons["process_bytes"] = why
        return DeviceReading(
            name=ask(("name",), lambda: _text(library.nvmlDeviceGetName(handle))),
            uuid=ask(("uuid",), lambda: _text(library.nvmlDeviceGetUUID(handle))),
            utilisation=ask(("utilisation",), lambda: int(library.nvmlDeviceGetUtilizationRates(handle).gpu) / 100),
            used_bytes=None if memory is None else int(memory.used),
            total_bytes=None if memory is None else int(memory.total),
            process_bytes=process_bytes,
            reasons=reasons,
        )


def why_not_read(error: Exception) -> str:
    """The meaning of an NVML error, in a few words."""
    meanings = {
        "NVMLError_LibraryNotFound": NO_DRIVER,
        "NVMLError_DriverNotLoaded": "the NVIDIA driver is not loaded",
        "NVMLError_LibRmVersionMismatch": "the NVIDIA driver was updated; restart the machine",
        "NVMLError_NotSupported": "not supported by this device",
        "NVMLError_FunctionNotFound": "not supported by this driver",
        "NVMLError_NoPermission": "no permission",
        "NVMLError_GpuIsLost": "the device is lost; restart the machine",
    }
    kind = type(error).__name__
    if kind in ("ModuleNotFoundError", "ImportError"):
        return "the package nvidia-ml-py is not installed"
    message = " ".join(str(error).split())
    reason = meanings.get(kind) or (f"{kind}: {message}" if message else kind)
    if reason == NO_DRIVER and platform.system() == "Darwin":
        return f"{NO_DRIVER}; on a Mac only the process itself knows"
    return reason


def _held_bytes(processes: list[Any], pids: Collection[int]) -> tuple[int | None, str]:
    """Memory of `processes` that are among `pids`, in bytes; or the reason why it is not known."""
    held = [process.usedGpuMemory for process in processes if process.pid in pids]
    if any(memory is None for memory in held):
        return None, "the driver does not tell the memory of single processes"
    if not held and _in_container():
        return None, "the driver names none of this container's processes"
    return sum(map(int, held)), ""


def _in_container() -> bool:
    """Whether processes have other numbers here than in the driver, so that a missing one proves nothing."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino != ROOT_PID_NAMESPACE
    except OSError:
        return False


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
