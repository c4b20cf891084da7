"""Trials of a sweep in processes that are forked, with all imported that a trial needs: to import
it takes a second.

`fork_trials`, called before the sweep begins, forks a process that does nothing but fork trials.
The sweep itself is unchanged: it begins, watches and ends what it takes for `python -m hexlit
ARGUMENTS` in a session of its own.
"""

import fcntl
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

FORKED = """
from tests.tuning.forked import fork_trials

fork_trials()
"""
"""A program that begins with this forks the trials of its sweep."""
STAND_IN = Path(__file__).parent / "stand_in"
_HIGH = 200
"""File descriptors from here on are free for the tests."""


def fork_trials() -> None:
    """Have the sweeps of this process fork their trials;
    it has one thread by now, and has begun nothing.
    """
    from hexlit.tuning import processes

    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        _without_others(theirs.fileno())
        _fork_on_request(theirs)
    theirs.close()
    lock = threading.Lock()

    def begin(arguments: Sequence[str], **settings: Any) -> ForkedTrial:
        with lock:
            return ForkedTrial(ours, arguments, **settings)

    names = {name: getattr(subprocess, name) for name in ("DEVNULL", "STDOUT", "TimeoutExpired")}
    vars(processes)["subprocess"] = SimpleNamespace(Popen=begin, **names)


class ForkedTrial:
    """The part of `subprocess.Popen` that a runner uses."""

    def __init__(
        self,
        forker: socket.socket,
        arguments: Sequence[str],
        *,
        stdin: int,
        stdout: IO[bytes],
        stderr: int,
        env: Mapping[str, str],
        start_new_session: bool,
        pass_fds: Sequence[int],
    ) -> None:
        assert list(arguments[:3]) == [sys.executable, "-m", "hexlit"]
        assert (stdin, stderr, start_new_session) == (subprocess.DEVNULL, subprocess.STDOUT, True)
        self.args = arguments
        self.returncode: int | None = None
        self._news, theirs = socket.socketpair(type=socket.SOCK_DGRAM)  # one message at a time
        asked = {
            "arguments": arguments[3:],
            "env": dict(env),
            "folder": str(Path.cwd()),
            "passed": list(pass_fds),
        }
        text = json.dumps(asked).encode()
        with theirs:
            socket.send_fds(
                forker,
                [len(text).to_bytes(4, "big")],
                [theirs.fileno(), stdout.fileno(), *pass_fds],
            )
            forker.sendall(text)
        self.pid = int(self._news.recv(20))

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._news.settimeout(timeout)
            try:
                self.returncode = int(self._news.recv(20))
            except TimeoutError:
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout) from None
            self._news.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def _fork_on_request(requests: socket.socket) -> None:
    """Until the sweep's process has ended."""
    os.chdir("/")
    while True:
        length, received, _, _ = socket.recv_fds(requests, 4, 8)
        if not length:
            os._exit(0)
        text = b""
        while len(text) < int.from_bytes(length, "big"):
            text += requests.recv(2**16)
        if os.fork() == 0:
            requests.close()
            _watch_trial(received, **json.loads(text))
        for descriptor in received:
            os.close(descriptor)


def _watch_trial(received: list[int], **asked: Any) -> None:
    """Fork a trial, which tells its number, and tell how it ended."""
    trial = os.fork()
    if trial == 0:
        told, console, *passed = received
        _become_trial(told, console, dict(zip(asked.pop("passed"), passed, strict=True)), **asked)
    _without_others(received[0])
    _, status = os.waitpid(trial, 0)
    os.write(received[0], str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become_trial(
    told: int,
    console: int,
    passed: Mapping[int, int],
    *,
    arguments: list[str],
    env: dict[str, str],
    folder: str,
) -> None:
    os.setsid()  # before anybody can ask for its session
    os.write(told, str(os.getpid()).encode())
    moved = {
        number: fcntl.fcntl(descriptor, fcntl.F_DUPFD, _HIGH)
        for number, descriptor in passed.items()
    }
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for output in (1, 2):
        os.dup2(console, output)
    os.closerange(3, _HIGH)
    for number, descriptor in moved.items():
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None  # of this environment
    sys.stdout, sys.stderr = (os.fdopen(output, "w", 1, closefd=False) for output in (1, 2))
    code = 1
    try:
        runpy.run_path(str(STAND_IN / "sitecustomize.py"))
        from hexlit.cli import main

        sys.argv = ["hexlit", *arguments]
        code = main(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _without_others(descriptor: int) -> None:
    """Close what was inherited, but for `descriptor` and the three that every process has."""
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, 4096)
