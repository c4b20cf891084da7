"""Facts about a device's memory, on machines that are not here."""

import pytest
import torch

from hexlit.accelerate.machine import ResourceSample
from hexlit.accelerate.memory import (
    GIB,
    DeviceGauge,
    is_out_of_memory,
    peak_bytes,
    set_memory_cap,
    total_and_free_bytes,
)
from hexlit.errors import UsageError

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda:0"), torch.device("mps")


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A card of 8 GiB; the cap it was given."""
    caps: dict[str, float] = {}
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 300)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (5 * GIB, 8 * GIB))
    monkeypatch.setattr(
        torch.cuda, "set_per_process_memory_fraction", lambda share, device: caps.update(cuda=share)
    )
    return caps


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A Mac that recommends 16 GiB; the cap it was given."""
    caps: dict[str, float] = {}
    monkeypatch.setattr(torch.mps, "driver_allocated_memory", lambda: 4 * GIB)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 16 * GIB)
    monkeypatch.setattr(
        torch.mps, "set_per_process_memory_fraction", lambda share: caps.update(mps=share)
    )
    return caps


def test_figures_of_each_device_are_numbers_or_none_with_the_reason(
    card: dict[str, float], mac: dict[str, float]
) -> None:
    """Never 0 where nothing could be read."""
    assert peak_bytes(CUDA) == 300
    assert peak_bytes(MPS) == 4 * GIB
    assert peak_bytes(CPU) is None
    assert total_and_free_bytes(CUDA) == (8 * GIB, 5 * GIB)
    assert total_and_free_bytes(MPS) == (16 * GIB, 12 * GIB)


def test_a_cap_is_a_share_of_what_the_device_has(
    card: dict[str, float], mac: dict[str, float]
) -> None:
    set_memory_cap(CUDA, 2)
    set_memory_cap(MPS, 4)
    assert (card, mac) == ({"cuda": 0.25}, {"mps": 0.25})
    with pytest.raises(UsageError, match=r"accelerator.memory_cap=9: cuda:0 has 8 GiB"):
        set_memory_cap(CUDA, 9)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("MPS backend out of memory (MPS allocated: 18.01 GB, max allowed: 18.13 GB)"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory"
        ),
        RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"),
        RuntimeError("GET was unable to find an engine to execute this computation"),
        RuntimeError(
            "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"
        ),
        MemoryError(),
    ],
    ids=lambda error: str(error)[:20],
)
def test_what_each_backend_says_of_full_memory_is_understood(error: BaseException) -> None:
    assert is_out_of_memory(error)


def test_real_full_memory_of_the_host_is_understood() -> None:
    """More than any machine has."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 46)
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA error: device-side assert"),
        RuntimeError(
            "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasSgemm(handle)`"
        ),
        ValueError("out of memory"),
    ],
)
def test_other_errors_are_not(error: BaseException) -> None:
    assert not is_out_of_memory(error)


def test_the_utilisation_of_a_cpu_follows_from_its_processor_time() -> None:
    """It has no memory of its own, which is said."""
    utilisation, peak, reasons = DeviceGauge(CPU, threads=2).read(
        started=5.0, seconds=10.0, cpu_seconds=15.0
    )
    assert (utilisation, peak, set(reasons)) == (0.75, None, {"peak_device_bytes"})
    assert DeviceGauge(CPU, 1).read(5.0, 1.0, 2.0)[0] == 1.0


def test_that_of_cuda_is_sampled_in_the_time_that_is_asked_for(
    card: dict[str, float], mac: dict[str, float]
) -> None:
    asked: list[tuple[float, float]] = []

    def sampled(start: float, end: float) -> ResourceSample:
        asked.append((start, end))
        return ResourceSample(1.0, 1, 50.0, 1, 2, 0.9)

    assert DeviceGauge(CUDA, 4, sampled).read(started=5.0, seconds=10.0, cpu_seconds=15.0) == (
        0.9,
        300,
        {},
    )
    assert asked == [(5.0, 15.0)]
    why = {"device_utilisation": "no NVIDIA driver"}
    missing = DeviceGauge(
        CUDA, 4, lambda start, end: ResourceSample(0.0, 0, None, None, None, None, why)
    )
    assert missing.read(0.0, 1.0, 1.0) == (None, 300, why)
    assert DeviceGauge(CUDA, 4).read(0.0, 1.0, 1.0)[2] == {
        "device_utilisation": "nothing samples the device"
    }
    assert "administrators" in DeviceGauge(MPS, 4).read(0.0, 1.0, 1.0)[2]["device_utilisation"]
