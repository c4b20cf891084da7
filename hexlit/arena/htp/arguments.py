"""Arguments of commands: colours, moves and numbers, refused in one line."""

import re

from hexlit.arena.htp.protocol import quoted
from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import SWAP, format_cell, parse_cell

RESIGN = "resign"

_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_LETTERS = {BLACK: "b", WHITE: "w"}
_NAMES = {BLACK: "black", WHITE: "white"}


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
