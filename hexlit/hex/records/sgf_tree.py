"""The syntax of SGF (FF[1] to FF[4]): the main line of every game of a collection, line by line.

Brackets are counted, and all after the first `)` of a game is skipped; `variations` builds the tree. So no recursion is
as deep as the file is nested, and each character is read once.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hexlit.hex.records.errors import Place, RecordError

ROOT = {"GM", "SZ"}
"""Properties of a first node. One at the start of a variation means that the game before was never closed."""

_TOKEN = re.compile(r"\s*+(?:([();])|([A-Za-z]++)|\[([^\]\\]*+(?:\\.[^\]\\]*+)*+)(\])?|(\S))", re.DOTALL)
_REST_OF_VALUE = re.compile(r"([^\]\\]*+(?:\\.[^\]\\]*+)*+)(\])?", re.DOTALL)
_ESCAPE = re.compile(r"\\(\r\n|\n\r|.)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Property(NamedTuple):
    """A property of a node, such as `AB[a1][b2]`."""

    name: str
    """Its capital letters; the others are ignored, as old files write `White` for `W`."""
    values: list[str]
    """The text between the brackets, escapes included."""
    place: Place


@dataclass(frozen=True)
class SgfGame:
    """The main line of one game."""

    nodes: list[list[Property]]
    place: Place


def read_main_lines(lines: Iterable[str], file: str = "") -> Iterator[SgfGame | RecordError]:
    """The games of a collection in order, or the error of one; text before the first game is skipped."""
    reader = _Reader(file)
    for kind, text, line, column in tokens(lines):
        yield from reader.take(kind, text, Place(file, line, column))
    yield from reader.end()


def unescaped(value: str) -> str:
    """The text that `value` stands for: a backslash before a line's end joins the lines."""
    if "\\" not in value:
        return value
    return _ESCAPE.sub(lambda match: "" if match[1][0] in "\r\n" else match[1], value)


def one_line(text: str) -> str:
    """`text` without line ends, tabs and other control characters, as names of people are written."""
    return _CONTROL.sub(" ", text)


def escaped(text: str) -> str:
    """`text` as the value of a property."""
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\\", "\\\\").replace("]", "\\]")


def capitals(name: str) -> str:
    """The capitals of a property's name; other letters do not count."""
    return name if name.isupper() else "".join(letter for letter in name if letter.isupper())


def tokens(lines: Iterable[str]) -> Iterator[tuple[str, str, int, int]]:
    """(kind, text, line, column): kind is a bracket or `;`, `name`, `value`, `other`, or `open` for a value cut off."""
    value: list[str] = []
    start = (0, 0)
    for number, line in enumerate(lines, 1):
        place = 0
        if value:
            match = _REST_OF_VALUE.match(line)
            assert match is not None  # it matches the empty text
            value.append(match[1])
            if match[2] is None:
                value.append(line[match.end() :])  # a backslash at the very end
                continue
            yield "value", "".join(value), *start
            value = []
            place = match.end()
        while match := _TOKEN.match(line, place):
            place = match.end()
            kind = match.lastindex or 0
            column = match.start(kind) + 1
            if kind == 1:
                yield match[1], match[1], number, column
            elif kind == 2:
                yield "name", match[2], number, column
            elif kind == 4:
                yield "value", match[3], number, match.start(3)
            elif kind == 3:
                value, start = [match[3], line[place:]], (number, match.start(3))
                break
            elif match[5] != "\ufeff":
                yield "other", line[match.start(5) : match.start(5) + 20].rstrip(), number, column
    if value:
        yield "open", "".join(value)[:20], *start


class _Reader:
    """The open game, node and property while the tokens come."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.games = 0
        self.junk: RecordError | None = None
        self._open(Place(file))
        self.depth = 0

    def _open(self, place: Place) -> None:
        self.depth = 1
        self.place = place
        self.nodes: list[list[Property]] = []
        self.node: list[Property] | None = None  # the one that is open, of the main line or not
        self.waiting: Property | None = None  # has no value yet
        self.main = True  # the main line has not ended
        self.branches = False  # the next node is the first of a variation
        self.first_of_branch = False  # the open node is
        self.branch_place = place
        self.error: RecordError | None = None
        self.error_of_node: RecordError | None = None

    def take(self, kind: str, text: str, place: Place) -> Iterator[SgfGame | RecordError]:
        if self.depth == 0:
            if kind == "(":
                if self.junk and self.games:
                    yield self.junk
                self.junk = None
                self._open(place)
            elif self.junk is None:
                said = f"{text[:20]!a}: no game in SGF, which begins with '(;'"
                self.junk = RecordError("not a game", said, place)
            return
        if self.waiting and not self.waiting.values and kind not in ("value", "open"):
            self._wrong(f"the property {self.waiting.name[:20]} has no value", self.waiting.place)
        if kind == "value":
            if self.waiting is None:
                self._wrong(f"the value {text[:20]!a} belongs to no property", place)
            else:
                self.waiting.values.append(text)
            return
        self.waiting = None
        if kind == "(":
            self.depth += 1
            self.node = None
            self.branches = True
            self.branch_place = place
        elif kind == ")":
            self.depth -= 1
            self.main = False
            self.node = None
            if self.depth == 0:
                yield self._ended()
        elif kind == ";":
            self.first_of_branch = self.branches
            self.branches = False
            self.node = []
            self.error_of_node = None
            if self.main:
                self.nodes.append(self.node)
        elif kind == "name":
            yield from self._property(text, place)
        else:
            self._wrong(f"no SGF from {text[:20]!a} on", place)

    def _property(self, text: str, place: Place) -> Iterator[RecordError]:
        name = capitals(text)
        self.waiting = Property(name, [], place)
        if self.node is None:
            self._wrong(f"the property {text[:20]} stands before any ';'", place)
            return
        self.node.append(self.waiting)
        if name in ROOT and self.first_of_branch:
            node, error = self.node, self.error_of_node
            self._wrong("the game is never closed by ')'", self.place)
            yield self._failed()
            self._open(self.branch_place)
            self.error = self.error_of_node = error  # an error of the node is one of its game
            self.node, self.waiting = node, node[-1]
            self.nodes.append(node)
            self.first_of_branch = False

    def end(self) -> Iterator[RecordError]:
        if self.depth:
            self._wrong("the game is never closed by ')'", self.place)
            yield self._failed()
        elif self.junk:
            yield self.junk

    def _wrong(self, said: str, place: Place) -> None:
        error = RecordError("not a game", said, place)
        self.error = self.error or error
        self.error_of_node = self.error_of_node or error

    def _failed(self) -> RecordError:
        self.games += 1
        assert self.error is not None
        return self.error

    def _ended(self) -> SgfGame | RecordError:
        if not self.nodes:
            self._wrong("no game in SGF: it has no ';'", self.place)
        if self.error:
            return self._failed()
        self.games += 1
        return SgfGame(self.nodes, self.place)
