"""Device slots, held and freed by real processes."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from hexlit.errors import UsageError
from hexlit.tuning.slots import Slots

pytestmark = [pytest.mark.row("D6"), pytest.mark.skipif(os.name != "posix", reason="files are held by flock")]

CONTENDER = """
import os, sys, time
from pathlib import Path
from hexlit.tuning.slots import Slots
folder, holders, who, count = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
slots = Slots("cuda:0", count, folder)
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    with slots.take() as slot:
        mine = holders / f"slot-{slot.number}"
        mine.touch(exist_ok=False)  # nobody else has this slot
        time.sleep(0.001)
        assert len(list(holders.iterdir())) <= 3, "more holders than slots"
        assert slot.number < count
        mine.unlink()
"""
HOLDER = """
import sys, time
from pathlib import Path
from hexlit.tuning.slots import Slots
slot = Slots("cuda:0", 1, Path(sys.argv[1])).take(timeout=0)
print("none" if slot is None else "held", flush=True)
time.sleep(600)
"""
PARENT = """
import subprocess, sys, time
from pathlib import Path
from hexlit.tuning.slots import Slots
with Slots("cuda:0", 1, Path(sys.argv[1])).take(timeout=0) as slot:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=[slot.fileno()])
print(child.pid, flush=True)
time.sleep(600)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def test_there_are_never_more_holders_than_slots(tmp_path: Path) -> None:
    """Six processes take 20 times each; half of them know of two slots only."""
    holders = tmp_path / "holders"
    holders.mkdir()
    children = [start(CONTENDER, tmp_path / "slots", holders, who, 3 if who % 2 else 2) for who in range(6)]
    assert [line_of(child) for child in children] == ["ready"] * 6
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    assert [child.wait() for child in children] == [0] * 6
    assert sorted(path.name for path in (tmp_path / "slots" / "cuda-0").iterdir()) == ["slot-0", "slot-1", "slot-2"]


@pytest.mark.row("D9")
def test_the_kill_of_its_holder_frees_a_slot(tmp_path: Path) -> None:
    holder = start(HOLDER, tmp_path)
    assert line_of(holder) == "held"
    slots = Slots("cuda:0", 1, tmp_path)
    assert slots.take(timeout=0) is None
    assert slots.take(timeout=0.25) is None
    holder.kill()
    holder.wait()
    slot = slots.take(timeout=0)
    assert slot is not None
    assert slot.number == 0


def test_a_child_holds_the_slot_after_its_parent_was_killed(tmp_path: Path) -> None:
    parent = start(PARENT, tmp_path)
    child = int(line_of(parent))
    slots = Slots("cuda:0", 1, tmp_path)
    assert slots.take(timeout=0) is None  # the parent released its copy
    parent.kill()
    parent.wait()
    assert slots.take(timeout=0) is None
    os.kill(child, signal.SIGKILL)
    assert slots.take(timeout=20) is not None


def test_slots_are_taken_from_the_first_on_and_released_once(tmp_path: Path) -> None:
    slots = Slots("cpu", 2, tmp_path)
    one, two = slots.take(), slots.take()
    assert one is not None
    assert two is not None
    assert (one.number, two.number) == (0, 1)
    assert slots.take(timeout=0) is None
    assert Slots("mps", 2, tmp_path).take(timeout=0) is not None  # another device
    one.release()
    one.release()
    with pytest.raises(ValueError, match="released"):
        one.fileno()
    again = slots.take(timeout=0)
    assert again is not None
    assert again.number == 0
    wider = Slots("cpu", 3, tmp_path).take(timeout=0)
    assert wider is not None
    assert wider.number == 2
    assert Slots("cpu", 1, tmp_path).take(timeout=0) is None
    for slot in (two, again, wider):
        slot.release()


def test_waiting_ends_when_it_is_told_to(tmp_path: Path) -> None:
    slots, stop = Slots("cpu", 1, tmp_path), threading.Event()
    with slots.take() as held:  # type: ignore[union-attr]
        assert held is not None
        found: list[object] = []
        waiting = threading.Thread(target=lambda: found.append(slots.take(stop)), daemon=True)
        waiting.start()
        stop.set()
        waiting.join(20)
        assert found == [None]
    assert slots.take(stop) is None


def test_a_slot_whose_file_was_cleaned_away_is_taken_anew(tmp_path: Path) -> None:
    slots = Slots("cpu", 1, tmp_path)
    with slots.take() as slot:  # type: ignore[union-attr]
        slot.path.unlink()
    assert slots.take(timeout=0) is not None


def test_the_place_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEXLIT_SLOTS", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"hexlit-slots-{os.getuid()}"
    assert Slots("cuda:0", 1).folder == folder / "cuda-0"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert Slots("cuda:0", 1).take(timeout=0) is not None
    monkeypatch.setenv("HEXLIT_SLOTS", str(tmp_path / "elsewhere"))
    assert Slots("cuda:0", 1).folder == tmp_path / "elsewhere" / "cuda-0"
    assert Slots("cuda:0", 1, tmp_path / "given").folder == tmp_path / "given" / "cuda-0"
    monkeypatch.delenv("HEXLIT_SLOTS")
    (folder / "cuda-0" / "slot-0").unlink()
    (folder / "cuda-0").rmdir()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"not this user's own folder.*HEXLIT_SLOTS"):
        Slots("cuda:0", 1)


def test_slots_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="0 slots"):
        Slots("cpu", 0, tmp_path)
    for name in ("", ".."):
        with pytest.raises(UsageError, match="no name of a device"):
            Slots(name, 1, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file/cpu: .*Not a directory"):
        Slots("cpu", 1, tmp_path / "file")
    (tmp_path / "cpu" / "slot-0").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"slot-0: .*Is a directory"):
        Slots("cpu", 1, tmp_path).take()
