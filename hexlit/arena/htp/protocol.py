"""HTP, the Hex Text Protocol: its lines, and the two ends of a conversation.

It imports only the standard library: the first request is answered before anything else is loaded.
"""

import contextlib
import os
import queue
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

LONGEST_LINE = 65536
"""Most bytes read of a line; the rest of a longer one is dropped, and its command refused."""

WAITING = 1024
"""Most commands that may wait; then the other side has to wait."""

_CHUNK = 65536
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_INTERRUPT = re.compile(r"\s*#\s*interrupt\s*", re.IGNORECASE)
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_ID = re.compile(r"[0-9]+")
_LONGEST_QUOTE = 60


@dataclass(frozen=True)
class Request:
    """One command of the other side."""

    id: str
    """Its number as written, empty without one; the answer repeats it."""
    name: str
    """Name of the command, empty if the line has only a number."""
    arguments: tuple[str, ...] = ()
    overlong: bool = False
    """Whether the line was longer than `LONGEST_LINE` and has been cut."""


def decode(line: bytes) -> str:
    """A line as text: control characters other than the tab are dropped, invalid UTF-8 is replaced."""
    return _CONTROL.sub("", line.decode("utf-8", errors="replace"))


def is_interrupt(text: str) -> bool:
    """Whether a line is the comment `# interrupt`, which stops the thinking."""
    return _INTERRUPT.fullmatch(text) is not None


def parse_request(text: str, *, overlong: bool = False) -> Request | None:
    """The command of a line, None without one (empty, or a comment).

    Words are separated by blanks and tabs; a word in double quotes may have blanks in it.
    """
    words = [match[1] if match[2] is None else match[2] for match in _WORD.finditer(text.partition("#")[0])]
    if not words:
        return None
    id_ = words.pop(0) if _ID.fullmatch(words[0]) else ""
    name, *arguments = words or [""]
    return Request(id_, name, tuple(arguments), overlong)


def format_reply(request: Request, text: str, *, success: bool) -> str:
    """The answer to `request`, ended by its one blank line; blank lines within `text` are dropped."""
    first, *others = text.split("\n")
    lines = [first.rstrip(), *(line.rstrip() for line in others if line.strip())]
    return f"{'=' if success else '?'}{request.id} " + "\n".join(lines) + "\n\n"


def quoted(text: str) -> str:
    """`text` from outside as part of a message: printable, in quotes, and not too long."""
    return ascii(text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}...")


class Incoming:
    """Reads commands in its own thread, so that `# interrupt` is seen while the command before runs.

    Iterating gives the commands in turn with their numbers from 1, until the input ends.

    Args:
        source: file descriptor of the input.
        greet: answers a command at once if it can, and says whether it did. After the first command that it leaves,
            every command waits its turn.
    """

    def __init__(self, source: int, greet: Callable[[Request], bool] | None = None) -> None:
        self._source = source
        self._greet = greet
        self._waiting: queue.Queue[tuple[int, Request] | None] = queue.Queue(WAITING)
        self._arrived = 0
        self._interrupted = 0
        self._ended = False
        self._thread = threading.Thread(target=self._read, name="htp-input", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[tuple[int, Request]]:
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
                self._waiting.put((self._arrived, request))
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
    original = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
    try:
        with os.fdopen(os.dup(original), "wb", buffering=0) as out:
            yield out
    finally:
        os.dup2(original, 1)
        os.close(original)


def write(out: BinaryIO, text: str) -> None:
    """Write `text` at once and in full."""
    rest = memoryview(text.encode("utf-8", errors="backslashreplace"))
    while rest:
        rest = rest[out.write(rest) or 0 :]
