"""The main line of one Hex game in SGF (FF[4] GM[11]), for `loadsgf`: moves, stones set up, and the swap."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hexlit.arena.htp.protocol import quoted
from hexlit.arena.position import Position, empty_position
from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import SWAP, parse_cell

LARGEST_FILE = 1 << 20
"""Bytes; one game has a few thousand."""

DEFAULT_SIZE = 11
SWAP_SIDES = "swap-sides"

_TOKEN = re.compile(r"[();]|([A-Za-z]++)((?:\s*\[(?:\\.|[^\]\\])*\])+)|(\S)", re.DOTALL)
_VALUE = re.compile(r"\[((?:\\.|[^\]\\])*)\]", re.DOTALL)
_SIZE = re.compile(r"([0-9]{1,4})(?::([0-9]{1,4}))?")
_COLOURS = {"B": BLACK, "W": WHITE}
_SETUPS = {"AB": BLACK, "AW": WHITE, "AE": 0}


@dataclass
class Node:
    """One node of a game: stones that are set up, or a move."""

    setup: list[tuple[int, str]] = field(default_factory=list)
    """(colour, cell), colour 0 for one that is emptied."""
    moves: list[tuple[int, str]] = field(default_factory=list)
    """(colour, move); more than one by an old habit."""


@dataclass(frozen=True)
class SgfGame:
    """A main line."""

    size: tuple[int, int]
    """Columns and rows."""
    nodes: list[Node]


def read_sgf(path: Path) -> SgfGame:
    """The main line of the first game in `path`; raises `UsageError` when there is none."""
    try:
        there = path.is_file()
        content = b""
        if there:
            with path.open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # ValueError: a path that cannot be one
        raise UsageError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if not there:
        raise UsageError("there is no such file")
    if len(content) > LARGEST_FILE:
        raise UsageError(f"more than {LARGEST_FILE} bytes are no game")
    return parse_sgf(content.decode("utf-8", errors="replace"))


def parse_sgf(text: str) -> SgfGame:
    """The main line of the first game of `text`; raises `UsageError`."""
    size = (DEFAULT_SIZE, DEFAULT_SIZE)
    nodes: list[Node] = []
    for token in _main_line(text):
        if token == ";":
            nodes.append(Node())
            continue
        if isinstance(token, str) or not nodes:
            continue
        name, values = token
        if name == "GM" and values[0].strip() != "11":
            raise UsageError(f"GM[{quoted(values[0])}]: not a game of Hex, which is GM[11]")
        if name == "SZ":
            match = _SIZE.fullmatch(values[0].strip())
            if match is None:
                raise UsageError(f"SZ[{quoted(values[0])}]: no size of a board")
            size = (int(match[1]), int(match[2] or match[1]))
        elif name in _SETUPS:
            nodes[-1].setup += [(_SETUPS[name], value) for value in values]
        elif name in _COLOURS:
            nodes[-1].moves += [(_COLOURS[name], value) for value in values]
    if not nodes:
        raise UsageError("no game in SGF")
    return SgfGame(size, nodes)


def _main_line(text: str) -> Iterator[str | tuple[str, list[str]]]:
    """Signs and properties (name, values) from the first `(` to the first `)`: a first variation is the main line."""
    inside = False
    for match in _TOKEN.finditer(text[text.find("(") :] if "(" in text else ""):
        name, values, other = match.groups()
        if match[0] == "(":
            inside = True
        elif not inside:
            continue
        elif match[0] == ")":
            return
        elif match[0] == ";":
            yield ";"
        elif other is not None:
            raise UsageError(f"no SGF from {quoted(match.string[match.start() : match.start() + 20])} on")
        else:  # old files write names such as `White`, of which the capitals count
            capitals = "".join(letter for letter in name if letter.isupper())
            yield capitals, [re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL) for value in _VALUE.findall(values)]


def replay(game: SgfGame, count: int | None = None) -> Position:
    """The position after the whole main line, or its first `count` moves; raises `UsageError` where one is illegal.

    Old programs wrote swap-pieces and meant swap-sides: it was that where the swapper also makes the next move. Then
    the stone stays, and only the people behind the colours have changed.
    """
    position = empty_position(game.size[0])
    line: list[tuple[Node, tuple[int, str] | None]] = []
    for node in game.nodes:
        line += [(node, move) for move in node.moves] or [(node, None)]
    played = 0
    set_up = None
    for index, (node, move) in enumerate(line):
        if count is not None and move is not None and played >= count:
            break
        if node is not set_up:
            position = _with_setup(position, node.setup)
            set_up = node
        if move is not None:
            following = next((after[0] for _, after in line[index + 1 :] if after is not None), 0)
            position = _after(position, *move, following)
            played += 1
    return position


def _after(position: Position, colour: int, text: str, following: int) -> Position:
    """The position after one move of `colour`, when `following` (0: nobody) has the next."""
    name = text.strip().lower()
    if name in ("swap", SWAP, SWAP_SIDES):
        sides = following == colour or (following == 0 and name == SWAP_SIDES)
        return position if sides else position.swap(colour)
    if name in ("resign", "forfeit"):
        return position.resign(colour)
    if name in ("", "pass"):
        return position
    return position.place(colour, _cell(name, position.size))


def _with_setup(position: Position, setup: list[tuple[int, str]]) -> Position:
    if not setup:
        return position
    cells = position.cells.copy()
    for colour, name in setup:
        cells[_cell(name, position.size)] = colour
    # Black moves first from an empty board, so with as many stones of either colour it is his turn.
    return position.with_stones(cells, BLACK if np.count_nonzero(cells > 0) <= np.count_nonzero(cells < 0) else WHITE)


def _cell(name: str, size: int) -> int:
    try:
        cell = parse_cell(name, size)
    except UsageError:
        cell = size * size
    if cell == size * size:
        raise UsageError(f"{quoted(name)} is no cell of a {size}x{size} board")
    return cell
