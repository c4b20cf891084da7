"""Reports on machines of every kind: a Mac too old, a Mac, a server with and without a driver, a
plain CPU.
"""

import json
from typing import Any

import pytest
import torch

from hexlit.accelerate import inspection, precision
from hexlit.accelerate.inspection import inspect_machine
from tests.accelerate.test_device import Machine

GIB = 2**30


class Driver:
    """Stands for Nvml."""

    def __init__(self, reason: str = "", cards: int = 1) -> None:
        self.reason = reason
        self.driver = None if reason else "580.65"
        self.cards = 0 if reason else cards

    def names(self) -> list[str]:
        return ["NVIDIA H200"] * self.cards

    def close(self) -> None:
        pass


class WholeMachine(Machine):
    """Pretends to be a machine; what is tried on its devices works unless said otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch)
        self.compiled: list[str] = []
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(torch.version, "hip", None)
        monkeypatch.setattr(inspection, "device_name", lambda device: f"model of {device.type}")
        monkeypatch.setattr(inspection, "total_and_free_bytes", lambda device: (80 * GIB, 10 * GIB))
        monkeypatch.setattr(inspection, "probe_product", lambda device: {"largest_error": 1e-6})
        monkeypatch.setattr(inspection, "probe_precisions", lambda device: [])
        monkeypatch.setattr(inspection, "probe_compile", self._compile)
        monkeypatch.setattr(precision, "cpu_has_bf16", lambda: False)
        self.has()

    def has(self, *, cuda: int = 0, bf16: bool = True, driver: str = "", **more: Any) -> None:
        more.setdefault("built", "" if more.get("mac") else "13.0")
        super().has(cuda=cuda, **more)
        set_ = self.monkeypatch.setattr
        set_(precision, "cuda_has_bf16", lambda device: bf16)
        set_(inspection, "Nvml", lambda visible: Driver(driver, cuda or 1))

    def look(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps(inspect_machine(), allow_nan=False))
        return found

    def _compile(self, device: torch.device) -> dict[str, Any]:
        self.compiled.append(str(device))
        return {"seconds": 9.0, "difference": 1e-7}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> WholeMachine:
    return WholeMachine(monkeypatch)


def device(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(device for device in found["devices"] if device["device"] == name)


@pytest.mark.parametrize(
    ("facts", "missing", "reason"),
    [
        ({"built": "", "driver": "no NVIDIA driver"}, "cuda", "built without CUDA"),
        ({"driver": "no NVIDIA driver"}, "cuda", "no NVIDIA driver"),
        ({}, "cuda", "the NVIDIA driver 580.65 sees NVIDIA H200"),
        ({"mac": "13.6", "driver": "no NVIDIA driver"}, "mps", "macOS"),
    ],
)
def test_a_device_that_is_missing_has_its_reason(
    facts: dict[str, Any], missing: str, reason: str, machine: WholeMachine
) -> None:
    machine.has(**facts)
    found = machine.look()
    one = device(found, missing)
    assert not one["available"]
    assert reason in one["reason"]
    assert found["auto"]["device"] == "cpu"


def test_a_mac_trains_and_evaluates_in_fp32_on_mps(machine: WholeMachine) -> None:
    machine.has(mac="14.5", mps=True, driver="no NVIDIA driver")
    found = machine.look()
    mps = device(found, "mps")
    assert (mps["available"], mps["name"]) == (True, "model of mps")
    assert (mps["training_precision"], mps["inference_precision"]) == ("32-true", "fp32")
    assert found["auto"]["device"] == "mps"
    assert machine.compiled == ["cpu", "mps"]


@pytest.mark.parametrize(
    ("bf16", "trains", "evaluates"), [(True, "bf16-mixed", "bf16"), (False, "16-mixed", "fp16")]
)
def test_a_card_trains_in_bf16_where_it_has_it_and_in_fp16_elsewhere(
    bf16: bool, trains: str, evaluates: str, machine: WholeMachine
) -> None:
    machine.has(cuda=1, bf16=bf16)
    found = machine.look()
    card = device(found, "cuda:0")
    assert (card["training_precision"], card["inference_precision"]) == (trains, evaluates)
    assert (card["memory_total_bytes"], card["memory_free_bytes"]) == (80 * GIB, 10 * GIB)
    assert found["auto"]["device"] == "cuda:0"
    assert (found["versions"]["cuda"], found["versions"]["driver"]) == ("13.0", "580.65")


def test_every_card_is_tried_but_compiled_for_once(machine: WholeMachine) -> None:
    machine.has(cuda=3)
    names = [device["device"] for device in machine.look()["devices"]]
    assert names == ["cpu", "cuda:0", "cuda:1", "cuda:2", "mps"]
    assert machine.compiled == ["cpu", "cuda:0"]


def test_a_card_that_fails_its_trial_is_a_warning_of_auto(machine: WholeMachine) -> None:
    machine.has(cuda=1, fails="cuda")
    auto = machine.look()["auto"]
    assert auto["device"] == "cpu"
    (warning,) = auto["warnings"]
    assert "kernel image is invalid" in warning


def test_a_question_that_raises_is_a_reason_and_the_others_are_still_asked(
    machine: WholeMachine,
) -> None:
    def fail(*arguments: object) -> Any:
        raise OSError("sysctl: no such file")

    machine.monkeypatch.setattr(inspection, "device_name", fail)
    cpu = device(machine.look(), "cpu")
    assert (cpu["works"], cpu["reason"]) == (False, "OSError: sysctl: no such file")
    assert cpu["product"]["works"]
