"""The formats of game records that are read and written, and which one a file has."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.errors import RecordError
from hexlit.hex.records.game import FORFEIT, RESIGN, SWAP_PIECES, RecordedGame, RecordedMove
from hexlit.hex.records.sgf import read_sgf, write_sgf
from hexlit.hex.records.wolve import read_wolve, write_wolve


@dataclass(frozen=True)
class RecordFormat:
    """One way to write games down."""

    name: str
    suffixes: tuple[str, ...]
    """Of its files, with the point."""
    read: Callable[[Iterable[str], str], Iterator[RecordedGame | RecordError]]
    """(lines, file name) -> the games in order, or what is wrong with one; streams, and raises for no content."""
    write: Callable[[RecordedGame], str]
    """One game as text that may follow that of another; raises `RecordError` where the format cannot say it."""


FORMATS = {
    one.name: one
    for one in (
        RecordFormat("sgf", (".sgf",), read_sgf, write_sgf),
        RecordFormat("wolve", (".wolve", ".txt"), read_wolve, write_wolve),
    )
}


def format_of(path: Path) -> RecordFormat:
    """The format of the file, by its suffix, and by what stands in it where formats share one; raises `UsageError`."""
    found = [one for one in FORMATS.values() if path.suffix.lower() in one.suffixes]
    if found:
        return found[0]
    known = ", ".join(f"{one.name} ({' '.join(one.suffixes)})" for one in FORMATS.values())
    raise UsageError(f"{path}: no game record by its name and its content; known are {known}")


def read_file(path: Path) -> Iterator[RecordedGame | RecordError]:
    """The games of a file, or what is wrong with one, while it is read; raises `UsageError` where it cannot be."""
    read = format_of(path).read
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            yield from read(lines, str(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error


def from_record(record: GameRecord) -> RecordedGame:
    """A stored game, to be written: a resignation or a forfeit becomes a move."""
    moves = []
    for ply, action in enumerate(record.moves.tolist()):
        moves.append(RecordedMove(WHITE if ply % 2 else BLACK, SWAP_PIECES if action == record.size**2 else action))
    if record.ending in (Ending.RESIGNED, Ending.FORFEITED):
        moves.append(RecordedMove(-record.winner, RESIGN if record.ending == Ending.RESIGNED else FORFEIT))
    return RecordedGame(
        record.size,
        tuple(moves),
        winner=record.winner,
        ending=record.ending,
        black=record.black,
        white=record.white,
        opening=record.opening,
    )
