"""Wolve's text: a game a line, `b a1,w a2,...,w resign,B`, on a 10×10 board; the last field is the winner.

The first two moves of every game were set, not chosen.
"""

from collections.abc import Iterable, Iterator

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.records.errors import Place, RecordError
from hexlit.hex.records.game import NAMES, RESIGN, RecordedGame, RecordedMove

SIZE = 10
OPENING = 2

_COLOURS = {"b": BLACK, "w": WHITE}
_LETTERS = {colour: letter for letter, colour in _COLOURS.items()}
_WINNERS = {"B": BLACK, "W": WHITE}
_CONFLICTS = ("<<<<<<<", "=======", ">>>>>>>")
_ACTIONS = {format_cell(cell, SIZE): cell for cell in range(SIZE**2)} | {"resign": RESIGN}


def read_wolve(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of `lines`, or what is wrong with a line that is none; empty lines are passed over."""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        try:
            yield _read_line(text, Place(file, number))
        except RecordError as error:
            yield error


def _read_line(text: str, place: Place) -> RecordedGame:
    if text.startswith(_CONFLICTS):
        raise RecordError("merge-conflict marker", f"{text[:20]}: a merge conflict was never resolved", place)
    *fields, last = text.split(",")
    moves = []
    column = 1
    for field in fields:
        colour, _, name = field.partition(" ")
        if colour not in _COLOURS or name not in _ACTIONS:
            said = f"{field[:20]!r} is no move such as 'b a1' on a {SIZE}x{SIZE} board"
            raise RecordError("not a game", said, Place(place.file, place.line, column))
        moves.append(RecordedMove(_COLOURS[colour], _ACTIONS[name]))
        column += len(field) + 1
    if last not in _WINNERS or not moves:
        said = f"{last[:20]!r} is no winner, which is B or W"
        raise RecordError("not a game", said, Place(place.file, place.line, column))
    return RecordedGame(SIZE, tuple(moves), winner=_WINNERS[last], opening=OPENING, place=place)


def write_wolve(game: RecordedGame) -> str:
    """One line.

    Raises:
        RecordError: the format cannot say this game.
    """
    winner = {colour: letter for letter, colour in _WINNERS.items()}.get(game.winner)
    if game.size != SIZE or game.setup or winner is None:
        what = f"a {game.size}x{game.size} game" if game.size != SIZE else "setup" if game.setup else "no winner"
        said = f"Wolve's text has {SIZE}x{SIZE} games with a winner, not {what}"
        raise RecordError("cannot be written", said, game.place)
    fields = []
    for colour, action in game.moves:
        if action < 0 and action != RESIGN:
            raise RecordError("cannot be written", f"Wolve's text knows no {NAMES[action]}", game.place)
        fields.append(f"{_LETTERS[colour]} {NAMES[action] if action < 0 else format_cell(action, SIZE)}")
    return ",".join([*fields, winner]) + "\n"
