"""Reports on machines of every kind: a Mac too old,
a Mac, a server with and without a driver, a plain CPU.
"""

import json
from typing import Any

import pytest
import torch

from hexlit.accelerate import device as device_module
from hexlit.accelerate import inspection, precision
from hexlit.accelerate.inspection import OF_A_DEVICE, inspect_machine
from tests.accelerate.test_device import Machine

GIB = 2**30
WORKS = {"works": True, "reasons": {}}


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
        monkeypatch.setattr(
            inspection, "probe_product", lambda device: WORKS | {"largest_error": 1e-6}
        )
        monkeypatch.setattr(inspection, "probe_precisions", lambda device: [])
        monkeypatch.setattr(inspection, "probe_compile", self._compile)
        monkeypatch.setattr(inspection, "usable_cores", lambda: 16)
        monkeypatch.setattr(inspection, "free_host_bytes", lambda: 64 * GIB)
        monkeypatch.setattr(precision, "cpu_has_bf16", lambda: False)
        self.has()

    def has(self, *, cuda: int = 0, bf16: bool = True, driver: str = "", **more: Any) -> None:
        built = more.setdefault("built", "" if more.get("mac") else "13.0")
        super().has(cuda=cuda, **more)
        set_ = self.monkeypatch.setattr
        set_(torch.backends.cudnn, "version", lambda: 91002 if built else None)
        set_(precision, "cuda_has_bf16", lambda device: bf16)
        set_(inspection, "Nvml", lambda visible: Driver(driver, cuda or 1))
        set_(inspection, "trial_failure", device_module.trial_failure)

    def look(self, compile: bool = True) -> dict[str, Any]:
        return inspect_machine(compile=compile, fused_obstacle=lambda: "")

    def _compile(self, device: torch.device) -> dict[str, Any]:
        self.compiled.append(str(device))
        return WORKS | {"seconds": 9.0, "difference": 1e-7}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> WholeMachine:
    return WholeMachine(monkeypatch)


def device(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(device for device in found["devices"] if device["device"] == name)


def nulls_without_reason(value: Any, path: str = "") -> list[str]:
    """Every null anywhere whose reason is not beside it."""
    if isinstance(value, list):
        return [
            line
            for index, item in enumerate(value)
            for line in nulls_without_reason(item, f"{path}[{index}]")
        ]
    if not isinstance(value, dict):
        return []
    found = []
    for name, item in value.items():
        if item is None and not value.get("reasons", {}).get(name):
            found.append(f"{path}.{name}")
        elif name == "versions":
            found += [
                f"{path}.{key}"
                for key, text in item.items()
                if text is None and not value["reasons"].get(key)
            ]
        else:
            found += nulls_without_reason(item, f"{path}.{name}")
    return found


@pytest.mark.parametrize(
    "facts",
    [
        {"built": "", "driver": "no NVIDIA driver"},
        {"driver": "no NVIDIA driver"},
        {"cuda": 2},
        {"cuda": 1, "bf16": False},
        {"mac": "13.6", "driver": "no NVIDIA driver"},
        {"mac": "14.5", "mps": True, "driver": "no NVIDIA driver"},
    ],
)
def test_the_schema_is_the_same_everywhere_and_every_null_has_its_reason(
    facts: dict[str, Any], machine: WholeMachine
) -> None:
    machine.has(**facts)
    report = json.loads(json.dumps(machine.look(False), allow_nan=False))
    assert nulls_without_reason(report) == []
    assert set(report) == {"versions", "host", "devices", "auto", "trials", "seconds", "reasons"}
    names = {"device", "available", "precisions", "reasons", *OF_A_DEVICE}
    assert [set(device) for device in report["devices"]] == [names] * len(report["devices"])
    assert set(report["versions"]) == {
        *("python", "os", "torch", "hexlit", "lightning", "numba", "numpy", "hydra", "optuna"),
        *("cuda", "cudnn", "driver"),
    }


def test_a_mac_trains_and_evaluates_in_fp32_on_mps(machine: WholeMachine) -> None:
    machine.has(mac="14.5", mps=True, driver="no NVIDIA driver")
    found = machine.look()
    mps = device(found, "mps")
    assert (mps["available"], mps["name"], mps["smoke"]) == (True, "model of mps", True)
    assert (mps["training_precision"], mps["inference_precision"]) == ("32-true", "fp32")
    assert (mps["fused"], mps["reasons"]["fused"]) == (None, "only the cpu has this backend")
    assert found["auto"]["device"] == "mps"
    assert (found["trials"]["recommended"], found["trials"]["limit"]) == (
        16,
        "cores",
    )  # its memory is the host's
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
    assert (found["trials"]["recommended"], found["trials"]["limit"]) == (5, "device memory")
    assert [found["versions"][name] for name in ("cuda", "cudnn", "driver")] == [
        "13.0",
        "9.10.2",
        "580.65",
    ]


def test_every_card_is_looked_at_but_a_like_one_is_not_compiled_for_again(
    machine: WholeMachine,
) -> None:
    machine.has(cuda=3)
    found = machine.look()
    assert [device["device"] for device in found["devices"]] == [
        "cpu",
        "cuda:0",
        "cuda:1",
        "cuda:2",
        "mps",
    ]
    assert machine.compiled == ["cpu", "cuda:0"]
    last = device(found, "cuda:2")["compile"]
    assert last is not None
    assert (last["works"], last["reasons"]["works"]) == (None, "not tried: the same card as cuda:0")


def test_a_card_that_fails_its_product_is_told_and_auto_takes_the_cpu(
    machine: WholeMachine,
) -> None:
    machine.has(cuda=1, fails="cuda")
    found = machine.look()
    card = device(found, "cuda:0")
    assert (card["available"], card["smoke"], card["reasons"]["smoke"]) == (
        True,
        False,
        "kernel image is invalid",
    )
    assert found["auto"]["device"] == "cpu"
    (warning,) = found["auto"]["warnings"]
    assert "kernel image is invalid" in warning


def test_a_question_that_raises_is_a_reason_and_the_others_are_still_asked(
    machine: WholeMachine,
) -> None:

    def fail(*arguments: object) -> Any:
        raise OSError("sysctl: no such file")

    machine.monkeypatch.setattr(inspection, "device_name", fail)
    machine.monkeypatch.setattr(inspection, "total_and_free_bytes", fail)
    cpu = device(inspect_machine(compile=False, fused_obstacle=fail), "cpu")
    assert (cpu["name"], cpu["memory_total_bytes"], cpu["memory_free_bytes"], cpu["fused"]) == (
        None,
    ) * 4
    for name in ("name", "memory_total_bytes", "memory_free_bytes", "fused"):
        assert cpu["reasons"][name] == "OSError: sysctl: no such file"
    assert cpu["smoke"]
    assert cpu["compile"] is not None
    assert cpu["compile"]["reasons"]["works"] == "not tried: compile=false"
