"""F22: a process whose run has lost a rank ends with one line, whatever it waits for."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from hexlit.commands.rank_loss import RankLoss
from hexlit.errors import UsageError

pytestmark = pytest.mark.row("F22")

HOW = "rank 1 ended by signal 9"


def lose_and(loss: RankLoss, work: Callable[[], None], *, tells: bool = True) -> None:
    """A run that does `work` when it loses a rank."""
    with loss.ends_the_block():
        threading.Thread(target=loss.lose, args=(HOW, tells), daemon=True).start()
        work()


def test_what_a_process_waits_for_ends_with_the_loss() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    loss = RankLoss()
    with pytest.raises(UsageError, match=HOW):
        lose_and(loss, lambda: time.sleep(60))
    assert signal.getsignal(signal.SIGUSR1) == before


@pytest.mark.parametrize("error", [RuntimeError("Connection closed by peer"), KeyboardInterrupt()])
def test_an_error_that_comes_of_a_loss_is_told_as_that(error: BaseException) -> None:
    def fail() -> None:
        while not loss.is_known:
            time.sleep(0.001)
        raise error

    loss = RankLoss()
    with pytest.raises(UsageError, match=HOW):
        lose_and(loss, fail)


def test_a_rank_that_is_not_to_tell_ends_in_silence() -> None:
    with pytest.raises(SystemExit) as stop:
        lose_and(RankLoss(), lambda: time.sleep(60), tells=False)
    assert stop.value.code == 2


@pytest.mark.parametrize("error", [UsageError("data.path=x: not there"), KeyboardInterrupt()])
def test_what_was_wrong_without_a_loss_stays(error: BaseException) -> None:
    loss = RankLoss()
    with pytest.raises(type(error)), loss.ends_the_block():
        raise error
    loss.lose(HOW)  # of a run that has ended
    assert loss.how is None


STUCK = """
import re, threading, time
from hexlit.commands import rank_loss

rank_loss.GRACE, rank_loss.LAST, rank_loss._STUCK = 0.1, 0.1, 0.5
loss = rank_loss.RankLoss()
with loss.ends_the_block():
    threading.Thread(target=loss.lose, args=("rank 1 is gone",), daemon=True).start()
    try:
        time.sleep(60)
    except rank_loss.UsageError:
        %s  # as a library that hears no signal
"""


@pytest.mark.parametrize(
    ("wait", "code", "said"),
    [
        ("time.sleep(60)", 2, "hexlit train: rank 1 is gone\n"),
        # Backtracking without end keeps all other threads from running.
        ("re.match('(a+)+b', 'a' * 40)", 1, ""),
    ],
    ids=["a wait", "a wait that lets no thread run"],
)
def test_a_process_that_hears_nothing_is_ended(wait: str, code: int, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", STUCK % wait], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (code, said)


UNHEARD = """
import ctypes, os, signal, threading
from hexlit.commands import rank_loss

def interrupted(number, frame):
    raise KeyboardInterrupt

rank_loss.LAST = 0.1
signal.signal(signal.SIGTERM, interrupted)
with rank_loss.RankLoss().ends_the_block():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time without end, and no signal interrupts it
        ctypes.CDLL(None).pthread_mutex_lock(mutex)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the wait is made of glibc's mutex")
def test_a_termination_that_nobody_hears_ends_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", UNHEARD], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "hexlit train: terminated while it waited for other ranks\n")


def test_a_termination_that_is_heard_is_the_interruption_it_was() -> None:
    def interrupted(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    def terminate() -> None:
        with RankLoss().ends_the_block():
            signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            terminate()
        assert signal.getsignal(signal.SIGTERM) is interrupted
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.signal(signal.SIGTERM, before)
