"""Folders that are built once, whoever asks, and whole or not at all; what no file replaces."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hexlit.files import make_folder_once, write_text_atomic


def test_of_many_who_ask_at_once_one_builds_and_the_others_wait(tmp_path: Path) -> None:
    """D5."""
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


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_builder_that_is_killed_leaves_nothing_that_breaks_the_next(tmp_path: Path) -> None:
    """D5."""
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
