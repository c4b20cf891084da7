"""Errors of the machine during a command, and odd settings, are told in one line."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hexlit.commands import run_folder
from hexlit.commands.application import machine_error, mistake_of_task
from hexlit.commands.export import main as export
from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.training.phases import read_rows as read_phases
from hexlit.training.tables import EpochTable


def test_what_caused_another_error_is_told_and_a_bug_is_none() -> None:
    outer = RuntimeError("a worker failed")
    outer.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert "No space left on device" in str(machine_error(outer))
    assert machine_error(RuntimeError("bug")) is None
    assert machine_error(OSError("bug")) is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux alone")
def test_a_full_disk_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    """A write on a full disk raises an error without a name."""
    path = tmp_path / "map.json"
    with pytest.raises(OSError, match="No space left") as raised, replacing(path):
        Path("/dev/full").write_bytes(b"content")
    assert (
        str(machine_error(raised.value))
        == f"{path}: cannot be read or written (No space left on device)"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="Linux alone")
def test_a_place_that_cannot_be_written_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert export(["checkpoint=hexlit:small", "target=/proc/x.onnx"]) == 2
    err = capfd.readouterr().err
    assert re.fullmatch(r"hexlit export: /proc/.*: cannot be read or written \(.*\)\n", err), err


def test_a_folder_that_is_removed_under_a_run_ends_it_at_its_next_checkpoint(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    run_folder.claim(folder)
    try:
        shutil.rmtree(folder)
        with pytest.raises(
            UsageError, match="the folder was removed while this command was at work in it"
        ):
            run_folder.check()
        folder.mkdir()
        (folder / ".lock").touch()  # another one's
        with pytest.raises(UsageError, match="was removed"):
            run_folder.check()
    finally:
        run_folder.leave(refused=True)
    assert folder.exists()


GARBAGE = [
    b"\x00\x01\xff\xfe" * 50,
    b"epoch,phase\n1",
    b"epoch,phase,wall_seconds\nx,training,1\n",
    b"\n\n\n,,,\n",
    b"epoch\n" + b"9" * 200_000 + b"\n",
    b"epoch\n1e3\n",
]


@pytest.mark.parametrize("content", GARBAGE, ids=lambda content: repr(content[:20]))
@pytest.mark.parametrize("table", ["phases.csv", "steps.csv"])
def test_garbage_in_a_table_of_the_run_is_refused_in_one_line(
    table: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / table
    path.write_bytes(content)
    if content.startswith(b"epoch,phase\n1"):  # else it is a torn line
        path.write_bytes(content + b"\n")
    if table == "steps.csv" and content.startswith((b"epoch,phase\n1", b"\n\n")):
        path.write_bytes(content + b"\nx\n")
    with pytest.raises(UsageError, match=rf"{table} line \d+: not a row of a") as refused:
        read_phases(path, ["games"]) if table == "phases.csv" else EpochTable(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


WITHOUT_CACHE = """
from hexlit.files import cache_folder
from hexlit.hex import jit
print(cache_folder())
print(jit.FOLDER)
(cache_folder() / "kept").write_text("for this process")
"""


def test_a_cache_that_cannot_be_written_is_warned_of_once_and_done_without(tmp_path: Path) -> None:
    """A file stands where its folder would be.
    The result is kept for this process and those it starts.
    """
    (tmp_path / "cache").write_text("")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_CACHE],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("this cache cannot be written") == 1
    cache, kernels = map(Path, run.stdout.splitlines())
    assert cache.parent.parent == tmp_path
    assert kernels.is_relative_to(cache)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.parametrize(
    "message",
    [
        "unable to allocate shared memory(shm) for file </torch_1_2_0>: No space left on device (28)",
        "DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's workers are out of "
        "shared memory. Please try to raise your shared memory limit.",
    ],
)
def test_too_little_shared_memory_is_one_line(message: str) -> None:
    try:
        try:
            raise RuntimeError(message)
        finally:
            raise RuntimeError("Please call `iter(combined_loader)` first.")
    except RuntimeError as error:
        mistake = mistake_of_task(error)
    assert str(mistake).startswith(
        "accelerator.workers: the loading processes lack shared memory; set "
    )
    circle = RuntimeError("another")
    circle.__context__ = RuntimeError("first")
    circle.__context__.__context__ = circle
    assert mistake_of_task(circle) is None
