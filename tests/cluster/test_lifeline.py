"""A trial never outlives its sweep."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from hexlit.cluster.lifeline import Child

pytestmark = [pytest.mark.row("D9"), pytest.mark.skipif(os.name != "posix", reason="process groups")]

CHILD = """
import subprocess, sys, time
from hexlit.cluster.lifeline import end_with_parent
end_with_parent()
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(worker.pid, flush=True)
time.sleep(600)
"""
PARENT = """
import os, subprocess, sys, time
from hexlit.cluster.lifeline import Child
sibling = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
child = Child([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
print(child.pid, child.stdout.readline().decode().strip(), sibling.pid, flush=True)
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


def test_the_kill_of_the_parent_ends_the_child_and_its_children() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, CHILD], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child, worker, sibling = (psutil.Process(int(number)) for number in parent.stdout.readline().split())
    try:
        assert lives(child)
        parent.kill()
        parent.wait()
        assert ended(child, worker)
        assert lives(sibling)
    finally:
        for process in (child, worker, sibling):
            if lives(process):
                process.kill()


def begin(code: str) -> Child:
    code = f"from hexlit.cluster.lifeline import end_with_parent; end_with_parent(); {code}"
    return Child([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_a_child_that_ends_first_ends_well() -> None:
    child = begin("print(input())")
    assert child.communicate(b"done\n")[0] == b"done\n"
    child.end()
    assert child.how == ""


def test_a_child_ends_on_request_or_by_force_and_says_how() -> None:
    stubborn = begin("import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); input()")
    other = begin("print('ready', flush=True); input()")
    for child in (stubborn, other):
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
    stubborn.end(signal.SIGTERM, 0.2)
    assert stubborn.how == "killed by SIGKILL"
    assert other.poll() is None
    other.end(signal.SIGTERM, 20)
    assert other.how == "killed by SIGTERM"
