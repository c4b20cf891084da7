"""A child that never outlives its parent, by a pipe with one end in the parent alone.

Whenever the parent ends, the system closes its end, and the child reads the end of the file. `Lifeline` is for
programs, `spawn_tied` for processes of `multiprocessing`.
"""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any


class Lifeline(ExitStack):
    """The parent's side. Closing it while the child lives ends the child; in a `with` block it closes at its end.

    The child is started with `start_new_session=True` and `pass_fds=[lifeline.fileno()]`, is told the number, and
    calls `die_with_parent` with it. The parent must start no processes by a bare fork, which would copy its end.
    """

    def __init__(self) -> None:
        super().__init__()
        read, write = os.pipe()
        self._of_child = self.enter_context(os.fdopen(read, "rb", buffering=0))
        self.enter_context(os.fdopen(write, "wb", buffering=0))

    def fileno(self) -> int:
        """The child's end, for `subprocess.Popen(pass_fds=...)`."""
        return self._of_child.fileno()

    def started(self) -> None:
        """Close this process's copy of the child's end, once the child has its own."""
        self._of_child.close()


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
    context: SpawnContext, line: Connection, target: Callable[..., None], arguments: tuple[Any, ...], name: str
) -> SpawnProcess:
    """Start a process that calls `target(*arguments)`; it is tied to this one from its start.

    `line` is the reading end of a pipe whose other end this process alone keeps open: `context.Pipe(duplex=False)`.
    """
    process = context.Process(target=_tied, args=(line, _Packed((target, arguments))), name=name, daemon=True)
    process.start()
    return process


class _Packed:
    """A call that reaches the child as bytes: its imports take seconds, and the lifeline is watched before."""

    def __init__(self, call: tuple[Callable[..., None], tuple[Any, ...]]) -> None:
        self._call = call

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (bytes(ForkingPickler.dumps(self._call)),)


def _tied(line: Connection, packed: bytes) -> None:
    die_with_parent(line.fileno())
    target, arguments = ForkingPickler.loads(packed)
    target(*arguments)
