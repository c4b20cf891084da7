"""A child that never outlives its parent, by a pipe with one end in the parent alone.

Whenever the parent ends, the system closes its end, and the child reads the end of the file. `Lifeline` is for
programs, `spawn_tied` for processes of `multiprocessing`.
"""

import os
import signal
import stat
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.reduction import ForkingPickler
from types import TracebackType
from typing import Any

from hexlit.errors import UsageError


class Lifeline:
    """The parent's side. Closing it while the child lives ends the child; in a `with` block it closes at its end.

    The child is started with `start_new_session=True` and `pass_fds=[lifeline.fileno()]`, is told the number, and
    calls `die_with_parent` with it. The parent must start no processes by a bare fork, which would copy its end.
    """

    def __init__(self) -> None:
        self._read: int | None
        self._write: int | None
        self._read, self._write = os.pipe()

    def fileno(self) -> int:
        """The child's end, for `subprocess.Popen(pass_fds=...)`."""
        if self._read is None:
            raise ValueError("the child's end was closed")
        return self._read

    def started(self) -> None:
        """Close this process's copy of the child's end, once the child has its own."""
        if self._read is not None:
            os.close(self._read)
            self._read = None

    def close(self) -> None:
        """Close the lifeline: a child that still lives is killed."""
        self.started()
        if self._write is not None:
            os.close(self._write)
            self._write = None

    def __enter__(self) -> "Lifeline":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def die_with_parent(descriptor: int) -> None:
    """Kill this process when its parent ends, with all of its process group if it leads one.

    A process that does not lead its group ends alone: the group belongs to another process. Raises `UsageError` if
    `descriptor` is not the end of a pipe.
    """
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        is_pipe = False
    if not is_pipe:
        raise UsageError(f"{descriptor} is no descriptor of a pipe that the parent has passed on")
    os.set_inheritable(descriptor, False)
    threading.Thread(target=_watch, args=(descriptor,), name="lifeline", daemon=True).start()


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 64):
        pass
    if os.getpgid(0) == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def spawn_tied(
    context: SpawnContext, line: Connection, target: Callable[..., None], arguments: tuple[Any, ...], name: str
) -> SpawnProcess:
    """Start a process that calls `target(*arguments)`; it is tied to this one from its start.

    `line` is the reading end of a pipe whose other end this process alone keeps open: `context.Pipe(duplex=False)`.
    """
    process = context.Process(target=_tied, args=(line, _LateCall(target, arguments)), name=name, daemon=True)
    process.start()
    return process


class _LateCall:
    """A call that is unpickled only when it is made: its imports take seconds, and the lifeline is watched before."""

    def __init__(self, target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._call = target, arguments

    def __getstate__(self) -> dict[str, Any]:
        return {"packed": bytes(ForkingPickler.dumps(self._call))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._packed: bytes = state["packed"]

    def __call__(self) -> None:
        target, arguments = ForkingPickler.loads(self._packed)
        target(*arguments)


def _tied(line: Connection, call: _LateCall) -> None:
    die_with_parent(line.fileno())
    call()
