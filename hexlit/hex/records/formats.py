"""The formats of game records that are read and written, and which one a file has."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.game import (
    FORFEIT,
    RESIGN,
    SWAP_PIECES,
    RecordedGame,
    RecordedMove,
    RecordError,
)
from hexlit.hex.records.hexworld import read_hexworld, write_hexworld
from hexlit.hex.records.htp import read_htp, write_htp
from hexlit.hex.records.littlegolem import read_littlegolem, write_littlegolem
from hexlit.hex.records.sgf import read_sgf, write_sgf
from hexlit.hex.records.six import read_six, write_six
from hexlit.hex.records.trmph import read_trmph, write_trmph
from hexlit.hex.records.wolve import read_wolve, write_wolve


@dataclass(frozen=True)
class RecordFormat:
    """One format of game records."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes of its files, with the dot."""
    read: Callable[[Iterable[str], str], Iterator[RecordedGame | RecordError]]
    """(lines, file name) -> the games in order, or the error of one; a stream that raises for no
    content.
    """
    text: Callable[[RecordedGame], str]
    """What `write` does; raises `UsageError`."""

    def write(self, game: RecordedGame) -> str:
        """One game as text, to be joined with that of others; raises `RecordError` if the format
        cannot express it.
        """
        try:
            return self.text(game)
        except RecordError as error:
            raise RecordError(
                "cannot be written", f"no legal game: {error.message}", game.place
            ) from error
        except UsageError as error:
            raise RecordError("cannot be written", str(error), game.place) from error


FORMATS = {
    one.name: one
    for one in (
        RecordFormat("sgf", (".sgf",), read_sgf, write_sgf),
        RecordFormat("littlegolem", (".hsgf",), read_littlegolem, write_littlegolem),
        RecordFormat("trmph", (".trmph", ".txt"), read_trmph, write_trmph),
        RecordFormat("hexworld", (".hexworld", ".txt"), read_hexworld, write_hexworld),
        RecordFormat("wolve", (".wolve", ".txt"), read_wolve, write_wolve),
        RecordFormat("htp", (".htp", ".log", ".txt"), read_htp, write_htp),
        RecordFormat("six", (".six",), read_six, write_six),
    )
}


BEGINNING = 1 << 16
"""Characters of a file that show its format."""

# In this order: a game of Little Golem is SGF, too, and a line of trmph is also a link of HexWorld.
# The first game decides for Little Golem: a look at each would take time that grows as the square
# of the length.
_LOOKS = {
    "littlegolem": r"\A(?:[^(]|\((?!\s*;))*+\(\s*;(?:[^\[;()]*+\[[^\]]*+\])*+\s*;\s*[BW]\[[a-z]{2}\]",
    "sgf": r"^[ \t]*\(\s*;",
    "six": r"^BoardSize:",
    "htp": r"^(?:[^#\n]{0,100}[\s>:])?boardsize[ \t]+[0-9]",
    "wolve": r"^[bw] [a-z][0-9]{1,2},",
    "trmph": r"^(?!\S*hexworld)(?:\S*#)?[0-9]{1,2},(?:[a-z][0-9]{1,2})*(?:\s|$)",
    "hexworld": r"^(?:\S*#)?[0-9]{1,2}(?:x[0-9]{1,2})?(?:r[0-9]{1,2}|[nm]|c[0-9])*,(?=[a-z:,]|$)",
}


def format_of(path: Path) -> RecordFormat:
    """The format of the file by its suffix, or else by its beginning.

    Raises:
        UsageError: neither is known, or the file cannot be read.
    """
    suffix = path.suffix.lower()
    result = [one for one in FORMATS.values() if suffix in one.suffixes]
    if len(result) == 1 and suffix != ".sgf":  # games of Little Golem often have this suffix, too
        return result[0]
    with _opened(path) as file:
        beginning = file.read(BEGINNING).lstrip("\ufeff")
    looked = format_of_text(beginning)
    if looked is not None:
        return looked
    if len(result) == 1:
        return result[0]
    known = ", ".join(f"{one.name} ({' '.join(one.suffixes)})" for one in FORMATS.values())
    raise UsageError(
        f"{path}: no record of games by its name or its content; the formats are {known}"
    )


def format_of_text(text: str) -> RecordFormat | None:
    """The format that `text` looks like, or None."""
    for name, look in _LOOKS.items():
        if re.search(look, text[:BEGINNING], re.MULTILINE):
            return FORMATS[name]
    return None


def read_file(path: Path) -> Iterator[RecordedGame | RecordError]:
    """The games of a file, or the error of one, as a stream; raises `UsageError` if the file cannot
    be read.
    """
    yield from format_of(path).read(_lines(path), str(path))


def _lines(path: Path) -> Iterator[str]:
    with _opened(path) as file:
        yield from file


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: must be a regular file")
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield file
    except (OSError, ValueError) as error:  # ValueError: a path that cannot be one
        raise UsageError(
            f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from error


def from_record(record: GameRecord) -> RecordedGame:
    """A stored game, to be written: a resignation or a forfeit becomes a move."""
    moves = []
    for ply, action in enumerate(record.moves.tolist()):
        moves.append(
            RecordedMove(
                WHITE if ply % 2 else BLACK, SWAP_PIECES if action == record.size**2 else action
            )
        )
    if record.winner and record.ending in (Ending.RESIGNED, Ending.FORFEITED):
        moves.append(
            RecordedMove(-record.winner, RESIGN if record.ending == Ending.RESIGNED else FORFEIT)
        )
    return RecordedGame(
        record.size,
        tuple(moves),
        winner=record.winner,
        ending=record.ending,
        black=record.black,
        white=record.white,
        opening=record.opening,
    )
