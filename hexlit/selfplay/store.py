"""Games on disk: Parquet, one row a game, the same schema for self-play and for imported games.

Games arrive in small batches. Each is appended at once to a journal (an Arrow stream), so that a game that has ended
survives any kill; `flush` turns the journal into a part file, written under a temporary name and renamed. A journal
left behind by a kill becomes a part when the store is opened, its torn end dropped.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hexlit.errors import UsageError
from hexlit.files import hold
from hexlit.hex.record import Ending, GameRecord

SCHEMA = pa.schema(
    [
        ("game_id", pa.int64()),
        ("size", pa.int8()),
        ("swap", pa.bool_()),
        ("moves", pa.list_(pa.int16())),
        ("winner", pa.int8()),
        ("ending", pa.string()),
        ("opening", pa.int16()),
        ("values", pa.list_(pa.float32())),
        ("simulations", pa.list_(pa.int16())),
        ("policy_plies", pa.list_(pa.int16())),
        # The policies one after the other, one number for each action.
        ("policies", pa.list_(pa.float16())),
        ("surprises", pa.list_(pa.float32())),
        ("network_version", pa.int32()),
        ("seed", pa.int64()),
        ("search", pa.string()),
        ("would_resign", pa.int8()),
        ("may_resign", pa.bool_()),
        ("black", pa.string()),
        ("white", pa.string()),
        ("source", pa.string()),
    ],
    # Version 1 had no black, white and source, version 2 no surprises.
    metadata={"hexlit": "games, version 3; see hexlit.hex.record.GameRecord for the meaning of the columns"},
)

LATER_COLUMNS = ("black", "white", "source", "surprises")
"""Columns that files of earlier versions do not have: text is empty there, and a list has no element."""

JOURNAL = "journal.arrows"


def to_table(records: list[GameRecord]) -> pa.Table:
    """Table of SCHEMA with one row a record."""
    columns: dict[str, list[Any]] = {name: [getattr(record, name) for record in records] for name in SCHEMA.names}
    columns["ending"] = [str(ending) for ending in columns["ending"]]
    columns["policies"] = [policies.ravel() for policies in columns["policies"]]
    return pa.table(columns, SCHEMA)


def to_records(table: pa.Table) -> list[GameRecord]:
    """Records of the rows of `table`."""
    arrays = {field.name: table.column(field.name).combine_chunks() for field in SCHEMA}
    lists: dict[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}
    plain: dict[str, list[Any]] = {}
    for name, array in arrays.items():
        if pa.types.is_list(array.type):
            lists[name] = array.offsets.to_numpy(), array.values.to_numpy(zero_copy_only=False)
        else:
            values = array.to_pylist()
            plain[name] = [value or "" for value in values] if name in LATER_COLUMNS else values
    records = []
    for row in range(table.num_rows):
        fields: dict[str, Any] = {name: values[row] for name, values in plain.items()}
        for name, (offsets, values) in lists.items():
            fields[name] = values[offsets[row] : offsets[row + 1]].copy()
        fields["ending"] = Ending(fields["ending"])
        actions = fields["size"] ** 2 + fields["swap"]
        fields["policies"] = fields["policies"].reshape(-1, actions)
        records.append(GameRecord(**fields))
    return records


def part_files(folder: Path) -> list[Path]:
    """The part files of the store in `folder`, in order; other Parquet files there are none of its."""
    return sorted(path for path in folder.glob("part-*.parquet") if path.stem.removeprefix("part-").isdecimal())


def read_games(file: Path) -> list[GameRecord]:
    """The games of one part file or journal, while a store may be open for writing on it or not.

    A journal's games that stand in the last part already, as after a kill between the two, are left out.

    Raises:
        UsageError: the file is damaged, or no part of a store.
    """
    if file.name == JOURNAL:
        written = set(_read_ids(part) if (part := next(reversed(part_files(file.parent)), None)) else ())
        return [record for record in _read_journal(file) if record.game_id not in written]
    try:
        return to_records(_read_part(file))
    except ValueError as error:
        raise _damaged(file, error) from error


def _read_part(part: Path, columns: list[str] | None = None) -> pa.Table:
    """The rows of a part file with all of SCHEMA's columns, or `columns` alone."""
    try:
        lacking = set(SCHEMA.names) - set(LATER_COLUMNS) - set(pq.read_schema(part).names)
        if lacking:
            raise UsageError(f"{part}: is no part of a store of games: it has no column {min(lacking)}")
        return pq.read_table(part, columns=columns) if columns else pq.read_table(part, schema=SCHEMA)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(part, error) from error


def _read_ids(part: Path) -> list[int]:
    ids: list[int] = _read_part(part, ["game_id"]).column("game_id").to_pylist()
    return ids


def _damaged(part: Path, error: Exception) -> UsageError:
    if isinstance(error, UsageError):
        return error
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    return UsageError(f"{part}: cannot be read ({said}); restore the file, or take it out of its folder")


class GameStore:
    """The games of one run, in the order in which they ended; no game is kept twice."""

    def __init__(self, folder: Path) -> None:
        """Open the store in `folder`, making it if need be, and save what a killed writer left in its journal.

        Raises `UsageError` while another process writes there, and where nothing can be written.
        """
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: no folder for games can be made there ({error.strerror})") from error
        self._journal = folder / JOURNAL
        if self._journal.exists():
            with self._journal.open("rb") as file:
                if not hold(file):
                    raise UsageError(self._taken())
        for torn in folder.glob("part-*.tmp"):
            torn.unlink()
        self._stream: pa.RecordBatchStreamWriter | None = None
        self._file: Any = None
        self._ids = {game_id for part in self.parts() for game_id in _read_ids(part)}
        left = [record for record in _read_journal(self._journal) if record.game_id not in self._ids]
        if left:
            self._write_part(left)
            self._ids.update(record.game_id for record in left)
        self._journal.unlink(missing_ok=True)
        self._pending: list[GameRecord] = []

    def __len__(self) -> int:
        """Number of games, those in the journal included."""
        return len(self._ids)

    def __contains__(self, game_id: int) -> bool:
        """Whether a game with this id is in the store, the journal included."""
        return game_id in self._ids

    def parts(self) -> list[Path]:
        """The part files, in order."""
        return part_files(self.folder)

    def append(self, records: list[GameRecord]) -> None:
        """Keep `records`; games that are in the store already are passed over."""
        fresh = [record for record in records if record.game_id not in self._ids]
        if not fresh:
            return
        if self._stream is None:
            self._file = self._journal.open("ab", buffering=0)
            if not hold(self._file):  # another store was opened on this folder after this one
                raise UsageError(self._taken())
            self._file.truncate(0)
            self._stream = pa.ipc.new_stream(self._file, SCHEMA)
        self._stream.write_table(to_table(fresh))
        self._ids.update(record.game_id for record in fresh)
        self._pending.extend(fresh)

    def flush(self) -> None:
        """Write the games of the journal to a part file."""
        if self._pending:
            self._write_part(self._pending)
            self._pending = []
        if self._stream is not None:
            self._stream.close()
            self._file.close()
            self._stream = None
        self._journal.unlink(missing_ok=True)

    def records(self, first: int = 0) -> Iterator[GameRecord]:
        """The games of the part files from number `first` on (in the order of the store)."""
        seen = 0
        for part in self.parts():
            rows = pq.read_metadata(part).num_rows
            if seen + rows > first:
                yield from to_records(_read_part(part).slice(max(0, first - seen)))
            seen += rows

    def find(self, ids: Sequence[int]) -> list[GameRecord]:
        """The games with these ids, in their order; raises `UsageError` when one is missing.

        The latest parts are read first, and no more of them than it takes.
        """
        missing = set(ids)
        found: dict[int, GameRecord] = {}
        for part in reversed(self.parts()):
            if not missing:
                break
            for record in to_records(_read_part(part)):
                if record.game_id in missing:
                    found[record.game_id] = record
            missing.difference_update(found)
        if missing:
            raise UsageError(
                f"{self.folder}: {len(missing)} of the games that the checkpoint trains on are missing, "
                f"such as {min(missing)}; restore the part files, or start a new run"
            )
        return [found[game_id] for game_id in ids]

    def _taken(self) -> str:
        return f"{self.folder}: another process is writing games here; wait for its end, or end it"

    def _write_part(self, records: list[GameRecord]) -> None:
        parts = self.parts()
        number = int(parts[-1].stem.split("-")[1]) + 1 if parts else 0
        target = self.folder / f"part-{number:06d}.parquet"
        temporary = target.with_suffix(".tmp")
        with temporary.open("wb") as file:
            pq.write_table(to_table(records), file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(target)


def _read_journal(path: Path) -> list[GameRecord]:
    """Games of a journal up to its end or to where a kill has torn it."""
    if not path.exists() or path.stat().st_size == 0:
        return []
    batches = []
    try:
        with pa.ipc.open_stream(path.read_bytes()) as stream:
            batches.extend(stream)
    except (pa.ArrowInvalid, OSError):
        pass  # The writer was killed inside a batch: what came before it is whole.
    if not batches:
        return []
    # A writer of an earlier version may have left it: the columns that it did not have are empty.
    tables = [SCHEMA.empty_table(), pa.Table.from_batches(batches)]
    return to_records(pa.concat_tables(tables, promote_options="default"))
