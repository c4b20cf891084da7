"""Device slots, held and freed by real processes."""

import os
import signal
import stat
import tempfile
import time
from pathlib import Path

import pytest

from hexlit.errors import UsageError
from hexlit.tuning.slots import Slots
from tests.tuning.racers import go_together, line_of, start

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="files are held by flock"),
]

CONTENDER = """
import os, sys, time
from pathlib import Path
from hexlit.tuning.slots import Slots
holders, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
slots = Slots("cuda:0", count)
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    while (slot := slots.take()) is None:
        time.sleep(0.001)
    with slot:
        mine = holders / Path(slot.name).name
        mine.touch(exist_ok=False)  # nobody else has this slot
        time.sleep(0.001)
        assert len(list(holders.iterdir())) <= 3, "more holders than slots"
        assert int(mine.name[-1]) < count
        mine.unlink()
"""
PARENT = """
import subprocess, sys, time
from pathlib import Path
from hexlit.tuning.slots import Slots
with Slots("cuda:0", 1).take() as slot:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=[slot.fileno()])
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXLIT_SLOTS", str(tmp_path / "slots"))


def test_there_are_never_more_holders_than_slots(tmp_path: Path) -> None:
    """Six processes take 20 times each; half of them know of two slots only."""
    holders = tmp_path / "holders"
    holders.mkdir()
    children = [start(CONTENDER, holders, who, 3 if who % 2 else 2) for who in range(6)]
    go_together(children)
    assert [child.wait() for child in children] == [0] * 6
    assert sorted(path.name for path in (tmp_path / "slots" / "cuda-0").iterdir()) == [
        "slot-0",
        "slot-1",
        "slot-2",
    ]


def test_a_child_holds_the_slot_after_its_parent_was_killed() -> None:
    parent = start(PARENT)
    child = int(line_of(parent))
    slots = Slots("cuda:0", 1)
    assert slots.take() is None  # the parent released its copy
    parent.kill()
    parent.wait()
    assert slots.take() is None
    os.kill(child, signal.SIGKILL)
    end = time.monotonic() + 20
    while slots.take() is None:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_slot_whose_file_was_cleaned_away_is_taken_anew() -> None:
    slots = Slots("cpu", 1)
    slot = slots.take()
    assert slot is not None
    Path(slot.name).unlink()
    assert slots.take() is not None


def test_the_place_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEXLIT_SLOTS", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"hexlit-slots-{os.getuid()}"
    assert Slots("cuda:0", 1).folder == folder / "cuda-0"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert Slots("cuda:0", 1).take() is not None
    monkeypatch.setenv("HEXLIT_SLOTS", str(tmp_path / "elsewhere"))
    assert Slots("cuda:0", 1).folder == tmp_path / "elsewhere" / "cuda-0"
    monkeypatch.delenv("HEXLIT_SLOTS")
    (folder / "cuda-0" / "slot-0").unlink()
    (folder / "cuda-0").rmdir()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"not this user's own folder.*HEXLIT_SLOTS"):
        Slots("cuda:0", 1)
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEXLIT_SLOTS", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"file: .*; set HEXLIT_SLOTS"):
        Slots("cpu", 1)
