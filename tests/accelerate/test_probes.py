"""Tests of a device: results, and reasons for failures."""

from typing import Any

import pytest
import torch
from torch import nn

from hexlit.accelerate import inspection
from hexlit.accelerate.inspection import (
    hardware_support,
    probe_compile,
    probe_precisions,
    probe_product,
)

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda:0"), torch.device("mps")


@pytest.fixture(autouse=True)
def _in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "TIMED_SECONDS", 0.0)
    monkeypatch.setattr(inspection, "TIMED_IMAGES", 8)


def fail(*arguments: object, **keywords: object) -> Any:
    raise RuntimeError("CUDA error: no kernel image\nCompile with TORCH_USE_CUDA_DSA")


def compile_with(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let torch.compile use a backend that needs no C++ compiler."""
    real = nn.Module.compile

    def compiled(module: nn.Module, **options: Any) -> None:
        real(module, backend=backend, **options)

    monkeypatch.setattr(nn.Module, "compile", compiled)


@pytest.mark.row("A4")
def test_the_product_is_right_on_the_cpu_whatever_precision_the_process_has_set() -> None:
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        probe = probe_product(CPU)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    assert probe["works"]
    assert probe["largest_error"] is not None
    assert 0 < probe["largest_error"] < 1e-4
    assert probe["reasons"] == {}


@pytest.mark.row("A4")
def test_a_product_that_is_wrong_or_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.Tensor.__matmul__

    def rounded(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return real(left.bfloat16(), right.bfloat16()).float() if left.dtype == torch.float32 else real(left, right)

    with monkeypatch.context() as patch:
        patch.setattr(torch.Tensor, "__matmul__", rounded)
        probe = probe_product(CPU)
    assert not probe["works"]
    assert probe["largest_error"] is not None
    assert probe["largest_error"] > 1e-3
    assert "0.001 is allowed" in probe["reasons"]["works"]
    monkeypatch.setattr(torch.Tensor, "__matmul__", fail)
    probe = probe_product(CPU)
    assert (probe["works"], probe["largest_error"]) == (False, None)
    assert probe["reasons"]["largest_error"] == "RuntimeError: CUDA error: no kernel image"


@pytest.mark.row("A4")
@pytest.mark.row("C21")
def test_every_precision_is_tried_and_timed_on_the_cpu() -> None:
    full, brain, half = probe_precisions(CPU)
    assert [probe["precision"] for probe in (full, brain, half)] == ["fp32", "bf16", "fp16"]
    assert (full["works"], full["hardware"], full["times_fp32"], full["difference"]) == (True, True, 1.0, 0.0)
    assert full["seconds"] is not None
    for probe in (brain, half):
        assert probe["works"], probe["reasons"]
        assert probe["seconds"] is not None
        assert probe["times_fp32"] == pytest.approx(probe["seconds"] / full["seconds"])
        assert probe["difference"] is not None
        assert 0 < probe["difference"] < 0.1
        assert probe["hardware"] is not None


@pytest.mark.row("A4")
@pytest.mark.row("A6")
def test_autocast_that_does_something_else_is_not_taken_for_the_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unsupported dtype switches autocast off with a warning only."""
    real = torch.autocast

    def without_half(kind: str, dtype: torch.dtype, enabled: bool) -> Any:
        return real(kind, torch.bfloat16, enabled=enabled and dtype != torch.float16)

    monkeypatch.setattr(torch, "autocast", without_half)
    full, brain, half = probe_precisions(CPU)
    assert (full["works"], brain["works"], half["works"]) == (True, True, False)
    assert half["reasons"]["works"] == "RuntimeError: autocast computes in float32 instead"
    assert half["seconds"] is None
    assert "seconds" in half["reasons"]


@pytest.mark.row("A4")
def test_a_precision_whose_gradients_are_far_off_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:

    def step(device: torch.device, dtype: torch.dtype) -> tuple[torch.Tensor, float]:
        broken = {torch.bfloat16: float("nan"), torch.float16: 2.0}
        return torch.full((4,), broken.get(dtype, 1.0)), 0.5

    monkeypatch.setattr(inspection, "_timed_step", step)
    full, brain, half = probe_precisions(CPU)
    assert full["works"]
    assert (brain["works"], brain["difference"]) == (False, None)
    assert (half["works"], half["difference"]) == (False, 1.0)
    assert "away from fp32" in half["reasons"]["works"]


@pytest.mark.row("A4")
@pytest.mark.row("C21")
def test_a_compiled_net_is_compared_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_with("aot_eager", monkeypatch)
    probe = probe_compile(CPU)
    assert probe["works"], probe["reasons"]
    assert probe["seconds"] is not None
    assert probe["difference"] is not None
    assert probe["difference"] <= 1e-4


@pytest.mark.row("A4")
@pytest.mark.row("C21")
def test_a_compiler_that_fails_or_does_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nn.Module, "compile", fail)
    probe = probe_compile(CPU)
    assert (probe["works"], probe["seconds"], probe["difference"]) == (False, None, None)
    assert probe["reasons"]["works"] == "RuntimeError: CUDA error: no kernel image"
    monkeypatch.setattr(nn.Module, "compile", lambda module, **options: None)
    assert "without compiling it" in probe_compile(CPU)["reasons"]["works"]


@pytest.mark.row("A4")
@pytest.mark.row("C21")
def test_a_compiler_that_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_with("aot_eager", monkeypatch)
    real = inspection._outputs_and_gradients
    factors = iter([1.01, 1.0])
    monkeypatch.setattr(inspection, "_outputs_and_gradients", lambda net, planes: real(net, planes) * next(factors))
    probe = probe_compile(CPU)
    assert not probe["works"]
    assert probe["difference"] == pytest.approx(0.01, rel=1e-3)
    assert "0.0001 is allowed" in probe["reasons"]["works"]


@pytest.mark.row("A4")
@pytest.mark.row("C21")
@pytest.mark.slow
def test_inductor_compiles_here_and_a_missing_compiler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    probe = probe_compile(CPU)
    assert probe["works"], probe["reasons"]
    monkeypatch.setattr(config.cpp, "cxx", (None, "/nonexistent"))
    assert "compiler" in probe_compile(CPU)["reasons"]["works"]


@pytest.mark.row("A4")
@pytest.mark.row("C21")
@pytest.mark.parametrize("found", [True, False])
def test_hardware_is_asked_not_the_version(found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "cpu_has_bf16", lambda: found)
    monkeypatch.setattr(inspection, "cuda_has_bf16", lambda device: found)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9 if found else 6, 0))
    monkeypatch.setattr(torch.version, "hip", None)
    for device in (CPU, CUDA):
        assert hardware_support("fp32", device) == (True, "")
        assert hardware_support("bf16", device) == (found, "")
    assert hardware_support("fp16", CUDA) == (found, "")
    assert hardware_support("fp16", MPS) == (True, "")
    assert hardware_support("bf16", MPS) == (None, "macOS does not tell")
    monkeypatch.setattr(inspection, "cpu_has_bf16", fail)
    assert hardware_support("bf16", CPU) == (None, "RuntimeError: CUDA error: no kernel image")
