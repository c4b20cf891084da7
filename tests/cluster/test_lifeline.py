"""A trial never outlives its sweep."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from hexlit.cluster.lifeline import Child
from tests.processes import left_after, living

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="process groups"),
]

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


def test_the_kill_of_the_parent_ends_the_child_and_its_children() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child, worker, sibling = (
        psutil.Process(int(number)) for number in parent.stdout.readline().split()
    )
    try:
        assert living([child])
        parent.kill()
        parent.wait()
        assert not left_after(20, [child, worker])
        assert living([sibling])
    finally:
        for process in living([child, worker, sibling]):
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
    stubborn = begin(
        "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); input()"
    )
    other = begin("print('ready', flush=True); input()")
    for child in (stubborn, other):
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
    stubborn.end(signal.SIGTERM, 0.2)
    assert stubborn.how == "killed by SIGKILL"
    assert other.poll() is None
    other.end(signal.SIGTERM, 20)
    assert other.how == "killed by SIGTERM"
