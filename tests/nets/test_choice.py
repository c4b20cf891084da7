"""The fastest backend is measured once, remembered, and used."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile
from hexlit.nets import choice
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet
from tests.nets.test_evaluator import cpu_profile, trained_like


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The backends of each measurement,
    which here always finds the last one ten times as fast as the others.
    """
    asked: list[list[str]] = []

    def seconds_of(
        backends: list[str], size: int, batch: int, build: Callable[..., object]
    ) -> dict[str, float]:
        asked.append(backends)
        return dict.fromkeys(backends, 1.0) | {backends[-1]: 0.1}

    monkeypatch.setattr(choice, "seconds_of", seconds_of)
    return asked


def automatic(precision: str) -> DeviceProfile:
    return replace(cpu_profile("fused", precision), inference="auto")


def backend_of(net: HexNet, batch: int = 4, precision: str = "fp32") -> str:
    return NetworkEvaluator(
        net, size=4, swap=False, batch=batch, profile=automatic(precision)
    ).backend


def test_nothing_is_measured_in_bfloat16_where_torch_is_alone(
    measured: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so no kernel of another way is compiled."""
    # Without AVX-512 oneDNN refuses bfloat16, and eager operators take its place.
    assert backend_of(trained_like(), precision="bf16") in ("fused", "eager")
    assert measured == []


def test_float32_is_tried_where_the_format_is_open(measured: list[list[str]]) -> None:
    profile = replace(automatic("fp32"), config=AcceleratorConfig(), inference_dtype=torch.bfloat16)
    evaluator = NetworkEvaluator(trained_like(), size=4, swap=False, batch=4, profile=profile)
    assert measured == [["fused", "winograd"]]
    assert (evaluator.backend, evaluator.dtype) == ("winograd", torch.float32)


def test_the_choice_is_measured_once_for_each_batch(
    measured: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    net = trained_like()
    assert [backend_of(net) for _ in range(3)] == ["winograd"] * 3
    assert measured == [["fused", "winograd"]]
    assert backend_of(net, batch=5) == "winograd"
    assert backend_of(trained_like(channels=16)) == "winograd"
    assert len(measured) == 3


def test_a_chosen_backend_that_does_not_work_gives_way_to_torchs_own_with_a_warning(
    measured: list[list[str]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:

    def broken(self: NetworkEvaluator, net: HexNet, backend: str, batch: int) -> object:
        if backend == "winograd":
            raise ImportError("its kernels are broken")
        return made(self, net, backend, batch)

    made = NetworkEvaluator._make_forward
    monkeypatch.setattr(NetworkEvaluator, "_make_forward", broken)
    assert backend_of(trained_like()) in ("fused", "eager")
    assert "its kernels are broken" in caplog.records[0].getMessage()
