"""Optional backends: what is installed, and what is refused."""

import pytest
import torch

from hexlit.accelerate import backends, profile
from hexlit.accelerate.backends import PACKAGES, backend_versions, installed_backends
from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.errors import UsageError
from hexlit.extras import install


def pretend(monkeypatch: pytest.MonkeyPatch, *installed: str) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda name: name if name in installed else None)


@pytest.mark.row("F3")
@pytest.mark.parametrize(
    ("backend", "command"),
    [("onnxruntime", install("onnx")), ("openvino", install("openvino"))],
)
def test_a_backend_that_is_not_installed_is_refused_with_the_command(
    backend: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch)
    with pytest.raises(UsageError) as refused:
        build_profile(AcceleratorConfig(device="cpu", inference=backend))
    said = str(refused.value)
    assert said.startswith(f"accelerator.inference={backend}: ")
    assert command in said
    assert "\n" not in said


def test_a_backend_needs_all_of_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "onnxruntime")
    assert installed_backends() == []
    pretend(monkeypatch, "onnxruntime", "onnx", "openvino")
    assert installed_backends() == list(PACKAGES)
    assert installed_backends(torch.bfloat16) == ["openvino"]


@pytest.mark.row("F3")
def test_auto_stays_open_until_the_network_is_known() -> None:
    assert build_profile(AcceleratorConfig(device="cpu")).inference == "auto"
    assert build_profile(AcceleratorConfig(device="cpu", inference="fused")).inference == "fused"


def test_the_format_of_a_backend_is_the_fastest_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "onnxruntime", "onnx")
    monkeypatch.setattr(profile, "inference_dtype", lambda requested, device: torch.bfloat16)
    made = build_profile(AcceleratorConfig(device="cpu", inference="onnxruntime"))
    assert made.inference_dtype == torch.float32
    with pytest.raises(UsageError, match="accelerator.inference_precision=bf16: onnxruntime evaluates in fp32"):
        build_profile(AcceleratorConfig(device="cpu", inference="onnxruntime", inference_precision="bf16"))


def test_versions_name_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    assert list(backend_versions()) == ["torch", "numba"]
