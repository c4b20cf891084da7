"""Networks in files: those of the package,
by name and by size of the board; safetensors and ONNX.
"""

import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.errors import UsageError
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.onnx_export import inputs_file, write_onnx
from hexlit.tasks.hex.checkpoint import FORMAT, load_network, write_safetensors
from hexlit.tasks.hex.packaged import fitting_network, network_file, packaged_networks
from tests.nets.test_evaluator import plain, random_positions, trained_like
from tests.tasks.hex.stand_ins import put_networks


def test_the_network_that_fits_the_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_networks(monkeypatch, tmp_path, "small", "large")
    assert [fitting_network(size) for size in (2, 7)] == ["hexlit:small"] * 2
    assert [fitting_network(size) for size in (8, 13, 14, 19)] == ["hexlit:large"] * 4


def test_a_name_stands_wherever_a_checkpoint_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_networks(monkeypatch, tmp_path, "small", "large")
    assert network_file("hexlit:small") == tmp_path / "small.safetensors"
    assert network_file(tmp_path / "large.safetensors") == tmp_path / "large.safetensors"
    loaded = load_network("hexlit:large")
    assert (loaded.size, loaded.swap) == (8, True)


def test_names_are_asked_for_without_torch() -> None:
    """`hexlit --help` and TAB completion import the settings of commands, which ask."""
    program = "import sys, hexlit.tasks.hex.packaged; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("name", packaged_networks())
def test_a_packaged_network_loads_and_is_stored_in_float16(name: str) -> None:
    load_network(name)
    with safe_open(packaged_networks()[name], "pt") as file:
        kinds = {file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118 - it is no mapping
    assert kinds - {"I64", "BOOL"} == {"F16"}  # of batch norm: counters, and which boards it knows


def test_the_package_holds_the_networks_that_it_promises() -> None:
    assert set(packaged_networks()) == {"hexlit:small", "hexlit:large"}


@pytest.mark.parametrize(
    "fields",
    [
        {"global_pooling": True, "blocks": [3]},
        {"attention": "se", "block": "bottleneck", "activation": "gelu"},
        {"activation": "silu"},
        {"attention": "self", "channels": 8},
    ],
    ids=str,
)
def test_one_onnx_file_answers_as_the_network_on_every_board(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    net, path = trained_like(**fields), tmp_path / "net.onnx"
    write_onnx(net, path, size=5, swap=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for size in range(2, 20):
        planes = random_positions(3, size)
        planes[:, 4] = 0
        planes[0, 4] = 1  # the swap is open in one of them
        policy, value = session.run(["policy", "value"], {"planes": planes})
        expected_policy, expected_value = plain(net, planes, size * size + 1)
        np.testing.assert_allclose(policy, expected_policy, atol=1e-4)
        np.testing.assert_allclose(value, expected_value, atol=1e-4)
        np.testing.assert_allclose(policy.sum(1), 1, atol=1e-5)
        illegal = np.concatenate(
            ((planes[:, 0] + planes[:, 1]).reshape(3, -1) != 0, planes[:, 4, 0, :1] == 0), 1
        )
        assert not (policy * illegal)[~illegal.all(1)].any()  # a full board has no legal move
    assert "the swap" in inputs_file(path).read_text()


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 0.0), ("float16", 0.01)])
def test_a_network_in_safetensors_is_the_same_network(
    tmp_path: Path, dtype: str, tolerance: float
) -> None:
    net, path = trained_like(attention="self", channels=8), tmp_path / "net.safetensors"
    write_safetensors(net, path, size=7, swap=True, dtype=dtype)
    loaded = load_network(path)
    assert (loaded.size, loaded.swap, loaded.net.config) == (7, True, net.config)
    assert not loaded.net.training
    planes = random_positions(4, 7)
    for got, expected in zip(plain(loaded.net, planes, 50), plain(net, planes, 50), strict=True):
        np.testing.assert_allclose(got, expected, atol=tolerance)


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    content = bytearray(packaged_networks()["hexlit:small"].read_bytes())
    content[len(content) // 2] ^= 0x40
    (tmp_path / "net.safetensors").write_bytes(content)
    with pytest.raises(UsageError, match="not those that were written"):
        load_network(tmp_path / "net.safetensors")


def test_a_damaged_or_foreign_file_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    write_safetensors(trained_like(), path, size=5, swap=False)
    whole = path.read_bytes()

    def refused(match: str) -> None:
        with pytest.raises(UsageError, match=match) as caught:
            load_network(path, "init_from")
        assert str(caught.value).startswith(f"init_from={path}: ")
        assert "\n" not in str(caught.value)

    for part in (b"", whole[:100], whole[:-1], b"\xff" * 64, whole + b"x"):
        path.write_bytes(part)
        refused("not a network of hexlit in safetensors")
    save_file({"x": torch.zeros(2)}, path)
    refused("another program")
    net = {"format": FORMAT, "net": '{"channels": 0}', "size": "5", "swap": "0"}
    for wrong in (
        net,
        {"format": FORMAT},
        *({**net, "net": text} for text in ("{}", '{"os": 1}', "[", "[]")),
    ):
        save_file({"x": torch.zeros(2)}, path, wrong)
        refused("not a network of hexlit")


@pytest.mark.parametrize("key", ["size", "swap", "net"])
def test_a_checkpoint_of_forged_settings_is_refused_in_one_line(key: str, tmp_path: Path) -> None:
    net, path = trained_like(), tmp_path / "net.ckpt"
    state = {f"net.{name}": tensor for name, tensor in net.state_dict().items()}
    shape = asdict(net.config)
    settings: dict[str, Any] = {"net": shape, "size": 5, "swap": False}

    def write(forged: dict[str, Any]) -> None:
        torch.save({"hyper_parameters": forged, "state_dict": state}, path)

    write(settings)
    assert load_network(path).size == 5
    values: list[object] = [None, "x", [], {}, -1, float("inf"), float("nan"), 10**30]
    forged = [settings | {key: value} for value in values]
    forged += [settings | {"net": shape | {name: value}} for name in shape for value in values]
    for one in forged:
        write(one)
        try:
            load_network(path)
        except UsageError as error:
            assert str(error).startswith(f"checkpoint={path}: ")  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
    for size in (float("inf"), float("nan"), 0, 1, 20, "x"):
        write(settings | {"size": size})
        with pytest.raises(UsageError, match="not a checkpoint of a Hex network"):
            load_network(path)


def test_a_network_of_diverged_weights_is_refused_in_one_line(tmp_path: Path) -> None:
    net = trained_like()
    torch.nn.init.constant_(next(net.parameters()), float("nan"))
    write_safetensors(net, tmp_path / "net.safetensors", size=5, swap=False)
    loaded = load_network(tmp_path / "net.safetensors")
    profile = build_profile(AcceleratorConfig(device="cpu"))
    with pytest.raises(
        UsageError, match="the network answers with NaN or infinity: its weights have diverged"
    ):
        NetworkEvaluator(loaded.net, size=5, swap=False, batch=2, profile=profile)
