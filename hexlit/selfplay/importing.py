"""Import of games of any known format into a store: streamed, without duplicates, and each game accounted for."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hexlit import __version__
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.errors import RecordError
from hexlit.selfplay.identity import Duplicates, game_identity
from hexlit.selfplay.sources import SUMMARY, GameReader, Sources, claimed_winner, file_name
from hexlit.selfplay.store import GameStore, part_files, read_records
from hexlit.selfplay.tally import Tally

GAMES_AT_ONCE = 500
"""New games between two writes to the journal; after a kill the next import reads no more than these again."""

GAMES_OF_A_PART = 5000

_GAMES_BETWEEN_REPORTS = 100


@dataclass
class ImportResult:
    """Counts of an import."""

    read: int = 0
    """Games that could be read, duplicates among them."""
    imported: int = 0
    """Games that are new in the store."""
    plies: int = 0
    """Moves of these."""
    dropped: Tally = field(default_factory=Tally)
    """Games that were not imported, and files of no known format."""
    noted: Tally = field(default_factory=Tally)
    """Remarks. Unfinished games are counted among `imported`, as `verify_games` counts them in the store; games whose
    file says another winner, and duplicates with another result, among `read`."""
    in_store: int = 0
    """Games in the store after the import."""
    seconds: float = 0.0
    stopped: str = ""
    """Why the import ended before the end of its sources; empty if it did not."""

    def as_json(self) -> dict[str, Any]:
        """Plain values by name."""
        rate = round(self.read / self.seconds) if self.seconds else None
        tallies = {"dropped": self.dropped.as_json(), "noted": self.noted.as_json()}
        return {**vars(self), **tallies, "games_per_second": rate}


def import_games(
    reader: GameReader,
    target: Path,
    *,
    duplicates: Duplicates = Duplicates.SYMMETRIC,
    stop_at_error: bool = False,
    progress: Callable[[GameReader], None] = lambda reader: None,
) -> ImportResult:
    """Add the games of `reader` to the store in the folder `target`, and record it in its `import.json`.

    Games that the store has already are skipped, so an import can be repeated, and continues after a kill.

    Args:
        reader: reads the sources of `find_sources`.
        target: made if it does not exist; all its games were imported under the same rule of duplicates.
        duplicates: rule for equal games.
        stop_at_error: end at the first game that cannot be read; those before it are kept.
        progress: called every hundred games with `reader`, which knows its position.

    Raises:
        UsageError: the target is no folder for these games, a file is damaged, there is nothing to import, or (with
            `stop_at_error`) a game cannot be read.
    """
    started = time.perf_counter()
    store, history = _open(target, duplicates)
    with store:
        return _import_into(store, history, reader, target, duplicates, stop_at_error, progress, started)


def _import_into(
    store: GameStore,
    history: list[dict[str, Any]],
    reader: GameReader,
    target: Path,
    duplicates: Duplicates,
    stop_at_error: bool,
    progress: Callable[[GameReader], None],
    started: float,
) -> ImportResult:
    """As `import_games`, into a `store` that is open."""
    sources, result = reader.sources, ImportResult(in_store=len(store))
    for passed_over in sources.passed_over:
        result.dropped.add(passed_over.reason, str(passed_over.place), passed_over.said)
    importer = _Importer(store, reader, result, duplicates)
    result.stopped = "interrupted"
    try:
        for number, game in enumerate(reader, 1):
            importer.take(game)
            if stop_at_error and isinstance(game, RecordError):
                result.stopped = str(game)
                break
            if number % _GAMES_BETWEEN_REPORTS == 0:
                progress(reader)
        else:
            result.stopped = ""
    finally:  # neither a damaged file nor Ctrl-C costs a game that was read before it
        importer.write()
        store.flush()
        result.in_store = len(store)
        result.seconds = round(time.perf_counter() - started, 3)
        entry = {"files": [file_name(file) for file in sources.files], **result.as_json()}
        _write_summary(target, duplicates, [*history, entry])
    progress(reader)
    if result.stopped:
        kept = f"{result.imported:,} new games before it are kept; on_error=skip passes over such"
        raise UsageError(f"{result.stopped}; {kept}")
    if not result.read:
        raise UsageError(_nothing_read(sources, result))
    return result


class _Importer:
    """Decides on each game, and hands the new ones to the store in batches."""

    def __init__(self, store: GameStore, reader: GameReader, result: ImportResult, duplicates: Duplicates) -> None:
        self._store, self._reader, self._result, self._duplicates = store, reader, result, duplicates
        # Id of each game of this import -> whether it came turned, and its result.
        self._new: dict[int, tuple[bool, int, Ending]] = {}
        self._batch: list[GameRecord] = []

    def take(self, game: GameRecord | RecordError) -> None:
        result = self._result
        if isinstance(game, RecordError):
            result.dropped.add(game.reason, str(game.place), game.said)
            return
        result.read += 1
        recorded = self._reader.recorded
        if game.ending != Ending.UNFINISHED and recorded and claimed_winner(recorded) == -game.winner:
            result.noted.add("the file says another winner", game.source)
        game_id, turned = game_identity(game, self._duplicates)
        if game_id in self._new:
            first_turned, *first_result = self._new[game_id]
            result.dropped.add("duplicate" if first_turned == turned else "duplicate, turned by 180°", game.source)
            if first_result != [game.winner, game.ending]:
                result.noted.add("duplicate with another result", game.source)
        elif game_id in self._store:
            result.dropped.add("in the store already", game.source)
        else:
            self._new[game_id] = turned, game.winner, game.ending
            result.imported += 1
            result.plies += len(game.moves)
            if game.ending == Ending.UNFINISHED:
                result.noted.add("unfinished, winner only claimed" if game.winner else "unfinished", game.source)
            self._batch.append(replace(game, game_id=game_id))
            if len(self._batch) == GAMES_AT_ONCE:
                self.write()

    def write(self) -> None:
        """Write the games of the batch to the store."""
        self._store.append(self._batch)
        self._batch = []
        if self._result.imported % GAMES_OF_A_PART == 0:
            self._store.flush()


def _open(target: Path, duplicates: Duplicates) -> tuple[GameStore, list[dict[str, Any]]]:
    """The store in `target`, its rule of duplicates written down, and the accounts of the imports before."""
    if target.exists() and not target.is_dir():
        raise UsageError(f"target={target}: is a file; games are imported into a folder")
    store = GameStore(target)
    try:
        return store, _history(target, duplicates)
    except BaseException:
        store.close()
        raise


def _history(target: Path, duplicates: Duplicates) -> list[dict[str, Any]]:
    """The accounts of the imports into `target` before, under the same rule of duplicates."""
    try:
        summary = json.loads((target / SUMMARY).read_text(encoding="utf-8"))
        rule, history = str(summary["duplicates"]), list(summary["imports"])
    except (FileNotFoundError, NotADirectoryError):
        rule, history = str(duplicates), []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"target={target}: its {SUMMARY} cannot be read ({error}); remove it to continue") from error
    if rule != duplicates:
        raise UsageError(
            f"target={target}: its games were imported with duplicates={rule}; set the same, or choose another folder"
        )
    first = next((game for part in part_files(target)[:1] for game in read_records(part)[:1]), None)
    if first is not None and first.game_id != game_identity(first, duplicates)[0]:
        raise UsageError(f"target={target}: its games were not imported with duplicates={rule}; choose another folder")
    _write_summary(target, duplicates, history)
    return history


def _write_summary(target: Path, duplicates: Duplicates, imports: list[dict[str, Any]]) -> None:
    document = {"hexlit": __version__, "duplicates": str(duplicates), "imports": imports}
    try:
        write_text_atomic(target / SUMMARY, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UsageError(f"target={target}: cannot be written to ({error.strerror})") from error


def _nothing_read(sources: Sources, result: ImportResult) -> str:
    where = f"source={sources.files[0]}" + (f" and {len(sources.files) - 1:,} more" if len(sources.files) > 1 else "")
    errors = result.dropped.total - len(sources.passed_over)
    if not errors:
        return f"{where}: there are no games in it"
    reason = next(reversed(result.dropped.counts))
    place, said = result.dropped.examples[reason]
    return f"{where}: none of {errors:,} games can be read, such as {place}: {said}"
