"""HTP, the Hex Text Protocol: its lines, the two ends of a conversation, and the table of commands.

It imports only the standard library: requests about the program itself are answered before anything
else is loaded.
"""

import contextlib
import importlib
import os
import queue
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from hexlit import __version__

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


def decode(line: bytes) -> str:
    """A line as text: control characters other than the tab are dropped, invalid UTF-8 is
    replaced.
    """
    return _CONTROL.sub("", line.decode("utf-8", errors="replace"))


def is_interrupt(text: str) -> bool:
    """Whether a line is the comment `# interrupt`, which stops the thinking."""
    return _INTERRUPT.fullmatch(text) is not None


def parse_request(text: str) -> Request | None:
    """The command of a line, None without one (empty, or a comment).

    Words are separated by blanks and tabs; a word in double quotes may have blanks in it.
    """
    words = [
        match[1] if match[2] is None else match[2]
        for match in _WORD.finditer(text.partition("#")[0])
    ]
    if not words:
        return None
    id_ = words.pop(0) if _ID.fullmatch(words[0]) else ""
    name, *arguments = words or [""]
    return Request(id_, name, tuple(arguments))


def format_reply(request: Request, text: str, *, success: bool) -> str:
    """The answer to `request`, ended by its one blank line; blank lines within `text` are
    dropped.
    """
    first, *others = text.split("\n")
    lines = [first.rstrip()]
    for line in others:
        if line.strip():
            lines.append(line.rstrip())
    sign = "=" if success else "?"
    reply = "\n".join(lines)
    return f"{sign}{request.id} {reply}\n\n"


def quoted(text: str) -> str:
    """`text` from outside as part of a message: printable, in quotes, and not too long."""
    return ascii(text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}...")


class Incoming:
    """Reads commands in a separate thread, so that `# interrupt` is seen while the command before
    runs.

    Iterating gives the commands in turn with their numbers from 1, until the input ends.

    Args:
        source: file descriptor of the input.
        write: writes the answers to questions about the program itself, at once: those before the
            first other command.
    """

    def __init__(self, source: int, write: Callable[[str], None] | None = None) -> None:
        self._source = source
        self._write = write
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
        """Whether another command has arrived after command `number`, an interrupt, or the end of
        the input.
        """
        return self._ended or self._arrived > number or self.interrupted(number)

    def _read(self) -> None:
        for line in _lines(self._source):
            text = decode(line)
            if is_interrupt(text):
                self._interrupted = self._arrived
                continue
            request = parse_request(text)
            if request is None:
                continue
            if self._write is not None:
                known = known_answer(request)
                if known is not None:
                    # Where the output is closed, the next answer will notice.
                    with contextlib.suppress(BrokenPipeError):
                        self._write(format_reply(request, known, success=True))
                    continue
            self._write = None
            self._arrived += 1
            self._waiting.put((self._arrived, request))
        self.end()

    def end(self) -> None:
        """End the iteration after the commands that wait now."""
        self._ended = True
        self._waiting.put(None)


def _lines(source: int) -> Iterator[bytes]:
    """The lines of a file descriptor; a last one without an end counts, too.

    `os.read` rather than a buffered file: the interpreter cannot end while a thread waits inside
    one.
    """
    held = b""
    with contextlib.suppress(OSError):  # a closed input, or a terminal that is gone
        while chunk := os.read(source, _CHUNK):
            *lines, held = (held + chunk).split(b"\n")
            yield from lines
    if held:
        yield held


@contextlib.contextmanager
def private_output() -> Iterator[BinaryIO]:
    """Standard output for the protocol alone; all other output there goes to standard error
    meanwhile.
    """
    original = os.dup(1)
    os.dup2(2, 1)
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


Action = Callable[..., str | None]
"""Carries a command out for a session and arguments; returns the answer's text, if any, or raises
`UsageError` with nothing done.
"""


class Command(NamedTuple):
    """One command of the protocol."""

    run: str | Callable[..., str]
    """Name of its function in `hexlit.arena.htp.actions`, or a function of the arguments alone."""
    takes: str = ""
    """Names of the arguments; those in brackets may be left out."""
    thinks: bool = False
    """Whether it needs the thinker, and so waits until it is ready."""
    menu: tuple[str, str] | None = None
    """Type and label of its entry in a program's menu."""

    def takes_number(self, given: int) -> bool:
        """Whether it takes this number of arguments."""
        names = self.takes.split()
        return sum(not name.startswith("[") for name in names) <= given <= len(names)

    def action(self) -> Action:
        """Its function of session and arguments; imports all actions."""
        if isinstance(self.run, str):
            action: Action = getattr(importlib.import_module("hexlit.arena.htp.actions"), self.run)
            return action
        answer = self.run
        return lambda session, *arguments: answer(*arguments)


def _analysis(function: str, kind: str, label: str, *, thinks: bool = True) -> Command:
    """A command of a colour, in the menu of a program that shows the board."""
    return Command(function, "COLOR", thinks, (kind, label))


def _menu() -> str:
    entries = [
        (name, command.menu) for name, command in COMMANDS.items() if command.menu is not None
    ]
    return "\n".join(f"{kind}/{label}/{name} %c" for name, (kind, label) in entries)


QUIT = "quit"

COMMANDS: dict[str, Command] = {
    "protocol_version": Command(lambda: "2"),
    "name": Command(lambda: "hexlit"),
    "version": Command(lambda: __version__),
    "known_command": Command(lambda name: "true" if name in COMMANDS else "false", "COMMAND"),
    "list_commands": Command(lambda: "\n".join(COMMANDS)),
    QUIT: Command(lambda: ""),
    "boardsize": Command("boardsize", "W [H]"),
    "clear_board": Command("clear_board"),
    "play": Command("play", "COLOR MOVE"),
    "genmove": Command("genmove", "COLOR", thinks=True),
    "reg_genmove": Command("reg_genmove", "COLOR", thinks=True),
    "undo": Command("undo"),
    "showboard": Command("showboard"),
    "final_score": Command("final_score"),
    "all_legal_moves": Command("all_legal_moves"),
    "loadsgf": Command("loadsgf", "FILE [N]"),
    "time_left": Command("time_left", "[COLOR [SECONDS [MOVES]]]"),
    "time_settings": Command("time_settings", "MAIN EXTRA MOVES"),
    "param_game": Command("param_game", "[NAME [VALUE]]"),
    "hexgui-analyze_commands": Command(_menu),
    "gogui-gfx-analyze": _analysis("analyze", "gfx", "Live analysis"),
    "hexlit-best": _analysis("search_summary", "string", "Search: best move"),
    "hexlit-winrates": _analysis("search_winrates", "pspairs", "Search: winning chances (%)"),
    "hexlit-visits": _analysis("search_visits", "pspairs", "Search: visits"),
    "hexlit-priors": _analysis("search_priors", "pspairs", "Search: priors (%)"),
    "hexlit-variation": _analysis("search_variation", "varc", "Search: expected moves"),
    "hexlit-policy": _analysis("network_policy", "pspairs", "Network: policy (%)"),
    "hexlit-map": _analysis("network_map", "pspairs", "Network: chances after each move (%)"),
    "hexlit-chance": _analysis("network_value", "string", "Network: winning chance"),
    "hexlit-winning": _analysis("winning_moves", "plist", "Exact winning moves", thinks=False),
    "dfpn-solve-state": _analysis("winner", "string", "Exact winner", thinks=False),
}


def known_answer(request: Request) -> str | None:
    """The answer to a question about the program itself; None where it takes a session, or is an
    error.
    """
    command = COMMANDS.get(request.name)
    if command is None or isinstance(command.run, str) or request.name == QUIT:
        return None
    return command.run(*request.arguments) if command.takes_number(len(request.arguments)) else None
