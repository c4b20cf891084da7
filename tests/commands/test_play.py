"""`hexlit play` before anybody plays: its settings, and its players."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hexlit.commands import export
from hexlit.commands.play_players import shared_by_all
from hexlit.errors import UsageError
from hexlit.tasks.hex import packaged
from hexlit.tasks.hex.checkpoint import write_safetensors
from hexlit.web.config import PlayConfig
from hexlit.web.server import address, listen
from tests.nets.test_evaluator import trained_like

ROOT = Path(__file__).resolve().parents[2]


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"port={port} host=127.0.0.1: cannot listen"):
            listen(PlayConfig(port=port))


@pytest.mark.services
@pytest.mark.parametrize("seconds", [1.0, 2.5, 4.0, 6.0])
def test_ctrl_c_ends_it_at_any_moment_of_its_start(seconds: float, tmp_path: Path) -> None:
    """Numba aborts or hangs an interpreter that ends while a thread compiles."""
    command = [sys.executable, "-m", "hexlit", "play", "port=0", "open=false"]
    running = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        start_new_session=True,
    )
    try:
        time.sleep(seconds)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=30) == 130
    finally:
        running.kill()


def test_it_listens_on_this_computer_alone() -> None:
    with listen(PlayConfig(port=0)) as found:
        host, port = found.getsockname()
        assert host == "127.0.0.1"
        assert address(found) == f"http://127.0.0.1:{port}/"


def test_players_are_those_of_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "FOLDER", Path("/no/networks"))
    settings = PlayConfig(players=["two_distance depth=1 name=quick", "random name=dice"])
    roster = shared_by_all(settings).roster
    assert list(roster.offers) == ["rollouts", "two_distance", "random", "quick", "dice"]


def test_an_export_replaces_no_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "net.safetensors"
    write_safetensors(trained_like(), source, size=3, swap=False)
    before = source.read_bytes()
    half = ["format=safetensors", "dtype=float16"]
    assert export.main([f"checkpoint={source}", *half, f"target={source}"]) == 2
    assert f"{source} is there already" in capfd.readouterr().err
    assert source.read_bytes() == before
