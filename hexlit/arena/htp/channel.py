"""The two ends of a conversation: lines that arrive while the program thinks, and the protocol's own output."""

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from hexlit.arena.htp.protocol import LONGEST_LINE, Request, decode, is_interrupt, parse_request

WAITING = 1024
"""Most commands that may wait; then the other side has to wait."""

_CHUNK = 65536


class Numbered(NamedTuple):
    """A command with its place among all commands, from 1."""

    number: int
    request: Request


class Incoming:
    """Reads commands in its own thread, so that `# interrupt` is seen while the command before runs.

    Iterating gives the commands in turn, until the input ends.

    Args:
        source: file descriptor of the input.
        greet: answers a command at once if it can, and says whether it did. After the first command that it leaves,
            every command waits its turn.
    """

    def __init__(self, source: int, greet: Callable[[Request], bool] | None = None) -> None:
        self._source = source
        self._greet = greet
        self._waiting: queue.Queue[Numbered | None] = queue.Queue(WAITING)
        self._arrived = 0
        self._interrupted = 0
        self._ended = False
        self._thread = threading.Thread(target=self._read, name="htp-input", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[Numbered]:
        while (command := self._waiting.get()) is not None:
            yield command

    def interrupted(self, number: int) -> bool:
        """Whether command `number` was followed by `# interrupt`."""
        return self._interrupted >= number

    def followed(self, number: int) -> bool:
        """Whether another command has arrived after command `number`, an interrupt, or the end of the input."""
        return self._ended or self._arrived > number or self.interrupted(number)

    def _read(self) -> None:
        for line, overlong in _lines(self._source):
            text = decode(line)
            if is_interrupt(text):
                self._interrupted = self._arrived
                continue
            request = parse_request(text, overlong=overlong)
            if request is not None and not self._greeted(request):
                self._arrived += 1
                self._waiting.put(Numbered(self._arrived, request))
        self.end()

    def _greeted(self, request: Request) -> bool:
        try:
            if self._greet is not None and self._greet(request):
                return True
        except BrokenPipeError:  # the output is closed: the next answer will notice
            pass
        self._greet = None
        return False

    def end(self) -> None:
        """End the iteration after the commands that wait now."""
        self._ended = True
        self._waiting.put(None)


def _lines(source: int) -> Iterator[tuple[bytes, bool]]:
    """The lines of a file descriptor, and whether each had to be cut; a last one without an end counts, too.

    `os.read` rather than a buffered file: the interpreter cannot end while a thread waits inside one.
    """
    held, overlong = b"", False
    while True:
        try:
            chunk = os.read(source, _CHUNK)
        except OSError:  # a closed input, or a terminal that is gone
            chunk = b""
        first, *others = chunk.split(b"\n")
        for part in [first, *others[:-1]] if others else []:
            line = held + part
            yield line[:LONGEST_LINE], overlong or len(line) > LONGEST_LINE
            held, overlong = b"", False
        held += others[-1] if others else first
        if len(held) > LONGEST_LINE:
            held, overlong = held[:LONGEST_LINE], True
        if not chunk:
            if held:
                yield held, overlong
            return


@contextlib.contextmanager
def private_output() -> Iterator[BinaryIO]:
    """Standard output for the protocol alone; all other output there goes to standard error meanwhile."""
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    try:
        with os.fdopen(os.dup(kept), "wb", buffering=0) as out:
            yield out
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def write(out: BinaryIO, text: str) -> None:
    """Write `text` at once and in full."""
    rest = memoryview(text.encode("utf-8", errors="backslashreplace"))
    while rest:
        rest = rest[out.write(rest) or 0 :]
