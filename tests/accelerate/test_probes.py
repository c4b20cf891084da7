"""Tests of a device: results, and reasons for failures."""

from typing import Any

import pytest
import torch
from torch import nn

from hexlit.accelerate import inspection
from hexlit.accelerate.inspection import probe_compile, probe_precisions, probe_product

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "TIMED_SECONDS", 0.0)
    monkeypatch.setattr(inspection, "TIMED_IMAGES", 8)


def compile_with(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let torch.compile use a backend that needs no C++ compiler."""
    real = nn.Module.compile

    def compiled(module: nn.Module, **options: Any) -> None:
        real(module, backend=backend, **options)

    monkeypatch.setattr(nn.Module, "compile", compiled)


def test_the_product_is_right_on_the_cpu_whatever_precision_the_process_has_set() -> None:
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        probe = probe_product(CPU)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    assert 0 < probe["largest_error"] < 1e-4


def test_every_precision_is_tried_and_timed_on_the_cpu() -> None:
    full, brain, half = probe_precisions(CPU)
    assert [probe["precision"] for probe in (full, brain, half)] == ["fp32", "bf16", "fp16"]
    assert (full["works"], full["times_fp32"], full["difference"]) == (True, 1.0, 0.0)
    for probe in (brain, half):
        assert probe["works"], probe["reason"]
        assert probe["times_fp32"] == pytest.approx(probe["seconds"] / full["seconds"])
        assert 0 < probe["difference"] < 0.1


def test_autocast_that_does_something_else_is_not_taken_for_the_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An unsupported dtype switches autocast off with a warning only."""
    real = torch.autocast

    def without_half(kind: str, dtype: torch.dtype, enabled: bool) -> Any:
        return real(kind, torch.bfloat16, enabled=enabled and dtype != torch.float16)

    monkeypatch.setattr(torch, "autocast", without_half)
    full, brain, half = probe_precisions(CPU)
    assert (full["works"], brain["works"], half["works"]) == (True, True, False)
    assert half["reason"] == "RuntimeError: autocast computes in float32 instead"


def test_a_compiled_net_is_compared_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_with("aot_eager", monkeypatch)
    assert probe_compile(CPU)["difference"] <= 1e-4


def test_a_compiler_that_does_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nn.Module, "compile", lambda module, **options: None)
    with pytest.raises(RuntimeError, match="without compiling it"):
        probe_compile(CPU)


def test_what_is_computed_wrongly_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_with("aot_eager", monkeypatch)
    exact, factors = inspection._outputs_and_gradients, iter([1.01, 1.0])
    monkeypatch.setattr(
        inspection, "_outputs_and_gradients", lambda net, images: exact(net, images) * next(factors)
    )
    with pytest.raises(ArithmeticError, match="off by 0.01 from eager"):
        probe_compile(CPU)
    gradients = {torch.bfloat16: float("nan"), torch.float16: 2.0, torch.float32: 1.0}
    monkeypatch.setattr(
        inspection, "_timed_step", lambda device, dtype: (torch.full((4,), gradients[dtype]), 0.5)
    )
    full, brain, half = probe_precisions(CPU)
    assert [probe["works"] for probe in (full, brain, half)] == [True, False, False]
    assert "off by 1 from the gradients in fp32" in half["reason"]
    monkeypatch.setattr(inspection, "PRODUCT_TOLERANCE", 0.0)
    with pytest.raises(ArithmeticError, match="0 is allowed"):
        probe_product(CPU)


@pytest.mark.slow
def test_inductor_compiles_here_and_a_missing_compiler_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from torch._inductor import config

    assert probe_compile(CPU)["seconds"] > 0
    monkeypatch.setattr(config.cpp, "cxx", (None, "/nonexistent"))
    with pytest.raises(Exception, match="compiler"):
        probe_compile(CPU)
