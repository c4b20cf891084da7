"""Folders that are built once, whoever asks, and whole or not at all; what no file replaces."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from hexlit.files import make_folder_once, write_json_atomic, write_text_atomic


@pytest.mark.row("D5")
def test_of_many_who_ask_at_once_one_builds_and_the_others_wait(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "it"
    built = []

    def build(target: Path) -> None:
        built.append(target)
        time.sleep(0.2)
        (target / "whole").write_text("all of it")

    def ask() -> None:
        make_folder_once(folder, build)
        found.append((folder / "whole").read_text())

    found: list[str] = []
    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert found == ["all of it"] * 6
    assert sorted(path.name for path in folder.parent.iterdir()) == [".lock", "it"]


def test_a_folder_that_was_built_is_not_built_again(tmp_path: Path) -> None:
    make_folder_once(tmp_path / "it", lambda target: (target / "first").touch())
    make_folder_once(tmp_path / "it", lambda target: (target / "second").touch())
    assert [path.name for path in (tmp_path / "it").iterdir()] == ["first"]


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(target: Path) -> None:
        (target / "half").touch()
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        make_folder_once(tmp_path / "it", fail)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    make_folder_once(tmp_path / "it", lambda target: (target / "whole").touch())
    assert (tmp_path / "it" / "whole").exists()


@pytest.mark.row("D5")
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_builder_that_is_killed_leaves_nothing_that_breaks_the_next(tmp_path: Path) -> None:
    program = (
        "import os, signal; from pathlib import Path; from hexlit.files import make_folder_once\n"
        "def build(target):\n"
        "    (target / 'half').touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"make_folder_once(Path({str(tmp_path / 'it')!r}), build)"
    )
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".it.*.building"))) == 1
    make_folder_once(tmp_path / "it", lambda target: (target / "whole").touch())
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "it"]
    assert [path.name for path in (tmp_path / "it").iterdir()] == ["whole"]


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
    write_json_atomic(
        path,
        {
            "b": float("nan"),
            "a": {"z": float("inf"), "y": [1.5, float("-inf")]},
            "c": np.float32("nan"),
            "d": np.array([1, 2]),
            "e": path.parent,
            "f": np.True_,
        },
    )
    text = path.read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    read = json.loads(text)
    assert list(read) == ["a", "b", "c", "d", "e", "f"]
    assert read["a"] == {"y": [1.5, None], "z": None}
    assert (read["b"], read["c"], read["d"], read["e"], read["f"]) == (None, None, [1, 2], str(path.parent), True)


def test_what_json_cannot_say_is_refused_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_json_atomic(path, {"games": 1})
    with pytest.raises(TypeError, match="holds a object"):
        write_json_atomic(path, {"games": object()})
    assert json.loads(path.read_text()) == {"games": 1}


def test_a_write_that_fails_midway_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.json"
    write_json_atomic(path, {"games": 1})

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_json_atomic(path, {"games": 2})
    assert json.loads(path.read_text()) == {"games": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["summary.json"]
