"""Readings of the NVIDIA driver, and the reasons for missing ones."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hexlit.accelerate import nvml
from hexlit.accelerate.memory import nvml_of
from hexlit.accelerate.nvml import Nvml

GIB = 2**30


class NVMLError(Exception):
    pass


class NVMLError_LibraryNotFound(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_GpuIsLost(NVMLError):  # noqa: N801, N818
    pass


class Driver:
    """Stands for the module pynvml: two cards; processes 7 and 8 hold memory on them."""

    NVMLError = NVMLError

    def __init__(self, cards: int = 2) -> None:
        self.cards = cards
        self.open = 0
        self.held: list[tuple[int, int | None]] = [(7, 3 * GIB), (8, 1 * GIB)]

    def nvmlInit(self) -> None:  # noqa: N802
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "580.65"

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return self.cards

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        if index >= self.cards:
            raise NVMLError("Invalid Argument")
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:  # noqa: N802
        known = {"MIG-5555": 5, "GPU-11aa-bb": 1}
        if uuid not in known:
            raise NVMLError("Not Found")
        return known[uuid]

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        return f"Card {handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(used=5 * GIB, total=80 * GIB)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(gpu=25 * (handle + 1))

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:  # noqa: N802
        return (
            [SimpleNamespace(pid=pid, usedGpuMemory=memory) for pid, memory in self.held]
            if handle == 0
            else []
        )


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*arguments: object) -> None:
        raise error

    return fail


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(nvml, "pynvml", made)
    monkeypatch.setattr(nvml, "pid_namespace", lambda: nvml.ROOT_PID_NAMESPACE)
    return made


def test_the_driver_tells_the_memory_of_processes_and_how_busy_the_devices_are_that_hold_it(
    driver: Driver,
) -> None:
    assert Nvml().usage({7, 99}) == (3 * GIB, 0.25, {})
    assert Nvml().usage({7, 8}) == (4 * GIB, 0.25, {})
    assert Nvml().usage({99}) == (0, 0.375, {})
    assert (Nvml().driver, Nvml().free_bytes()) == ("580.65", [75 * GIB] * 2)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, ["Card 0", "Card 1"]),
        ("1, 0", ["Card 1", "Card 0"]),
        ("", []),
        ("0,-1,1", ["Card 0"]),
        ("1,7,0", ["Card 1"]),
        ("GPU-11aa-bb,0", ["Card 1", "Card 0"]),
        ("GPU-", []),
        ("MIG-5555", ["Card 5"]),
        ("NoDevFiles", []),
    ],
)
def test_the_devices_are_those_that_cuda_visible_devices_leaves(
    visible: str | None, expected: list[str], driver: Driver
) -> None:
    assert Nvml(visible).names() == expected
    hidden = f"the NVIDIA driver knows none of the devices {visible!r}"
    assert Nvml(visible).reason == ("" if expected else hidden)


def test_a_run_reads_the_one_card_it_works_on(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch writes its UUID without GPU-."""
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="11aa-bb")
    )
    card = nvml_of(torch.device("cuda:0"))
    assert card is not None
    assert card.names() == ["Card 1"]
    assert nvml_of(torch.device("cpu")) is None


@pytest.mark.parametrize(
    ("system", "error", "said"),
    [
        ("Linux", NVMLError_LibraryNotFound("not found"), "no NVIDIA driver"),
        (
            "Darwin",
            NVMLError_LibraryNotFound("not found"),
            "no NVIDIA driver; on a Mac only the process itself knows",
        ),
        ("Linux", NVMLError("odd\n thing"), "odd thing"),
    ],
)
def test_without_a_driver_there_is_a_reason_and_no_exception(
    system: str, error: Exception, said: str, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.cards = 0
    assert Nvml().reason == "the NVIDIA driver sees no device"
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr(driver, "nvmlInit", raising(error))
    found = Nvml()
    assert (found.reason, found.driver, found.free_bytes()) == (said, None, [])
    assert found.usage({7}) == (None, None, {"device_bytes": said, "device_utilisation": said})
    found.close()


def test_a_figure_that_a_device_does_not_tell_is_none_with_its_reason(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never 0."""
    monkeypatch.setattr(
        driver, "nvmlDeviceGetUtilizationRates", raising(NVMLError_NotSupported("Not Supported"))
    )
    monkeypatch.setattr(
        driver, "nvmlDeviceGetMemoryInfo", raising(NVMLError_GpuIsLost("GPU is lost"))
    )
    driver.held = [(7, None)]
    unknown = "the driver does not report the memory of these processes"
    assert Nvml().usage({7}) == (
        None,
        None,
        {"device_utilisation": "Not Supported", "device_bytes": unknown},
    )
    assert Nvml().free_bytes() == []


def test_in_a_container_a_process_that_is_not_named_holds_an_unknown_amount(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver may name processes by the numbers they have outside."""
    monkeypatch.setattr(nvml, "pid_namespace", lambda: 1)
    assert Nvml("0").usage({7})[0] == 3 * GIB
    held, _, reasons = Nvml("0").usage({1})
    assert (held, reasons) == (
        None,
        {"device_bytes": "the driver does not report the memory of these processes"},
    )
