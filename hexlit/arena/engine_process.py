"""A foreign program at the other end of two pipes: asked with time-outs, and ended with all its processes."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

from hexlit.arena.game_player import Forfeit

MOST_GARBAGE = 1 << 20
"""Most bytes that a program may print instead of an answer, or in one."""

QUIT_SECONDS = 1.0
"""Time for a program to end after `quit`, and again after a signal."""

_CHUNK = 65536
_LAST_WORDS = 4096
_LONGEST_QUOTE = 200


class Reply(NamedTuple):
    """An answer by the protocol."""

    fine: bool
    """Whether it begins with `=`, rather than `?`."""
    text: str


class EngineProcess:
    """A running program that speaks HTP. It is no child of a shell, and leads a process group of its own.

    Raises:
        Forfeit: the program cannot be started.
    """

    def __init__(self, words: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise Forfeit(f"cannot be started: {words[0]}: {error.strerror}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._said = b""
        self._last_words = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)

    def ask(self, command: str, seconds: float) -> Reply:
        """Send `command` and wait for its answer; raises `Forfeit` if none comes in time, or ever."""
        deadline = time.monotonic() + seconds
        self._drain(deadline)  # output that was not asked for
        self._said = b""
        try:
            os.write(self._stdin.fileno(), f"{command}\n".encode())
        except OSError as error:
            raise Forfeit(f"{self._end()} before {command!r}{self._quote()}") from error
        garbage, lines, printed = "", list[str](), 0
        while True:
            line = self._line(command, deadline, seconds, garbage)
            printed += len(line)
            if lines and not line:
                return Reply(lines[0][0] == "=", "\n".join([lines[0][1:].strip(), *lines[1:]]).strip())
            if lines or line[:1] in ("=", "?"):
                lines.append(line)
            elif line:  # live graphics and other output
                garbage = line
            if printed > MOST_GARBAGE:
                raise Forfeit(f"answers {command!r} with more than {MOST_GARBAGE} bytes, such as {_short(line)!r}")

    def quit(self) -> None:
        """Ask the program to leave, and end it if it does not."""
        try:
            with contextlib.suppress(Forfeit):
                self.ask("quit", QUIT_SECONDS)
                self._wait()
        finally:  # Ctrl-C meanwhile leaves no program behind
            self.kill()

    def abort(self) -> None:
        """End the program at once, from any thread: a waiting `ask` then raises `Forfeit`."""
        self._signal(signal.SIGKILL)

    def kill(self) -> None:
        """End the program and its processes: first by a request, then by force."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            self._wait()
        self._signal(signal.SIGKILL)  # the program, or processes that it has left
        self._process.wait()
        self._selector.close()
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()

    def _line(self, command: str, deadline: float, seconds: float, garbage: str) -> str:
        """The next line of the program's output, without its end."""
        talk = f"; it printed {_short(garbage)!r}" if garbage else ""
        while b"\n" not in self._said:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Forfeit(f"no answer to {command!r} within {seconds:g} s{talk}{self._quote()}")
            if len(self._said) > MOST_GARBAGE:
                raise Forfeit(
                    f"answers {command!r} with a line without an end, {_short(self._said.decode(errors='replace'))!r}"
                )
            if self._stdout not in (key.fileobj for key in self._selector.get_map().values()):
                raise Forfeit(f"{self._end()} at {command!r}{talk}{self._quote()}")
            self._read(left)
        line, _, self._said = self._said.partition(b"\n")
        if time.monotonic() > deadline:
            raise Forfeit(f"no answer to {command!r} within {seconds:g} s{talk}{self._quote()}")
        return line.decode(errors="replace").replace("\r", "").rstrip()

    def _read(self, seconds: float) -> bool:
        """Read the program's output for up to `seconds`; returns whether there was any."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            chunk = os.read(key.fd, _CHUNK)
            if not chunk:
                self._selector.unregister(key.fileobj)
            elif key.fileobj is self._stdout:
                self._said += chunk
            else:
                self._last_words = (self._last_words + chunk)[-_LAST_WORDS:]
        return bool(ready)

    def _drain(self, deadline: float) -> None:
        """Read the output so far, until `deadline` at most if a program never stops printing."""
        while self._read(0.0) and time.monotonic() < deadline:
            self._said = b""

    def _end(self) -> str:
        """The way the program has ended, once it has closed its output."""
        self._wait()
        self._drain(time.monotonic() + QUIT_SECONDS)
        status = self._process.poll()
        if status is None:
            return "closed its output"
        return f"ended by signal {-status}" if status < 0 else f"ended with exit status {status}"

    def _quote(self) -> str:
        lines = [line.strip() for line in self._last_words.decode(errors="replace").splitlines() if line.strip()]
        return f"; its last words: {_short(lines[-1])}" if lines else ""

    def _wait(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(QUIT_SECONDS)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies alone
            os.killpg(self._process.pid, number)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}..."
