"""Games of Hex in SGF, FF[4] GM[11]: moves as cells (`B[e5]`) or words, stones set up, and facts about the players.

Programs have written more than the standard knows, and less: `steps` says what is read, `turns.read_swaps` how the
swap is understood.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending
from hexlit.hex.records.game import (
    NAMES,
    PASS,
    SWAP_PIECES,
    Place,
    RecordedGame,
    RecordedMove,
    RecordError,
    check_board,
    parse_point,
    read_swaps,
)

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
                message = f"{text[:20]!a}: no game in SGF, which begins with '(;'"
                self.junk = RecordError("not a game", message, place)
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


DEFAULT_SIZE = 11
WORDS = {name: action for action, name in NAMES.items()} | {"swap": SWAP_PIECES, "": PASS}

_SIZE = re.compile(r"([0-9]{1,4})(?::([0-9]{1,4}))?")
_RESULT = re.compile(r"(b|w|black|white)\s*(?:\+\s*(.*))?", re.IGNORECASE | re.DOTALL)
_OPENING = re.compile(r"opening of ([0-9]{1,3}) moves?")
_COLOURS = {"B": BLACK, "W": WHITE}
_SETUPS = {"AB": BLACK, "AW": WHITE, "AE": 0}
_LETTERS = {BLACK: "B", WHITE: "W"}
_ENDINGS = {
    "r": Ending.RESIGNED,
    "resign": Ending.RESIGNED,
    "f": Ending.FORFEITED,
    "forfeit": Ending.FORFEITED,
    "t": Ending.FORFEITED,
    "time": Ending.FORFEITED,
}
_SAID = {Ending.RESIGNED: "Resign", Ending.FORFEITED: "Forfeit"}

ParseCell = Callable[[str, int, Place], int]
"""(name, size, place) -> cell; raises `RecordError`."""


class Step(NamedTuple):
    """One step of a main line."""

    setup: tuple[tuple[int, int], ...]
    """(colour, cell) of stones set up before the move; colour 0 empties the cell."""
    move: RecordedMove | None
    place: Place


MOST_POINTS = 20_000
"""Points that a game may name where it sets up stones: 29 times all cells of the largest board."""


def read_sgf(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The main lines of a collection, or the error of a game."""
    return read_cells(lines, file, parse_point)


def read_cells(lines: Iterable[str], file: str, parse: ParseCell) -> Iterator[RecordedGame | RecordError]:
    """As `read_sgf`, with names of cells read by `parse`."""
    for game in read_main_lines(lines, file):
        try:
            yield game if isinstance(game, RecordError) else recorded(game, parse)
        except RecordError as error:
            yield error


def board_of(game: SgfGame) -> tuple[int, int]:
    """Columns and rows; raises `RecordError` if the game is not Hex or has no valid size."""
    size = (DEFAULT_SIZE, DEFAULT_SIZE)
    sized = False
    for property_ in (one for node in game.nodes for one in node if one.name in ("GM", "SZ")):
        value = property_.values[0].strip()
        if property_.name == "GM" and value != "11":
            message = f"GM[{value[:20]}]: not a game of Hex, which is GM[11]"
            raise RecordError("another game", message, property_.place)
        if property_.name == "SZ":
            match = _SIZE.fullmatch(value)
            if match is None or sized:
                message = "a second size" if sized else "no size of a board"
                raise RecordError("board size", f"SZ[{value[:20]}]: {message}", property_.place)
            size = (int(match[1]), int(match[2] or match[1]))
            sized = True
    return size


def steps(game: SgfGame, size: int, parse: ParseCell) -> list[Step]:
    """The main line on a `size` x `size` board; a node may have several moves, by an old habit.

    Raises:
        RecordError: a value is no move or no cell.
    """
    result: list[Step] = []
    named = 0
    for node in game.nodes:
        setup: dict[int, int] = {}
        moves: list[Step] = []
        place = game.place
        for property_ in node:
            if property_.name in _SETUPS:
                place = property_.place
                for cells in _points(property_, size, parse):
                    named += len(cells)
                    if named > MOST_POINTS:
                        raise RecordError("setup", f"more than {MOST_POINTS:,} points are named, some often", place)
                    setup.update(dict.fromkeys(cells, _SETUPS[property_.name]))
            elif property_.name in _COLOURS:
                for value in property_.values:
                    action = _action(value, size, parse, property_.place)
                    moves.append(Step((), RecordedMove(_COLOURS[property_.name], action), property_.place))
        if setup:
            result.append(Step(tuple((colour, cell) for cell, colour in setup.items()), None, place))
        result += moves
    swaps = iter(read_swaps([step.move for step in result if step.move]))
    return [step if step.move is None else step._replace(move=next(swaps)) for step in result]


def _action(value: str, size: int, parse: ParseCell, place: Place) -> int:
    name = unescaped(value).strip().lower()
    if name in WORDS:
        return WORDS[name]
    return parse(name, size, place)


def _points(property_: Property, size: int, parse: ParseCell) -> Iterator[list[int]]:
    """The cells of each entry of a list of points; `a1:c3` is a rectangle."""
    for value in property_.values:
        name = unescaped(value).strip().lower()
        if not name and len(property_.values) == 1:
            return  # AE[] and the like: an empty list
        corners = [parse(corner, size, property_.place) for corner in name.split(":", 2)]
        if len(corners) == 1:
            yield corners
        elif len(corners) > 2:
            raise RecordError("setup", f"{name[:20]!a} is no cell and no rectangle such as a1:c3", property_.place)
        else:
            rows, columns = zip(*(divmod(corner, size) for corner in corners), strict=True)
            across = range(min(columns), max(columns) + 1)
            yield [row * size + column for row in range(min(rows), max(rows) + 1) for column in across]


def recorded(game: SgfGame, parse: ParseCell) -> RecordedGame:
    """A line as its file says it; raises `RecordError` where a value is no move, no cell or no board."""
    size = check_board(*board_of(game), game.place)
    setup: dict[int, int] = {}
    moves: list[RecordedMove] = []
    for step in steps(game, size, parse):
        if step.move:
            moves.append(step.move)
        elif moves:
            raise RecordError("setup", "stones are set up after the first move", step.place)
        else:
            for colour, cell in step.setup:
                setup.pop(cell, None)
                if colour:
                    setup[cell] = colour
    root: dict[str, str] = {}
    comments = []
    for property_ in (one for node in game.nodes for one in node):
        if property_.name == "C":
            comments.append(unescaped(property_.values[0]))
        else:
            root.setdefault(property_.name, property_.values[0])
    winner, ending = _result(root.get("RE", ""))
    opening = _OPENING.fullmatch(one_line(unescaped(root.get("ON", ""))))
    black, white, event, date = (one_line(unescaped(root.get(name, ""))) for name in ("PB", "PW", "EV", "DT"))
    return RecordedGame(
        size,
        tuple(moves),
        setup=tuple(RecordedMove(colour, cell) for cell, colour in setup.items()),
        winner=winner,
        ending=ending,
        black=black,
        white=white,
        event=event,
        date=date,
        comment="\n".join(comments),
        opening=int(opening[1]) if opening else 0,
        place=game.place,
    )


def _result(value: str) -> tuple[int, Ending | None]:
    """(winner, ending) of RE: `B+`, `W+Resign`, `B+T`, `B`, or anything else, which names no winner."""
    match = _RESULT.fullmatch(unescaped(value).strip())
    if match is None:
        return 0, None
    return _COLOURS[match[1][0].upper()], _ENDINGS.get((match[2] or "").strip().lower())


def write_sgf(game: RecordedGame, name: str = "") -> str:
    """One game of a collection, called `name`; its comment stands at the last move.

    Raises:
        UsageError: the game is on no board, or has a move that is none.
    """
    message = _SAID.get(game.ending, "") if game.ending else ""
    result = f"{_LETTERS[game.winner]}+{message}" if game.winner else ""
    words = {cell: format_cell(cell, game.size) for cell in range(game.size**2)} | NAMES
    root = {"GN": name, "RE": result, "ON": f"opening of {game.opening} moves" if game.opening else ""}
    return tree(game, "FF[4]GM[11]CA[UTF-8]AP[hexlit]", root, words)


def tree(game: RecordedGame, header: str, root: dict[str, str], words: dict[int, str]) -> str:
    """`game` as a game of a collection.

    Args:
        header: the start of the root.
        root: more properties of the root; empty ones are left out.
        words: names of cells and other actions.
    """
    check_board(game.size, game.size, game.place)
    if not all(move.action in words for move in (*game.setup, *game.moves)):
        raise UsageError("a move that the format has no word for")
    texts = {"PB": game.black, "PW": game.white, "EV": game.event, "DT": game.date, **root}
    properties = [f"{name}[{escaped(one_line(text))}]" for name, text in texts.items() if text]
    for name, colour in (("AB", BLACK), ("AW", WHITE)):
        stones = [words[move.action] for move in game.setup if move.colour == colour]
        properties.append("".join([name, *(f"[{stone}]" for stone in stones)]) if stones else "")
    nodes = [f"{header}SZ[{game.size}]{''.join(properties)}"]
    nodes += [f"{_LETTERS[colour]}[{words[action]}]" for colour, action in game.moves]
    if game.comment:
        nodes[-1] += f"C[{escaped(game.comment)}]"
    return f"(;{';'.join(nodes)})\n"
