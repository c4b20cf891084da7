"""A trial never outlives its sweep."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from hexlit.lifeline import Lifeline

pytestmark = [pytest.mark.row("D9"), pytest.mark.skipif(os.name != "posix", reason="process groups")]

CHILD = """
import subprocess, sys, time
from hexlit.lifeline import die_with_parent
die_with_parent(int(sys.argv[1]))
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(worker.pid, flush=True)
time.sleep(600)
"""
PARENT = """
import os, subprocess, sys, time
from hexlit.lifeline import Lifeline
sibling = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
lifeline = Lifeline()
child = subprocess.Popen(
    [sys.executable, "-c", sys.argv[1], str(lifeline.fileno())],
    pass_fds=[lifeline.fileno()], start_new_session=sys.argv[2] == "leader", stdout=subprocess.PIPE, text=True,
)
lifeline.started()
print(child.pid, child.stdout.readline().strip(), sibling.pid, flush=True)
time.sleep(600)
"""


def lives(process: psutil.Process) -> bool:
    """A zombie has ended, too."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def ended(*processes: psutil.Process) -> bool:
    """Whether all end within a while."""
    for _ in range(200):
        if not any(map(lives, processes)):
            return True
        time.sleep(0.1)
    return False


def family(kind: str) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A parent in a session of its own, and its child, the child's worker, and the child's sibling."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD, kind], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert parent.stdout is not None
    return parent, [psutil.Process(int(number)) for number in parent.stdout.readline().split()]


@pytest.mark.parametrize("kind", ["leader", "member"])
def test_the_kill_of_the_parent_ends_the_child_and_the_group_that_it_leads(kind: str) -> None:
    parent, (child, worker, sibling) = family(kind)
    try:
        assert lives(child)
        parent.kill()
        parent.wait()
        assert ended(child, *([worker] if kind == "leader" else []))
        assert lives(worker) == (kind == "member")
        assert lives(sibling)
    finally:
        for process in (child, worker, sibling):
            if lives(process):
                process.kill()


def begin(lifeline: Lifeline, code: str) -> subprocess.Popen[str]:
    code = f"import sys; from hexlit.lifeline import die_with_parent; die_with_parent(int(sys.argv[1])); {code}"
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(lifeline.fileno())],
        pass_fds=[lifeline.fileno()],
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    lifeline.started()
    return child


def test_a_child_that_ends_first_ends_well() -> None:
    with Lifeline() as lifeline:
        child = begin(lifeline, "print(input())")
        assert child.communicate("done\n")[0] == "done\n"
        assert child.returncode == 0


def test_one_child_does_not_hold_the_line_of_another() -> None:
    with Lifeline() as one, Lifeline() as other:
        first = begin(one, "print('ready', flush=True); input()")
        second = begin(other, "print('ready', flush=True); input()")
        for child in (first, second):
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        one.close()
        assert first.wait(20) == -signal.SIGKILL
        assert second.poll() is None
        assert second.communicate("\n")[0] == ""
        assert second.returncode == 0
