"""Networks that come along with the package: found by name and by the size of the board."""

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import safe_open

from hexlit.errors import UsageError
from hexlit.tasks.hex.checkpoint import load_network, network_file
from hexlit.tasks.hex.packaged import FOLDER, fitting_network, packaged_networks
from tests.tasks.hex.stand_ins import put_networks

MOST_BYTES = 3_000_000
"""Of all packaged networks together."""


@pytest.mark.row("F20")
def test_the_network_that_fits_the_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_networks(monkeypatch, tmp_path, "small", "medium")
    fitting = {size: fitting_network(size) for size in (2, 7, 8, 13, 14, 19)}
    assert fitting == {
        2: "hexlit:small",
        7: "hexlit:small",
        8: "hexlit:medium",
        13: "hexlit:medium",
        14: "hexlit:medium",
        19: "hexlit:medium",
    }


def test_without_one_the_other_fits_and_without_any_none_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_networks(monkeypatch, tmp_path / "small", "small")
    assert fitting_network(11) == "hexlit:small"
    put_networks(monkeypatch, tmp_path / "medium", "medium")
    assert fitting_network(3) == "hexlit:medium"
    put_networks(monkeypatch, tmp_path / "none")
    assert fitting_network(3) is None


@pytest.mark.row("F20")
def test_a_name_stands_wherever_a_checkpoint_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_networks(monkeypatch, tmp_path, "small", "medium")
    assert network_file("hexlit:small") == tmp_path / "small.safetensors"
    assert network_file(tmp_path / "medium.safetensors") == tmp_path / "medium.safetensors"
    loaded = load_network("hexlit:medium")
    assert (loaded.size, loaded.swap) == (8, True)


def test_an_unknown_name_is_answered_by_those_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_networks(monkeypatch, tmp_path, "small", "medium")
    said = "init_from=hexlit:huge: no such network comes along with hexlit; there is hexlit:medium, hexlit:small"
    with pytest.raises(UsageError) as caught:
        load_network("hexlit:huge", "init_from")
    assert str(caught.value) == said
    put_networks(monkeypatch, tmp_path / "none")
    with pytest.raises(UsageError, match="there is none"):
        load_network("hexlit:small")


def test_names_are_asked_for_without_torch() -> None:
    """`hexlit --help` and TAB completion import the settings of commands, which ask."""
    program = "import sys, hexlit.tasks.hex.packaged; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.row("F20")
@pytest.mark.parametrize("name", packaged_networks())
def test_a_packaged_network_loads_and_is_stored_in_float16(name: str) -> None:
    load_network(name)
    with safe_open(packaged_networks()[name], "pt") as file:
        kinds = {file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118 - it is no mapping
    assert kinds - {"I64"} == {"F16"}  # I64: counters of batch norm


def test_packaged_networks_are_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.glob("*")) < MOST_BYTES


@pytest.mark.row("F20")
def test_the_package_holds_the_networks_that_it_promises() -> None:
    assert set(packaged_networks()) == {"hexlit:small", "hexlit:medium"}
