"""The choice of the device, and the messages when it fails."""

import logging

import pytest
import torch

from hexlit.accelerate import device as device_module
from hexlit.accelerate.device import choose_device, trial_failure
from hexlit.errors import UsageError


class Machine:
    """Pretends which devices exist and which of them fail their trial."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def has(
        self,
        *,
        cuda: int = 0,
        mps: bool = False,
        fails: str = "",
        built: str = "",
        mac: str = "",
        processor: str = "arm",
    ) -> None:
        patch = self.monkeypatch.setattr
        patch(torch.version, "cuda", "13.0" if cuda else built or None)
        patch(torch.cuda, "is_available", lambda: cuda > 0)
        patch(torch.cuda, "device_count", lambda: cuda)
        patch(torch.backends.mps, "is_available", lambda: mps)
        patch("platform.processor", lambda: processor)
        patch(torch.backends.mps, "is_built", lambda: mps or bool(mac))
        patch(
            device_module,
            "trial_failure",
            lambda device: "kernel image is invalid" if device.type == fails else "",
        )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_auto_picks_cuda_then_mps_then_cpu(machine: Machine) -> None:
    machine.has(cuda=1, mps=True)
    assert choose_device("auto") == torch.device("cuda:0")
    machine.has(mps=True)
    assert choose_device("auto") == torch.device("mps")
    machine.has()
    assert choose_device("auto") == torch.device("cpu")


@pytest.mark.parametrize(
    ("built", "why"), [("", "is built without CUDA"), ("13.0", "is built for CUDA 13.0")]
)
def test_a_card_that_this_torch_cannot_use_is_named_once(
    built: str,
    why: str,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine.has(built=built)

    class Driver:
        driver = "535.54"

        def __init__(self, visible: str | None) -> None:
            pass

        def names(self) -> list[str]:
            return ["GeForce GTX 1080"]

        def close(self) -> None:
            pass

    monkeypatch.setattr(device_module, "Nvml", Driver)
    with caplog.at_level(logging.WARNING):
        assert choose_device("auto") == torch.device("cpu")
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("accelerator.device=auto: GeForce GTX 1080 with driver 535.54 is not")
    assert why in message
    assert choose_device("cpu") == torch.device("cpu")
    assert len(caplog.records) == 1


@pytest.mark.parametrize("broken", ["cuda", "mps"])
def test_auto_goes_on_with_cpu_and_warns_once_when_the_trial_fails(
    machine: Machine, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    machine.has(cuda=int(broken == "cuda"), mps=True, fails=broken)
    with caplog.at_level(logging.WARNING):
        assert choose_device("auto") == torch.device("cpu")
    (record,) = caplog.records
    assert broken in record.getMessage()
    assert "kernel image is invalid" in record.getMessage()


def test_a_trial_of_a_sweep_does_not_evade_a_full_card(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the cpu its result would not compare with those of the others."""
    machine.has(cuda=1)
    failure = "CUDA out of memory. Tried to allocate 2.00 MiB"
    monkeypatch.setattr(device_module, "trial_failure", lambda device: failure)
    assert choose_device("auto") == torch.device("cpu")
    with pytest.raises(
        UsageError,
        match=r"accelerator.device=auto: cuda:0 has no memory left for this trial \(CUDA",
    ):
        choose_device("auto", shares_a_study=True)
    monkeypatch.setattr(device_module, "trial_failure", lambda device: "kernel image is invalid")
    assert choose_device("auto", shares_a_study=True) == torch.device("cpu")


@pytest.mark.parametrize(
    ("requested", "found", "said"),
    [
        ("cuda", {}, "built without CUDA"),
        ("cuda:2", {"cuda": 2}, "the last is cuda:1"),
        ("mps", {}, "built without MPS"),
        ("cuda", {"cuda": 1, "fails": "cuda"}, "kernel image is invalid"),
        ("tpu", {}, "choose one of auto"),
        ("cuda", {"built": "13.0"}, "no CUDA device or driver"),
        ("mps", {"mac": "13.6"}, "needs Apple silicon and macOS 14"),
        ("mps", {"mps": True, "processor": "i386"}, "not one for Apple silicon"),
    ],
)
def test_named_device_that_is_missing_is_refused_with_the_reason(
    machine: Machine, requested: str, found: dict[str, int], said: str
) -> None:
    machine.has(**found)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"accelerator.device={requested}: .*{said}"):
        choose_device(requested)


def test_mps_that_the_environment_turns_off_is_refused(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning would raise later."""
    machine.has(mps=True)
    monkeypatch.setenv("DISABLE_MPS", "1")
    with pytest.raises(UsageError, match=r"^accelerator\.device=mps: DISABLE_MPS=1 turns it off"):
        choose_device("mps")
    assert choose_device("auto") == torch.device("cpu")


@pytest.mark.parametrize("form", ["cuda", "cuda:0", torch.device("cuda"), torch.device("cuda", 0)])
def test_every_form_of_the_first_cuda_device_is_the_same_device(
    machine: Machine, form: str | torch.device
) -> None:
    machine.has(cuda=1)
    assert choose_device(form) == torch.device("cuda", 0)


def test_trial_passes_on_the_cpu_and_reports_a_device_that_is_not_there() -> None:
    assert trial_failure(torch.device("cpu")) == ""
    if not torch.cuda.is_available():
        assert trial_failure(torch.device("cuda:0")) != ""
