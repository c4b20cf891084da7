"""A block of another package is part of a network like hexlit's own;
an unsound one is refused in one line.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from hexlit.errors import UsageError
from hexlit.nets.backends import copy_folded, folded_twin
from hexlit.nets.config import BLOCKS, NetConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.onnx_export import write_onnx
from hexlit.nets.tower import HexNet, build_net
from hexlit.tasks.hex.checkpoint import load_network, write_safetensors
from hexlit.testing import BlockConformance
from tests.nets import brought_blocks
from tests.nets.brought_blocks import SEPARABLE, line, package
from tests.nets.test_evaluator import assert_plain, cpu_profile, plain, random_positions
from tests.nets.test_tower import assert_learns_on_every_board, planes_of, small

Separable = import_module("tests.outside.separable").Separable
GATED = line(brought_blocks.Gated)
CPU = torch.device("cpu")


@pytest.fixture
def both(tmp_path: Path) -> Iterator[None]:
    """Both sound blocks are installed."""
    with package(tmp_path / "site", SEPARABLE, GATED):
        yield


def trained(block: str, seed: int = 0, **fields: object) -> HexNet:
    """A network of the block after a few steps, so that every buffer is its own."""
    torch.manual_seed(seed)
    net = build_net(small(block=block, blocks=[2], **fields))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(3):
        optimizer.zero_grad()
        output = net(planes_of(4, 5, seed=step + seed))
        (output.policy_logits[:, 3] - output.value_logit).square().mean().backward()
        optimizer.step()
    nn.init.normal_(net.policy.cells.weight, std=0.5)
    return net.eval()


class TestOutsideBlock(BlockConformance):
    """hexlit's own promises, by blocks of other packages."""

    @pytest.fixture(params=[brought_blocks.Gated, Separable], autouse=True)
    def _of_each(self, request: pytest.FixtureRequest) -> None:
        self.kind = request.param

    def make(self, config: NetConfig) -> nn.Module:
        block: nn.Module = self.kind(config)
        return block


class TestOwnBlock(BlockConformance):
    """The same, by hexlit's own."""

    @pytest.fixture(params=BLOCKS, autouse=True)
    def _of_each(self, request: pytest.FixtureRequest) -> None:
        self.kind = request.param

    def make(self, config: NetConfig) -> nn.Module:
        return build_net(replace(config, block=self.kind, blocks=[3])).blocks[2]


both_blocks = pytest.mark.parametrize("block", ["separable", "gated"])


@pytest.mark.usefixtures("both")
@both_blocks
def test_it_learns_and_plays_on_every_board(block: str) -> None:
    net = build_net(small(block=block, blocks=[1, 2], attention="self"))
    assert [type(part).__name__.lower() for part in net.blocks] == [block] * 3
    assert_learns_on_every_board(net)


@pytest.mark.usefixtures("both")
@both_blocks
@pytest.mark.parametrize("channels_last", [False, True])
def test_its_twin_answers_as_it_does_in_evaluation_and_after_new_weights(
    block: str, channels_last: bool
) -> None:
    net, other, planes = trained(block), trained(block, seed=1), planes_of(4, 7)
    twin = folded_twin(net, CPU, torch.float32, channels_last)
    for now in (net, other):
        copy_folded(now, twin)
        for got, expected in zip(twin(planes)[:2], now(planes)[:2], strict=True):
            torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(net(planes).policy_logits, other(planes).policy_logits, atol=1e-2)


@pytest.mark.usefixtures("both")
@both_blocks
def test_torchs_operators_evaluate_it_and_nothing_is_said(
    block: str, caplog: pytest.LogCaptureFixture
) -> None:
    profile = replace(cpu_profile(), inference="auto")
    net, planes = trained(block), random_positions(6, 5)
    evaluator = NetworkEvaluator(net, size=5, swap=True, batch=6, profile=profile)
    assert (evaluator.backend, caplog.records) == ("eager", [])
    assert_plain(evaluator, net, planes, 1e-4)


@pytest.mark.usefixtures("both")
@both_blocks
def test_it_is_exported_for_hexlit_and_for_no_other_program(block: str, tmp_path: Path) -> None:
    net, file, planes = trained(block), tmp_path / "net.safetensors", random_positions(4, 5)
    write_safetensors(net, file, size=5, swap=False)
    for got, expected in zip(
        plain(load_network(file).net, planes, 25), plain(net, planes, 25), strict=True
    ):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(
        UsageError,
        match=f"^format=onnx: net.block={block} is not in its graph, basic and bottleneck",
    ):
        write_onnx(net, tmp_path / "net.onnx", size=5, swap=False)


def saved(net: HexNet, file: Path) -> Path:
    """`net` in a checkpoint, or in safetensors, after the name of the `file`."""
    if file.suffix == ".safetensors":
        write_safetensors(net, file, size=5, swap=False)
        return file
    settings = {"net": vars(net.config), "size": 5, "swap": False}
    state = {f"net.{name}": tensor for name, tensor in net.state_dict().items()}
    torch.save({"hyper_parameters": settings, "state_dict": state}, file)
    return file


@pytest.mark.parametrize("name", ["net.ckpt", "net.safetensors"])
def test_a_file_whose_block_is_missing_or_another_one_says_so(name: str, tmp_path: Path) -> None:
    with package(tmp_path / "site", SEPARABLE):
        file = saved(trained("separable"), tmp_path / name)
        assert load_network(file).net.config.block == "separable"
    missing = f"checkpoint={file}: the package that brings the block separable is not installed"
    with pytest.raises(UsageError, match=f"^{re.escape(missing)}$"):
        load_network(file)
    other = f"checkpoint={file}: the installed block separable has other weights than the file"
    newer = package(tmp_path / "newer", GATED.replace("gated", "separable"))
    with newer, pytest.raises(UsageError, match=f"^{re.escape(other)}$"):
        load_network(file)


def test_no_file_names_a_module_to_import(tmp_path: Path) -> None:
    with package(tmp_path / "site", SEPARABLE):
        net = trained("separable")
        for name in ("separable:Separable", "separable.Separable", "os:system"):
            net.config.block = name
            with pytest.raises(UsageError, match=f"that brings the block {name} is not installed$"):
                load_network(saved(net, tmp_path / "net.ckpt"))


@pytest.mark.usefixtures("both")
def test_an_unknown_name_is_refused_with_all_that_are_there() -> None:
    wanted = "net.block=dense: choose one of basic, bottleneck, gated, separable; no installed package brings another"
    with pytest.raises(UsageError, match=f"^{re.escape(wanted)}$"):
        NetConfig(block="dense")


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (
            brought_blocks.Wider,
            "it returned float32 [2, 8, 2, 3] for float32 [2, 8, 2, 2], the same is needed",
        ),
        (
            brought_blocks.Doubled,
            "it returned float64 [2, 8, 2, 2] for float32 [2, 8, 2, 2], the same is needed",
        ),
        (
            brought_blocks.single,
            "its callable returned one module twice, each block needs a new one",
        ),
        (brought_blocks.failing, f"fails (KeyError: 'groups', {brought_blocks.__file__}:"),
    ],
)
def test_an_unsound_block_is_refused_in_one_line(
    block: Callable[..., object], said: str, tmp_path: Path
) -> None:
    name = block.__name__.lower()
    found = pytest.raises(UsageError, match=f"^net.block={name}: .*{re.escape(said)}")
    with package(tmp_path / "site", line(block)), found as caught:
        build_net(small(block=name))
    assert "\n" not in str(caught.value)
