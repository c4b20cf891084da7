"""Folders with a single owner, and their content after a kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hexlit.errors import UsageError
from hexlit.files import remove_temporary
from hexlit.tuning.folders import new_folder

CREATOR = """
import sys
from pathlib import Path
from concurrent.futures import ThreadPoolExecutor
from hexlit.tuning.folders import new_folder
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(5) as threads:
    for folder in threads.map(lambda _: new_folder(Path(sys.argv[1]), "sweep"), range(25)):
        print(folder.name)
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from hexlit.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.row("D3")
@pytest.mark.row("D4")
def test_a_hundred_folders_made_at_once_are_a_hundred(tmp_path: Path) -> None:
    """By 4 processes of 5 threads, in a folder that is not there yet."""
    parent = tmp_path / "runs" / "hex5"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CREATOR, str(parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    names = [name for child in children for name in child.communicate()[0].split()]
    expected = {"sweep", *(f"sweep-{number}" for number in range(2, 101))}
    assert len(names) == 100
    assert set(names) == {path.name for path in parent.iterdir()} == expected


def test_a_name_that_exists_gets_the_next_number(tmp_path: Path) -> None:
    (tmp_path / "sweep-2").touch()
    assert [new_folder(tmp_path, "sweep").name for _ in range(3)] == ["sweep", "sweep-3", "sweep-4"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a/"])
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no name of a folder"):
        new_folder(tmp_path / "runs", name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file/runs: .*Not a directory"):
        new_folder(tmp_path / "file" / "runs", "sweep")
    with pytest.raises(UsageError, match=r"file: .*File exists"):
        new_folder(tmp_path / "file", "sweep")
    with pytest.raises(UsageError, match=r"x{300}: .*name too long"):
        new_folder(tmp_path, "x" * 300)


@pytest.mark.row("D10")
@pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")
def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    summary = tmp_path / "trial-000" / "summary.json"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(summary)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(summary.parent.iterdir())) == 1
    assert remove_temporary(tmp_path) == 1
    assert list(summary.parent.iterdir()) == []
    assert remove_temporary(tmp_path) == 0


@pytest.mark.row("D10")
def test_nothing_but_unfinished_files_of_our_own_is_removed(tmp_path: Path) -> None:
    gone = [".last.ckpt.0123abcd.tmp", "games/part-000007.tmp", "seed-0/checkpoints/.best.ckpt.ffffffff.tmp"]
    kept = ["notes.tmp", ".tmp", ".hidden.tmp", ".a.0123abcg.tmp", ".a.0123abcd.tmp.txt", "part-000007.parquet"]
    kept += ["part-7.tmp", "my-part-000007.tmp", "journal.arrows", ".hydra/config.yaml", "a.0123abcd.tmp"]
    for name in gone + kept:
        path = tmp_path / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "run" / ".folder.0123abcd.tmp").mkdir()
    other = tmp_path / "other"
    other.mkdir()
    (other / ".elsewhere.0123abcd.tmp").touch()
    (tmp_path / "run" / "link").symlink_to(other)
    (tmp_path / "run" / ".link.0123abcd.tmp").symlink_to(other / ".elsewhere.0123abcd.tmp")
    assert remove_temporary(tmp_path / "run") == len(gone)
    left = {str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert left >= {*kept, ".link.0123abcd.tmp"}
    assert not left & set(gone)
    assert (tmp_path / "run" / ".folder.0123abcd.tmp").is_dir()
    assert (other / ".elsewhere.0123abcd.tmp").exists()
    assert remove_temporary(tmp_path / "nowhere") == 0
