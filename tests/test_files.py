"""Whole files or none, and what no file replaces."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hexlit import files
from hexlit.files import cache_folder, link_atomic, write_json_atomic, write_text_atomic


def test_a_device_or_a_pipe_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    """As root a rename would put a file in the place of /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="Is no regular file"):
        write_text_atomic(pipe, "text")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_json_has_null_for_nan_and_sorted_keys(tmp_path: Path) -> None:
    path = tmp_path / "run" / "summary.json"
    content = {
        "b": float("nan"),
        "a": {"z": float("inf"), "y": [1.5, float("-inf")]},
        "c": np.float32("nan"),
    }
    write_json_atomic(path, {**content, "d": np.array([1, 2]), "e": path.parent, "f": np.True_})
    read = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert list(read) == ["a", "b", "c", "d", "e", "f"]
    assert list(read.values()) == [
        {"y": [1.5, None], "z": None},
        None,
        None,
        [1, 2],
        str(path.parent),
        True,
    ]


def test_what_json_cannot_say_is_refused_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_json_atomic(path, {"games": 1})
    with pytest.raises(TypeError, match="holds a object"):
        write_json_atomic(path, {"games": object()})
    assert json.loads(path.read_text()) == {"games": 1}


def test_a_write_that_fails_midway_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "summary.json"
    write_json_atomic(path, {"games": 1})

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_json_atomic(path, {"games": 2})
    assert json.loads(path.read_text()) == {"games": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["summary.json"]


@pytest.mark.parametrize("named", ["", "relative/cache"])
def test_an_empty_or_relative_cache_folder_counts_as_unset(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "hexlit"
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_user_without_a_home_folder_gets_a_temporary_cache(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as for a number that no user has
    folder = cache_folder()
    assert folder.is_dir()
    assert cache_folder() == folder, "one for the process"
    assert [record.getMessage() for record in caplog.records] == [
        "there is no home folder; XDG_CACHE_HOME can name one for the cache; nothing is kept for later runs"
    ]


WRITER = """
import pathlib, sys, time
from hexlit.files import replacing
with replacing(pathlib.Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_the_next_write_removes_what_a_killed_process_left_beside_its_target(
    tmp_path: Path,
) -> None:
    target = tmp_path / "map [5].json"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, target], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        (unfinished,) = tmp_path.iterdir()
        files._remove_unfinished(target)
        assert unfinished.exists(), "its writer is at work"
        process.kill()
    others = [tmp_path / ".map [5].json.notes.tmp", tmp_path / ".other.json.01234567.tmp"]
    for path in others:
        path.touch()
    files._remove_unfinished.cache_clear()
    write_text_atomic(target, "whole")
    assert target.read_text() == "whole"
    assert sorted(tmp_path.iterdir()) == sorted([*others, target])


COMMAND = """
import sys
from hexlit import cli
from hexlit.commands import solve

def write(argv):
    exec(PROGRAM)

solve.main = write
path = sys.argv[1]
sys.argv = ["hexlit", "solve"]
sys.exit(cli.main())
""".replace("PROGRAM", repr(WRITER.replace("sys.argv[1]", "path")))


def test_sigterm_leaves_no_unfinished_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", COMMAND, str(tmp_path / "proof.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.terminate()
        assert process.wait(20) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("linked", [True, False])
def test_a_further_name_replaces_the_file_that_had_it(
    linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a copy where the file system refuses links; the next file of either name leaves the other."""

    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not linked:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    best, last = tmp_path / "best", tmp_path / "last"
    write_text_atomic(last, "old")
    for content in ("one", "two"):
        write_text_atomic(best, content)
        link_atomic(best, last)
        link_atomic(best, last)
        assert (best.read_text(), last.read_text()) == (content, content)
        assert best.samefile(last) == linked
    write_text_atomic(last, "three")
    assert (best.read_text(), last.read_text()) == ("two", "three")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "last"]
