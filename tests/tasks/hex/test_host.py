"""Settings for evaluating on another machine."""

import platform
import re
from pathlib import Path

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.tasks.hex.host import RemoteHostMaker, elsewhere_from
from tests.nets.brought_blocks import SEPARABLE, package


@pytest.mark.row("E14")
def test_a_cap_of_memory_holds_on_other_machines_and_their_threads_are_their_own() -> None:
    here = AcceleratorConfig(memory_cap=6.0, threads=8, inference_precision="fp32")
    there = elsewhere_from(here, "cuda", 2)
    assert (there.device, there.threads, there.memory_cap, there.inference_precision) == ("cuda", 2, 6.0, "fp32")
    assert elsewhere_from(here, "cpu", 2).memory_cap is None, "a cpu has none, and would refuse one"


@pytest.mark.row("E14")
def test_a_machine_without_the_package_of_the_block_is_named(tmp_path: Path) -> None:
    with package(tmp_path / "site", SEPARABLE):
        net = NetConfig(channels=8, blocks=[1], block="separable")
    missing = f"on {platform.node()}: the package that brings the block separable is not installed"
    with pytest.raises(UsageError, match=f"^{re.escape(missing)}$"):
        RemoteHostMaker(net, 3, False, 2, AcceleratorConfig(device="cpu", threads=1))()
