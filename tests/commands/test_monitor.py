"""`hexlit monitor`: a process or a run is watched from outside, to its end or for a time."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hexlit.cli import main
from tests.tables import rows_of

SLEEPS = "print('ready', flush=True); input()"


@pytest.fixture
def target() -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", SLEEPS], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def run_of(target: subprocess.Popen[bytes], folder: Path) -> Path:
    folder.mkdir(parents=True)
    facts = {"pid": target.pid, "create_time": psutil.Process(target.pid).create_time()}
    (folder / "process.json").write_text(json.dumps(facts))
    return folder


def test_a_process_is_watched_for_the_time_asked_for(
    target: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    """Duration in minutes, interval in seconds, a plain line a sample, and the table beside it."""
    assert main(["monitor", f"pid={target.pid}", "duration=0.6", "interval=0.2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"watching process {target.pid} every 0.2 s\n")
    told = re.search(rf"(\d+) samples in (\d\.\d) s · resources-{target.pid}.csv", out)
    assert told is not None
    assert 0.5 <= float(told[2]) < 5  # more than 0.6 where the machine is busy
    assert "parallel trials like this one: " in out
    assert "limited by cores" in out
    found = rows_of(Path(f"resources-{target.pid}.csv"))
    assert len(found) == int(told[1]) >= 2
    assert {row["processes"] for row in found} == {"1"}
    assert [line for line in out.splitlines() if " s  cpu " in line][1:] != []
    assert "\x1b" not in out


def test_the_end_of_the_target_ends_the_watching_well(
    target: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    table = Path("there.csv").resolve()

    def end_after_two_rows() -> None:
        assert target.stdin is not None
        while not table.exists() or table.read_bytes().count(b"\n") < 3:
            time.sleep(0.05)
        target.stdin.close()  # its input() ends

    threading.Thread(target=end_after_two_rows, daemon=True).start()
    assert (
        main(["monitor", f"pid={target.pid}", "duration=null", "interval=0.1", "csv=there.csv"])
        == 0
    )
    assert f"process {target.pid} has ended · " in capsys.readouterr().out
    assert len(rows_of(Path("there.csv"))) >= 2


def test_a_run_is_found_by_its_folder_or_as_the_newest(
    target: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_of(target, Path("runs/hex5/now"))
    for overrides in ([f"run={folder}"], []):
        assert main(["monitor", *overrides, "duration=0.2", "interval=0.1"]) == 0
        assert f"watching {folder}, process {target.pid} every" in capsys.readouterr().out
        assert len(rows_of(folder / "monitor.csv")) >= 2
