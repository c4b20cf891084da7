"""How busy a device was, and why that is not known."""

import pytest
import torch

from hexlit.accelerate import gauge
from hexlit.accelerate.gauge import DeviceGauge
from hexlit.accelerate.machine import ResourceSummary


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauge, "peak_bytes", lambda device: (700, ""))


@pytest.mark.row("E16")
@pytest.mark.row("A14")
@pytest.mark.row("A15")
def test_the_utilisation_of_a_cpu_follows_from_its_processor_time() -> None:
    """It has no memory of its own, which is said."""
    found = DeviceGauge(torch.device("cpu"), threads=2).read(started=5.0, seconds=10.0, cpu_seconds=15.0)
    assert found.device_utilisation == 0.75
    assert found.peak_device_bytes is None
    assert set(found.reasons) == {"peak_device_bytes"}
    assert DeviceGauge(torch.device("cpu"), 1).read(5.0, 1.0, 2.0).device_utilisation == 1.0


@pytest.mark.row("A15")
@pytest.mark.row("E16")
def test_that_of_cuda_is_sampled_in_the_time_that_is_asked_for(memory: None) -> None:
    asked: list[tuple[float, float]] = []

    def sampled(start: float, end: float) -> ResourceSummary:
        asked.append((start, end))
        return ResourceSummary(3, 50.0, 0.9, 1, 2)

    found = DeviceGauge(torch.device("cuda:0"), 4, sampled).read(started=5.0, seconds=10.0, cpu_seconds=15.0)
    assert (found.device_utilisation, found.peak_device_bytes, found.reasons) == (0.9, 700, {})
    assert asked == [(5.0, 15.0)]


@pytest.mark.row("A15")
def test_what_is_not_known_is_none_with_the_reason(memory: None) -> None:
    why = {"device_utilisation": "no NVIDIA driver"}
    missing = DeviceGauge(torch.device("cuda:0"), 4, lambda start, end: ResourceSummary(0, None, None, None, None, why))
    assert missing.read(0.0, 1.0, 1.0).reasons == why
    assert DeviceGauge(torch.device("cuda:0"), 4).read(0.0, 1.0, 1.0).reasons == {
        "device_utilisation": "nothing samples the device"
    }
    mac = DeviceGauge(torch.device("mps"), 4).read(0.0, 1.0, 1.0)
    assert mac.device_utilisation is None
    assert "administrators" in mac.reasons["device_utilisation"]
