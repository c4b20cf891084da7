"""The fastest path is measured once, remembered, and used."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hexlit.accelerate import remembered
from hexlit.accelerate.backends import installed_backends, is_installed
from hexlit.accelerate.profile import DeviceProfile
from hexlit.nets import choice
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.paths import Forward
from hexlit.nets.tower import HexNet
from tests.nets.test_evaluator import cpu_profile, trained_like


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The paths of each measurement, which here always finds the last one ten times as fast as the others."""
    asked: list[list[str]] = []

    def seconds_of(paths: list[str], size: int, batch: int, build: Callable[..., object]) -> dict[str, float]:
        asked.append(paths)
        return dict.fromkeys(paths, 1.0) | {paths[-1]: 0.1}

    monkeypatch.setattr(choice, "seconds_of", seconds_of)
    return asked


def install(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(choice, "installed_backends", lambda dtype=None: list(names))


def automatic(precision: str) -> DeviceProfile:
    return replace(cpu_profile("fused", precision), inference="auto")


def path_of(net: HexNet, batch: int = 4, precision: str = "fp32") -> str:
    return NetworkEvaluator(net, size=4, swap=False, batch=batch, profile=automatic(precision)).path


@pytest.mark.row("F3")
@pytest.mark.row("F4")
def test_nothing_is_measured_in_bfloat16_where_torch_is_alone(
    measured: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so no kernel of another way is compiled."""
    install(monkeypatch)
    assert path_of(trained_like(), precision="bf16") == "fused"
    assert measured == []


@pytest.mark.row("F3")
def test_float32_has_a_choice_without_further_packages(
    measured: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    assert path_of(trained_like()) == "winograd"
    assert measured == [["fused", "winograd"]]


def test_a_network_without_a_graph_is_not_measured(measured: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "openvino")
    assert path_of(trained_like(attention="self")) == "eager"
    assert measured == []


@pytest.mark.row("F3")
def test_the_choice_is_measured_once_for_each_batch(measured: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_installed("onnxruntime"):
        pytest.skip("onnxruntime is not installed")
    install(monkeypatch, "onnxruntime")
    net = trained_like()
    assert [path_of(net) for _ in range(3)] == ["onnxruntime"] * 3
    assert measured == [["fused", "winograd", "onnxruntime"]]
    assert path_of(net, batch=5) == "onnxruntime"
    assert path_of(trained_like(channels=16)) == "onnxruntime"
    assert len(measured) == 3


@pytest.mark.row("F3")
@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff\xfe", b"", None])
def test_a_damaged_memory_is_measured_again(
    damage: bytes | None, measured: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_installed("onnxruntime"):
        pytest.skip("onnxruntime is not installed")
    install(monkeypatch, "onnxruntime")
    path_of(trained_like())
    file = remembered.choices_file()
    file.write_bytes(file.read_bytes().replace(b'"onnxruntime"', b'"gone"') if damage is None else damage)
    assert path_of(trained_like()) == "onnxruntime"
    assert len(measured) == 2
    assert path_of(trained_like()) == "onnxruntime"
    assert len(measured) == 2


def test_a_chosen_path_that_does_not_work_gives_way_to_torchs_own_with_a_warning(
    measured: list[list[str]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(monkeypatch, "onnxruntime")

    def broken(self: NetworkEvaluator, net: HexNet, path: str, batch: int) -> object:
        if path == "onnxruntime":
            raise ImportError("libonnx is broken")
        return made(self, net, path, batch)

    made = NetworkEvaluator._make_forward
    monkeypatch.setattr(NetworkEvaluator, "_make_forward", broken)
    assert path_of(trained_like()) in ("fused", "eager")
    assert "libonnx is broken" in caplog.records[0].getMessage()


@pytest.mark.row("F3")
def test_a_measurement_has_a_time_for_every_path_that_can_be_built() -> None:
    paths = ["eager", "winograd", *installed_backends(torch.float32), "broken"]
    evaluator = NetworkEvaluator(trained_like(), size=4, swap=False, batch=4, profile=cpu_profile("eager"))

    def build(path: str) -> Forward:
        if path == "broken":
            raise RuntimeError("no")
        return evaluator._make_forward(trained_like(), path, 4)

    found = choice.seconds_of(paths, 4, 4, build)
    assert list(found) == paths[:-1]
    assert all(seconds > 0 for seconds in found.values())
