"""Child processes that never outlive this one, by a pipe with one end in the parent alone.

Whenever the parent ends, the system closes its end, and the child reads the end of the file.
`Child` is for programs, `spawn_tied` for processes of `multiprocessing`.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

VARIABLE = "HEXLIT_LIFELINE"
"""Environment variable with the number of the child's end of the pipe."""


class Child(subprocess.Popen[bytes]):
    """A program that leads a process group of its own; one of hexlit's ends with this process,
    however that ends.

    Args:
        command: the program and its arguments; no shell reads them.
        tied: whether it is one of hexlit's, which calls `end_with_parent`.
        settings: as for `subprocess.Popen`.

    Raises:
        OSError: the system cannot start it.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        tied: bool = True,
        env: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        # This process must start no others by a bare fork, which would copy its end.
        theirs, ours = os.pipe()
        self._line = Connection(ours, readable=False)  # closed with this object at the latest
        if tied:
            env = {**(os.environ if env is None else env), VARIABLE: str(theirs)}
            settings["pass_fds"] = [theirs, *settings.get("pass_fds", ())]
        try:
            super().__init__(command, env=env, start_new_session=True, **settings)
        finally:
            os.close(theirs)

    def signal_group(self, number: int) -> None:
        """Send a signal to the program and all that it has started."""
        with suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies alone
            os.killpg(self.pid, number)

    def ended_within(self, seconds: float) -> bool:
        """Whether it has ended, or does so within `seconds`."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(seconds)
        return self.returncode is not None

    def end(self, request: int | None = None, seconds: float = 0.0) -> None:
        """End it, and all that it has started: first by the signal `request`, after `seconds` by
        force.
        """
        if request is not None and self.poll() is None:
            self.signal_group(request)
            self.ended_within(seconds)
        self.signal_group(signal.SIGKILL)
        self.wait()
        self._line.close()

    @property
    def how(self) -> str:
        """How it has ended; see `how_ended`."""
        return how_ended(self.poll())


def how_ended(code: int | None) -> str:
    """How a process ended: `killed by SIGKILL`, `exit code 2`; empty after a success, and for None
    while it lives.
    """
    if not code:
        return ""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def last_line(output: bytes | Path) -> str:
    """The beginning of the last line of an output, or of a file with it, that is not blank; empty
    if there is none.
    """
    text = (output.read_bytes() if isinstance(output, Path) else output).decode(errors="replace")
    return next((line.strip()[:300] for line in reversed(text.split("\n")) if line.strip()), "")


def end_with_parent() -> None:
    """Tie this process to the one that has started it as a `Child`; nothing happens in others, and
    in its children.
    """
    if number := os.environ.pop(VARIABLE, None):
        die_with_parent(int(number))


def die_with_parent(descriptor: int) -> None:
    """Kill this process when its parent ends, with all of its process group if it leads one.

    A process that does not lead its group ends alone: the group belongs to another process.
    """
    os.set_inheritable(descriptor, False)
    threading.Thread(target=_watch, args=(descriptor,), name="lifeline", daemon=True).start()


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 64):
        pass
    end = os.killpg if os.getpgid(0) == os.getpid() else os.kill
    end(os.getpid(), signal.SIGKILL)


def spawn_tied(
    context: SpawnContext,
    line: Connection,
    target: Callable[..., None],
    arguments: tuple[Any, ...],
    *,
    name: str,
    niceness: int,
) -> SpawnProcess:
    """Start a process that calls `target(*arguments)`; it is tied to this one, and gives way to it,
    from its start.

    `line` is the reading end of a pipe whose other end this process alone keeps open:
    `context.Pipe(duplex=False)`.
    """
    process = context.Process(
        target=_tied, args=(line, niceness, _Packed((target, arguments))), name=name, daemon=True
    )
    process.start()
    return process


class _Packed:
    """A call that reaches the child as bytes: its imports take seconds, and the lifeline is watched
    before.
    """

    def __init__(self, call: tuple[Callable[..., None], tuple[Any, ...]]) -> None:
        self._call = call

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (bytes(ForkingPickler.dumps(self._call)),)


def _tied(line: Connection, niceness: int, packed: bytes) -> None:
    die_with_parent(line.fileno())
    os.nice(
        niceness
    )  # its imports take seconds, in which this machine also compiles what it needs first
    target, arguments = ForkingPickler.loads(packed)
    target(*arguments)
