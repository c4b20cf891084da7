"""Wolve's text: a game a line, `b a1,w a2,...,w resign,B`, on a 10×10 board; the last field is the
winner.

The first two moves of every game were set, not chosen.
"""

from collections.abc import Iterable, Iterator

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.records.game import (
    RESIGN,
    Place,
    RecordedGame,
    RecordedMove,
    RecordError,
    read_lines,
    told_by_moves,
)

SIZE = 10
OPENING = 2

_COLOURS = {"b": BLACK, "w": WHITE}
_LETTERS = {colour: letter for letter, colour in _COLOURS.items()}
_WINNERS = {"B": BLACK, "W": WHITE}
_CONFLICTS = ("<<<<<<<", "=======", ">>>>>>>")
_ACTIONS = {format_cell(cell, SIZE): cell for cell in range(SIZE**2)} | {"resign": RESIGN}
_NAMES = {action: name for name, action in _ACTIONS.items()}


def read_wolve(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of `lines`, or the error of a line; see `read_lines`."""
    return read_lines(lines, file, _read_line)


def _read_line(text: str, place: Place) -> RecordedGame:
    if text.startswith(_CONFLICTS):
        raise RecordError(
            "merge-conflict marker", f"{text[:20]}: a merge conflict was never resolved", place
        )
    *fields, last = text.split(",")
    moves: list[RecordedMove] = []
    start = 0
    for field in fields:
        colour, _, name = field.partition(" ")
        if colour not in _COLOURS or name not in _ACTIONS:
            message = f"{field[:20]!r} is no move such as 'b a1' on a {SIZE}x{SIZE} board"
            raise RecordError("not a game", message, place.after(start))
        moves.append(RecordedMove(_COLOURS[colour], _ACTIONS[name]))
        start += len(field) + 1
    if last not in _WINNERS or not moves:
        raise RecordError(
            "not a game", f"{last[:20]!r} is no winner, which is B or W", place.after(start)
        )
    return RecordedGame(SIZE, tuple(moves), winner=_WINNERS[last], opening=OPENING, place=place)


def write_wolve(game: RecordedGame) -> str:
    """One line.

    Raises:
        UsageError: the format cannot express this game.
    """
    moves = told_by_moves(game)
    resigned = moves[-1].colour if moves and moves[-1].action == RESIGN else 0
    winner = {colour: letter for letter, colour in _WINNERS.items()}.get(game.winner or -resigned)
    if (
        game.size != SIZE
        or game.setup
        or winner is None
        or not moves
        or any(a not in _NAMES for _, a in moves)
    ):
        raise UsageError(
            f"Wolve's text has {SIZE}x{SIZE} games of stones and resignations, a winner, and no setup"
        )
    return (
        ",".join([*(f"{_LETTERS[colour]} {_NAMES[action]}" for colour, action in moves), winner])
        + "\n"
    )
