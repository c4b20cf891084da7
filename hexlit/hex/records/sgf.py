"""Games of Hex in SGF, FF[4] GM[11]: moves as cells (`B[e5]`) or words, stones set up, and facts
about the players.

Programs have written more than the standard knows, and less: `steps` lists what is read,
`hexlit.hex.records.game.read_swaps` how the swap is understood.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
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

ROOT = {"AP", "CA", "FF", "GM", "SZ"}
"""Properties that a game starts with. At the start of a variation they mean that the game before
was never closed.
"""

_TOKEN = re.compile(
    r"(?P<blank>[\s\ufeff]++)|(?P<left>\()|(?P<right>\))|(?P<node>;)|(?P<name>[A-Za-z]++)"
    r"|\[(?P<value>(?:[^\]\\]++|\\.)*+)\]|\[(?P<open>.*)|(?P<other>[^\s();\[A-Za-z]++)",
    re.DOTALL,
)
_REST_OF_VALUE = re.compile(r"((?:[^\]\\]++|\\.)*+)\]", re.DOTALL)
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
    """The main line of one game, or another line."""

    nodes: list[list[Property]]
    place: Place


class SgfNode(NamedTuple):
    """A node of the tree of a game."""

    parent: int
    """Number of the node before it, -1 for the first."""
    properties: list[Property]


@dataclass(frozen=True)
class SgfTree:
    """All lines of one game: a flat list of nodes, so that nothing is as deep as a file is nested."""

    nodes: list[SgfNode]
    place: Place

    def ends(self) -> list[int]:
        """Number of the last node of each line; the first line is the main one."""
        parents = {node.parent for node in self.nodes}
        return [number for number in range(len(self.nodes)) if number not in parents]

    def line(self, end: int) -> SgfGame:
        """The line from the first node to the node `end`."""
        nodes = []
        while end >= 0:
            nodes.append(self.nodes[end].properties)
            end = self.nodes[end].parent
        return SgfGame(nodes[::-1], self.place)


def read_trees(lines: Iterable[str], file: str = "") -> Iterator[SgfTree | RecordError]:
    """The games of a collection in order, or the error of one; text before the first game is
    skipped.
    """
    game = stray = None
    games = 0
    for kind, text, line, column in tokens(lines):
        place = Place(file, line, column)
        if game and kind == "name" and capitals(text) in ROOT and game.begins_line():
            yield game.unclosed()
            game = _Reader(game.bracket)
            game.take("node", ";", place)
        if game:
            game.take(kind, text, place)
            if not game.brackets:
                yield game.closed()
                game = None
        elif kind == "left":
            if stray and games:
                yield stray
            game, stray = _Reader(place), None
            games += 1
        elif stray is None:
            stray = RecordError(
                "not a game", f"{text[:20]!a}: no game in SGF, which begins with '(;'", place
            )
    if game:
        yield game.unclosed()
    elif stray:
        yield stray


def read_main_lines(lines: Iterable[str], file: str = "") -> Iterator[SgfGame | RecordError]:
    """As `read_trees`, without the variations."""
    for tree in read_trees(lines, file):
        yield tree if isinstance(tree, RecordError) else tree.line(tree.ends()[0])


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
    """(kind, text, line, column): kind is the name of a group of `_TOKEN`; `open` is a value cut
    off at the end.
    """
    value: list[str] = []
    start = (0, 0)
    for number, line in enumerate(lines, 1):
        place = 0
        if value:
            rest = _REST_OF_VALUE.match(line)
            value.append(rest[1] if rest else line)
            if rest is None:
                continue
            yield "value", "".join(value), *start
            value, place = [], rest.end()
        for match in _TOKEN.finditer(line, place):
            kind, column = match.lastgroup or "", match.start() + 1
            if kind == "open":
                value, start = ["", match[kind]], (number, column)
            elif kind != "blank":
                yield kind, match[kind], number, column
    if value:
        yield "open", "".join(value), *start


class _Reader:
    """The open game, node and property while the tokens come."""

    def __init__(self, bracket: Place) -> None:
        self.place = self.bracket = bracket  # of the game and of the last line of it
        self.nodes: list[SgfNode] = []
        self.brackets = [-1]  # for each open one the node before it
        self.at = -1  # the last node of the line
        self.properties: list[Property] | None = None  # of the open node
        self.waiting: Property | None = None  # takes values
        self.first = 0  # number of the first node of the line
        self.error: RecordError | None = None

    def take(self, kind: str, text: str, place: Place) -> None:
        if kind == "value" and self.waiting:
            self.waiting.values.append(text)
            return
        if self.waiting and not self.waiting.values and kind != "open":
            self._wrong(f"the property {self.waiting.name[:20]} has no value", self.waiting.place)
        self.waiting = None
        if kind == "left":
            self.brackets.append(self.at)
            self.bracket, self.first, self.properties = place, len(self.nodes), None
        elif kind == "right":
            self.at, self.properties = self.brackets.pop(), None
        elif kind == "node":
            self.properties = []
            self.nodes.append(SgfNode(self.at, self.properties))
            self.at = len(self.nodes) - 1
        elif kind == "name":
            self.waiting = Property(capitals(text), [], place)
            if self.properties is None:
                self._wrong(f"the property {text[:20]} stands before any ';'", place)
            else:
                self.properties.append(self.waiting)
        elif kind == "value":
            self._wrong(f"the value {text[:20]!a} belongs to no property", place)
        else:
            self._wrong(f"no SGF from {text[:20]!a} on", place)

    def begins_line(self) -> bool:
        """Whether the last tokens are the bracket and the `;` of a variation."""
        return (
            len(self.brackets) > 1 and self.first == len(self.nodes) - 1 and self.properties == []
        )

    def _wrong(self, message: str, place: Place) -> None:
        self.error = self.error or RecordError("not a game", message, place)

    def unclosed(self) -> RecordError:
        return self.error or RecordError(
            "not a game", "the game is never closed by ')'", self.place
        )

    def closed(self) -> SgfTree | RecordError:
        if not self.nodes:
            self._wrong("no game in SGF: it has no ';'", self.place)
        return self.error or SgfTree(self.nodes, self.place)


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


def read_cells(
    lines: Iterable[str], file: str, parse: ParseCell
) -> Iterator[RecordedGame | RecordError]:
    """As `read_sgf`, with names of cells read by `parse`."""
    for game in read_main_lines(lines, file):
        try:
            yield game if isinstance(game, RecordError) else recorded(game, parse)
        except RecordError as error:
            yield error


def _facts(game: SgfGame) -> dict[str, Property]:
    """The first property of each name."""
    first: dict[str, Property] = {}
    for one in chain.from_iterable(game.nodes):
        first.setdefault(one.name, one)
    return first


def board_of(game: SgfGame) -> tuple[int, int]:
    """Columns and rows; raises `RecordError` if the game is not Hex or has no valid size."""
    facts = _facts(game)
    kind, size = (facts[name].values[0].strip() if name in facts else "" for name in ("GM", "SZ"))
    if "GM" in facts and kind != "11":
        raise RecordError(
            "another game",
            f"GM[{kind[:20]}]: not a game of Hex, which is GM[11]",
            facts["GM"].place,
        )
    if "SZ" not in facts:
        return DEFAULT_SIZE, DEFAULT_SIZE
    match = _SIZE.fullmatch(size)
    if match is None:
        raise RecordError("board size", f"SZ[{size[:20]}]: no size of a board", facts["SZ"].place)
    return int(match[1]), int(match[2] or match[1])


def turn_of(game: SgfGame) -> int:
    """Colour whose turn it is by `PL`, 0 without it."""
    facts = _facts(game)
    return _COLOURS.get(facts["PL"].values[0].strip()[:1].upper(), 0) if "PL" in facts else 0


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
        where = game.place
        for name, values, place in node:
            if name in _SETUPS:
                where = place
                for cells in _points(values, size, parse, place):
                    named += len(cells)
                    if named > MOST_POINTS:
                        raise RecordError(
                            "setup",
                            f"more than {MOST_POINTS:,} points are named, some often",
                            place,
                        )
                    setup.update(dict.fromkeys(cells, _SETUPS[name]))
            elif name in _COLOURS:
                for word in map(_word, values):
                    action = WORDS[word] if word in WORDS else parse(word, size, place)
                    moves.append(Step((), RecordedMove(_COLOURS[name], action), place))
        if setup:
            result.append(
                Step(tuple((colour, cell) for cell, colour in setup.items()), None, where)
            )
        result += moves
    swaps = iter(read_swaps([step.move for step in result if step.move]))
    return [step if step.move is None else step._replace(move=next(swaps)) for step in result]


def _word(value: str) -> str:
    return unescaped(value).strip().lower()


def _points(
    values: Sequence[str], size: int, parse: ParseCell, place: Place
) -> Iterator[list[int]]:
    """The cells of each entry of a list of points; `a1:c3` is a rectangle."""
    for name in map(_word, values):
        if not name and len(values) == 1:
            return  # AE[] and the like: an empty list
        if name.count(":") > 1:
            raise RecordError(
                "setup", f"{name[:20]!a} is no cell and no rectangle such as a1:c3", place
            )
        corners = [divmod(parse(corner, size, place), size) for corner in name.split(":")]
        rows, columns = zip(*corners, strict=True)
        down, across = range(min(rows), max(rows) + 1), range(min(columns), max(columns) + 1)
        yield [row * size + column for row, column in product(down, across)]


def recorded(game: SgfGame, parse: ParseCell) -> RecordedGame:
    """A line as its file has it; raises `RecordError` where a value is no move, no cell or no
    board.
    """
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
    facts = {name: unescaped(one.values[0]) for name, one in _facts(game).items()}
    properties = chain.from_iterable(game.nodes)
    comments = [unescaped(one.values[0]) for one in properties if one.name == "C"]
    winner, ending = _result(facts.get("RE", ""))
    opening = _OPENING.fullmatch(one_line(facts.get("ON", "")))
    black, white, event, date = (one_line(facts.get(name, "")) for name in ("PB", "PW", "EV", "DT"))
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
    """(winner, ending) of RE: `B+`, `W+Resign`, `B+T`, `B`, or anything else, which names no
    winner.
    """
    match = _RESULT.fullmatch(value.strip())
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
    root = {
        "GN": name,
        "RE": result,
        "ON": f"opening of {game.opening} moves" if game.opening else "",
    }
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
