"""The loss of an output does not end the work, and nothing that is written there misleads."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hexlit.output import display_of
from tests.commands.tiny import TINY

ENDED = "the output cannot be written"


def test_a_reader_that_goes_away_ends_nothing() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        display, file = display_of(stream)
        print("first", file=display, flush=True)
        assert os.read(reading, 100) == b"first\n"
        os.close(reading)
        print("second", file=display, flush=True)
        print("third", file=display, flush=True)
    assert file.error is not None
    assert file.error.errno == errno.EPIPE


def test_a_sign_that_the_encoding_lacks_is_replaced(tmp_path: Path) -> None:
    with (tmp_path / "output").open("w", encoding="ascii") as stream:
        display, _ = display_of(stream)
        print("5×5 · \udcff", file=display, flush=True)
    assert (tmp_path / "output").read_text() == "5?5 ? ?\n"


def test_signs_that_turn_or_break_a_line_are_blanks(tmp_path: Path) -> None:
    with (tmp_path / "output").open("w", encoding="utf-8") as stream:
        display, _ = display_of(stream)
        print("Ann\u202egnp\u2028Bob \u2066x", file=display, flush=True)
    assert (tmp_path / "output").read_text() == "Ann gnp Bob  x\n"


def hexlit(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "hexlit", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_a_full_disk_behind_the_output_is_an_error_of_a_command_that_writes_nothing_else() -> None:
    with Path("/dev/full").open("w") as full:
        ended = hexlit("--version", stdout=full)
        helped = hexlit("solve", "--help", stdout=full)
    for one in (ended, helped):
        assert one.returncode == 2
        assert (
            one.stderr.splitlines()[-1]
            == "hexlit: the output cannot be written (No space left on device)"
        )


def test_closed_streams_are_no_error() -> None:
    assert (
        subprocess.run(
            f"{sys.executable} -m hexlit --version >&- 2>&-", shell=True, check=False
        ).returncode
        == 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("where", ["pipe", "full", "ascii"])
def test_a_training_goes_on_to_its_report_without_a_display(where: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with Path("/dev/full").open("w") as full:
        output = {"pipe": writing, "full": full, "ascii": subprocess.DEVNULL}[where]
        encoding = {"PYTHONIOENCODING": "ascii:strict"} if where == "ascii" else {}
        arguments = [*TINY, "trainer.max_epochs=2", "hydra.run.dir=run", "report=true"]
        ended = hexlit("train", *arguments, stdout=output, cwd=tmp_path, env=os.environ | encoding)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "run/report.html").is_file()
    assert (tmp_path / "run/summary.json").is_file()
    log = (tmp_path / "run/train.log").read_text(encoding="utf-8")
    assert log.count(ENDED) == (where != "ascii")
