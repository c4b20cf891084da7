"""The text of HTP, the Hex Text Protocol: what a line asks for, and how an answer is written."""

import re
from dataclasses import dataclass

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import SWAP, format_cell, parse_cell

RESIGN = "resign"

LONGEST_LINE = 65536
"""Bytes of a line that are read; the rest of a longer one is dropped, and its command refused."""

_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_LETTERS = {BLACK: "b", WHITE: "w"}
_NAMES = {BLACK: "black", WHITE: "white"}
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_INTERRUPT = re.compile(r"\s*#\s*interrupt\s*", re.IGNORECASE)
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_ID = re.compile(r"[0-9]+")
_LONGEST_QUOTE = 60


@dataclass(frozen=True)
class Request:
    """One command of the other side."""

    id: str
    """Its number as it was written, empty where it has none: the answer repeats it."""
    name: str
    """Name of the command, empty where a line has nothing but a number."""
    arguments: tuple[str, ...] = ()
    overlong: bool = False
    """Whether the line was longer than `LONGEST_LINE` and has been cut."""


def decode(line: bytes) -> str:
    """A line as text: control characters dropped but for the tab, what is no UTF-8 replaced."""
    return _CONTROL.sub("", line.decode("utf-8", errors="replace"))


def is_interrupt(text: str) -> bool:
    """Whether a line is the comment `# interrupt`, which stops the thinking."""
    return _INTERRUPT.fullmatch(text) is not None


def parse_request(text: str, *, overlong: bool = False) -> Request | None:
    """The command of a line, None where it has none (empty, or a comment).

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


def parse_colour(text: str) -> int:
    """+1 for Black, -1 for White; raises `UsageError`."""
    colour = _COLOURS.get(text.lower())
    if colour is None:
        raise UsageError(f"colour {quoted(text)}: b, black, w or white is needed")
    return colour


def colour_letter(colour: int) -> str:
    """`b` or `w`."""
    return _LETTERS[colour]


def colour_name(colour: int) -> str:
    """`black` or `white`."""
    return _NAMES[colour]


def parse_move(text: str, size: int) -> int | str:
    """The cell of a move, or `swap-pieces` or `resign`; upper or lower case. Raises `UsageError`."""
    name = text.lower()
    if name in (SWAP, RESIGN):
        return name
    try:
        cell = parse_cell(name, size)
    except UsageError:
        cell = size * size
    if cell == size * size:
        last = format_cell(size * size - 1, size)
        raise UsageError(f"move {quoted(text)}: a cell from a1 to {last}, {SWAP} or {RESIGN} is needed")
    return cell


def parse_number(text: str, name: str, least: float, most: float) -> float:
    """A number in [least, most]; raises `UsageError` that calls it `name`."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not least <= number <= most:
        raise UsageError(f"{name} {quoted(text)}: a number from {least:g} to {most:g} is needed")
    return number


def parse_whole(text: str, name: str, least: int, most: int) -> int:
    """A whole number in [least, most]; raises `UsageError` that calls it `name`."""
    if re.fullmatch(r"[0-9]{1,9}", text) is None or not least <= int(text) <= most:
        raise UsageError(f"{name} {quoted(text)}: a whole number from {least} to {most} is needed")
    return int(text)
