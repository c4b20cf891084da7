"""A process that waits for a lock says so."""

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hexlit import locks
from hexlit.locks import alone

HOLDER = """
import sys, time
from pathlib import Path
from hexlit.locks import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "cache" / ".lock"


@pytest.fixture
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds `lock` until it is killed."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(lock)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_wait_is_said_once_and_ends_with_the_holder(
    lock: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also for a holder that was stopped by Ctrl-Z: only the advised signal ends it."""
    monkeypatch.setattr(locks, "SAID_AFTER", 0.01)
    holder.send_signal(signal.SIGSTOP)
    waiter = threading.Thread(target=take, args=[lock])
    waiter.start()
    said = first_line(caplog)
    assert said == f"{lock}: another process holds this file; waiting until it is free"
    holder.send_signal(signal.SIGKILL)
    waiter.join(20)
    assert not waiter.is_alive()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    locks._warn_of_waiting(str(lock))
    assert len(caplog.records) == 1, "a second wait for the same file is not reported"


def take(lock: Path) -> None:
    with alone(lock):
        pass


def first_line(caplog: pytest.LogCaptureFixture) -> str:
    """The first line of the log, as soon as there is one."""
    for _ in range(2000):
        if caplog.records:
            return caplog.records[0].getMessage()
        time.sleep(0.01)
    pytest.fail("nothing was said in 20 seconds")
