"""Sources of games: files of any known format, stores, and folders of both, read one game at a
time.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hexlit.errors import UsageError, printable
from hexlit.hex.geometry import WHITE
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import FORMATS, format_of
from hexlit.hex.records.game import Place, RecordedGame, RecordError, as_record, begins
from hexlit.selfplay.store import JOURNAL, read_rows

GAMES_BETWEEN_REPORTS = 100

SUMMARY = "import.json"
"""Account of the imports, next to the parts of the store."""

SUFFIXES = {Path(JOURNAL).suffix}.union(*(form.suffixes for form in FORMATS.values()))


def file_name(path: Path) -> str:
    """`path` for messages and stores: each unprintable character, such as an invalid UTF-8 byte,
    becomes `?`.
    """
    return printable(str(path), "?")


def _files_in(folder: Path) -> list[Path]:
    """The files of a folder by name, then those of its folders; hidden ones are left out."""
    files = []
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and path.name != SUMMARY and not hidden:
            files.append(path)
    return sorted(files, key=lambda path: (path.parent.parts, path.name))


def _is_stored(file: Path) -> bool:
    return file.suffix == ".parquet" or file.name == JOURNAL


class GameReader:
    """Reads the games of many files, and knows its position.

        for game in GameReader([Path("games")]):
            ...  # a GameRecord, or a RecordError with the error and its place

    Attributes:
        files: those at the paths, in reading order; of folders by name, and those of their folders.
        passed_over: errors of the files in the folders without a known format.
        size: bytes of all files.
        position: bytes read so far.
        games: games so far, unreadable ones included.
        recorded: the last game as its file states it; None if it came from a store.
        file: file of the last game.
        progress: called with the reader after every hundred games, and at the end.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """For games at `paths`.

        Raises:
            UsageError: a path does not exist, a file has no known format, or a folder has no file
                with one.
        """
        self.passed_over: list[RecordError] = []
        files: dict[Path, None] = {}
        for path in paths:
            files |= dict.fromkeys(self._files_at(path))
        self.files = list(files)
        self.size = sum(file.stat().st_size for file in self.files)
        self.position = 0
        self.games = 0
        self.recorded: RecordedGame | None = None
        self.file = Path()
        self.progress: Callable[[GameReader], None] = lambda reader: None

    def _files_at(self, path: Path) -> list[Path]:
        if not path.exists():
            raise UsageError(f"source={path}: there is no such file or folder")
        if not (path.is_dir() or path.is_file()):  # such as a pipe, which cannot be read twice
            raise UsageError(
                f"source={path}: is neither a file nor a folder; write what it gives to a file first"
            )
        usable = []
        files = _files_in(path) if path.is_dir() else [path]
        for file in files:
            try:
                if path.is_dir() and not (
                    file.suffix.lower() in SUFFIXES or file.match("part-*.parquet")
                ):
                    raise UsageError(f"{file}: no file of games is named so")
                if not _is_stored(file):
                    format_of(file)
                usable.append(file)
            except UsageError as error:
                if not path.is_dir():
                    raise
                self.passed_over.append(
                    RecordError("file of no known format", str(error), Place(file_name(file)))
                )
        if not usable:
            raise UsageError(
                f"source={path}: no file in it has games; the formats are {', '.join(FORMATS)} and stores"
            )
        return usable

    def __iter__(self) -> Iterator[GameRecord | RecordError]:
        """The games in order; a file that has become unreadable gives an error, too."""
        for file in self.files:
            before = self.position
            self.file = file
            games = self._stored(file) if _is_stored(file) else self._written(file)
            for game in games:
                self.games += 1
                yield game
                if self.games % GAMES_BETWEEN_REPORTS == 0:
                    self.progress(self)
            self.position = before + (file.stat().st_size if file.exists() else 0)
        self.progress(self)

    def place_of(self, game: GameRecord) -> str:
        """The place of the last `game`, which no other game of any file has."""
        place = self.recorded.place if self.recorded else Place(line=game.game_id)
        return f"{file_name(self.file.resolve())}:{place.line}:{place.column}"

    def claims_another_winner(self, game: GameRecord) -> bool:
        """Whether the file of the last `game` names the loser as its winner."""
        if self.recorded is None or game.ending == Ending.UNFINISHED or not game.winner:
            return False
        # White's beginning was turned into Black's, with the colours exchanged.
        return self.recorded.winner == (
            game.winner if begins(self.recorded) == WHITE else -game.winner
        )

    def _stored(self, file: Path) -> Iterator[GameRecord | RecordError]:
        self.recorded = None
        for number, row in enumerate(read_rows(file), 1):
            if isinstance(row, RecordError):
                yield row.at(Place(file_name(file), number))
            else:
                yield row if row.source else replace(row, source=f"{file_name(file)}:{number}")

    def _written(self, file: Path) -> Iterator[GameRecord | RecordError]:
        before = self.position
        try:
            with (
                file.open("rb") as raw,
                io.TextIOWrapper(raw, "utf-8-sig", errors="replace") as lines,
            ):
                for game in format_of(file).read(lines, file_name(file)):
                    self.position = before + raw.tell()
                    if isinstance(game, RecordError):
                        yield game
                        continue
                    self.recorded = game
                    try:
                        record: GameRecord | RecordError = as_record(game)
                    except RecordError as error:
                        record = error
                    yield record
        except OSError as error:
            yield RecordError(
                "cannot be read", error.strerror or type(error).__name__, Place(file_name(file))
            )
