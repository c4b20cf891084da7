"""Lines of HTP, the Hex Text Protocol: requests and replies.

It imports only the standard library: the first request is answered before anything else is loaded.
"""

import re
from dataclasses import dataclass

LONGEST_LINE = 65536
"""Most bytes read of a line; the rest of a longer one is dropped, and its command refused."""

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
