"""Games on disk: Parquet, one row per game, the same schema for self-play and for imported games.

`_COLUMNS` describes the columns, and each file stores the descriptions, too.

Games arrive in small batches. Each batch is appended at once to a journal (an Arrow stream), so
that finished games survive any kill. `flush` turns the journal into a part file, written under a
temporary name and renamed. A journal left by a kill becomes a part when the store is opened; its
torn end is dropped.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hexlit.errors import UsageError
from hexlit.files import remove_temporary, replacing
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.game import Place, RecordError
from hexlit.locks import FolderLock
from hexlit.selfplay.checking import faults_of

_ABOUT = (
    "Games of Hex, one row a game of T moves. Black moves first and connects top to bottom; White connects left to "
    "right. Black moves at even plies (0 = first move), White at odd ones. Cell a1 is top left: column letter, row "
    "number; its index is row * size + column, both from 0."
)

MOVES_TEXT = "moves_text"
_FLOATS, _HALVES = pa.list_(pa.float32()), pa.list_(pa.float16())

_COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "game_id": (
        pa.int64(),
        "Number of the game, unique in its store; in self-play also the key of its random draws.",
    ),
    "size": (pa.int8(), "Rows of the board, 2 to 26; there are as many columns."),
    "swap": (
        pa.bool_(),
        "Self-play: whether the swap rule was on. Other games: whether White swapped.",
    ),
    "moves": (
        pa.list_(pa.int16()),
        "Moves in order: cell index, or size * size for swap-pieces. [T]",
    ),
    MOVES_TEXT: (
        pa.string(),
        "The same moves by name, such as `a3 c4`, for people; hexlit reads moves.",
    ),
    "winner": (
        pa.int8(),
        "1 Black, -1 White, 0 unknown; only claimed by the source where ending is unfinished.",
    ),
    "ending": (pa.string(), "connected, resigned, forfeited or unfinished."),
    "opening": (
        pa.int16(),
        "Plies at the start that nobody chose, such as random ones; never learned from.",
    ),
    "values": (
        _FLOATS,
        "Searched value before each move for the player to move, -1 to 1; 0 without one. [T] or empty",
    ),
    "simulations": (pa.list_(pa.int16()), "Simulations of the search for each move. [T] or empty"),
    "policy_plies": (pa.list_(pa.int16()), "Plies whose searched policy is kept. [K]"),
    "policies": (
        _HALVES,
        "Searched policies of policy_plies in turn: K * A probabilities, A = size * size + swap.",
    ),
    "network_version": (
        pa.int32(),
        "Epochs that the network had been trained when the game started.",
    ),
    "seed": (pa.int64(), "Seed of the run."),
    "search": (pa.string(), "Settings of the search, JSON."),
    "would_resign": (
        pa.int8(),
        "Who would have resigned first where nobody may: 1 Black, -1 White, 0 nobody.",
    ),
    "may_resign": (pa.bool_(), "Whether the players were allowed to resign."),
    "black": (pa.string(), "Name of Black; after swap-sides who began as White."),
    "white": (pa.string(), "Name of White."),
    "source": (pa.string(), "Where an imported game was read, file:line."),
}

DESCRIPTION = b"description"
"""Key of a description, in the metadata of a table and of each of its fields."""

PART_SCHEMA = pa.schema(
    [pa.field(name, kind, metadata={DESCRIPTION: text}) for name, (kind, text) in _COLUMNS.items()],
    metadata={"hexlit": "games, version 5", DESCRIPTION: _ABOUT},
)
"""The columns of a part file."""

SCHEMA = PART_SCHEMA.remove(PART_SCHEMA.get_field_index(MOVES_TEXT))
"""The columns that say all of a game: what is read, and what a journal has."""


_name = cache(format_cell)
"""Looked up, because stores write millions of them."""

_LEVEL = 5
"""Level of zstd. Higher ones gain 2% and double the time; at lower ones a column of texts grows by
a tenth.
"""


log = logging.getLogger(__name__)

JOURNAL = "journal.arrows"


def to_table(records: Sequence[GameRecord], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Table of SCHEMA or PART_SCHEMA with one row per record."""
    columns: dict[str, list[Any]] = {}
    for name in schema.names:
        if name == MOVES_TEXT:
            columns[name] = [_moves_text(record) for record in records]
        else:
            columns[name] = [getattr(record, name) for record in records]
    columns["ending"] = [str(ending) for ending in columns["ending"]]
    columns["policies"] = [policies.ravel() for policies in columns["policies"]]
    return pa.table(columns, schema)


def _moves_text(record: GameRecord) -> str:
    return " ".join([_name(move, record.size) for move in record.moves.tolist()])


def to_records(table: pa.Table) -> list[GameRecord]:
    """Records of the rows of `table`."""
    columns: dict[str, list[Any]] = {}
    for name in SCHEMA.names:
        column = table.column(name).combine_chunks()
        if pa.types.is_list(column.type):
            values = column.values.to_numpy(zero_copy_only=False)
            columns[name] = [
                values[start:end].copy() for start, end in pairwise(column.offsets.to_pylist())
            ]
        else:
            columns[name] = column.to_pylist()
    records = []
    for row in zip(*columns.values(), strict=True):
        fields = dict(zip(columns, row, strict=True))
        fields["ending"] = Ending(fields["ending"])
        fields["policies"] = fields["policies"].reshape(-1, fields["size"] ** 2 + fields["swap"])
        records.append(GameRecord(**fields))
    return records


def part_files(folder: Path) -> list[Path]:
    """The part files of the store in `folder`, in order; other Parquet files there are ignored."""
    return sorted(
        path
        for path in folder.glob("part-*.parquet")
        if path.stem.removeprefix("part-").isdecimal()
    )


def read_rows(file: Path) -> list[GameRecord | RecordError]:
    """The rows of one part file or journal in order, each a game or its error.

    The store may be open for writing meanwhile. Games of a journal that the last part has already,
    as after a kill between the two, are left out.

    Raises:
        UsageError: the file is damaged, or not a part of a store.
    """
    whole = read_table(file, PART_SCHEMA.names)  # the checksums of all columns are verified
    table = whole.select(SCHEMA.names)
    faults = faults_of(table)
    sound = pa.array([row not in faults for row in range(table.num_rows)], pa.bool_())
    records = iter(to_records(table.filter(sound)))
    games: list[GameRecord | RecordError] = []
    for row in range(table.num_rows):
        if row in faults:
            games.append(RecordError(*faults[row], Place(str(file), row + 1)))
        else:
            games.append(next(records))
    if file.name != JOURNAL:
        for row, text in enumerate(whole.column(MOVES_TEXT).to_pylist()):
            game = games[row]
            if text is not None and isinstance(game, GameRecord) and text != _moves_text(game):
                reason = "moves_text names other moves than moves"
                games[row] = RecordError("moves_text", reason, Place(str(file), row + 1))
        return games
    written: set[int] = set()
    for part in part_files(file.parent)[-1:]:
        written.update(_ids(part))
    return [game for game in games if isinstance(game, RecordError) or game.game_id not in written]


def read_records(file: Path) -> list[GameRecord]:
    """The games of one part file; see `checked_table`."""
    return to_records(checked_table(file))


def checked_table(file: Path, columns: list[str] | None = None) -> pa.Table:
    """The rows of one part file with all of SCHEMA's columns, or with `columns` alone, which are
    all games.

    Raises:
        UsageError: the file is damaged, not a part of a store, or has an invalid row; part and row
            are named.
    """
    table = read_table(file, columns)
    for row, (_, message) in faults_of(table).items():
        raise UsageError(f"{file}, row {row + 1}: {message}; hexlit games verify finds all")
    return table


def read_table(file: Path, columns: list[str] | None = None) -> pa.Table:
    """The rows of one part file, or of a journal up to its end or to the place of a kill.

    Raises:
        UsageError: the file is damaged, or holds something else.
    """
    try:
        if file.name != JOURNAL:
            return pq.read_table(
                file,
                columns=columns or SCHEMA.names,
                schema=PART_SCHEMA,
                page_checksum_verification=True,
            )
        batches: list[pa.RecordBatch] = []
        with suppress(pa.ArrowInvalid, OSError), pa.ipc.open_stream(file.read_bytes()) as stream:
            batches.extend(stream)  # up to the batch in which the writer was killed
        for batch in batches:
            batch.validate(full=True)
        return pa.Table.from_batches(batches, SCHEMA)
    except (pa.ArrowException, OSError) as error:
        message = str(error).partition("\n")[0] or type(error).__name__
        raise UsageError(
            f"{file}: cannot be read ({message}); restore the file, or take it out of its folder"
        ) from error


def _ids(part: Path) -> list[int]:
    return list(read_table(part, ["game_id"]).column("game_id").to_pylist())


class GameStore(AbstractContextManager["GameStore"]):
    """The games of one run, in the order they ended; no game is kept twice.

    One process has the store open at a time, until `close` or its end; others may read its files
    meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        """Open the store in `folder`, made if it does not exist, and save the journal of a killed
        writer.

        Raises `UsageError` while another process writes there, and `OSError` if the folder cannot
        be written to.
        """
        self.folder = folder
        self._closed = False
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(folder, "writing games")
        remove_temporary(folder, below=False)
        self._journal = self.folder / JOURNAL
        self._stream: pa.RecordBatchStreamWriter | None = None
        self._pending: list[GameRecord] = []
        with ExitStack() as failed:
            failed.callback(self._lock.close)
            self._ids: set[int] = set()
            for part in self.parts():
                self._ids.update(_ids(part))
            for row in read_rows(self._journal):
                if isinstance(row, RecordError):  # a machine that lost power
                    log.warning("%s; dropped", row)
                else:
                    self._pending.append(row)
            self._ids.update(record.game_id for record in self._pending)
            self.flush()
            failed.pop_all()

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
        """Store `records`; games that are in the store already are skipped."""
        fresh = [record for record in records if record.game_id not in self._ids]
        if not fresh:
            return
        if self._stream is None:
            self._file: Any = self._journal.open("wb", buffering=0)
            self._stream = pa.ipc.new_stream(self._file, SCHEMA)
        self._stream.write_table(to_table(fresh, SCHEMA))
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

    def close(self) -> None:
        """Write the journal to a part file, and let other processes open the store."""
        if self._closed:  # another process may be writing by now
            return
        self._closed = True
        try:
            self.flush()
        finally:
            self._lock.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def records(self) -> Iterator[GameRecord]:
        """The games of the part files, in the order of the store."""
        for part in self.parts():
            yield from read_records(part)

    def find(self, ids: Sequence[int]) -> list[GameRecord]:
        """The games with these ids, in their order; raises `UsageError` when one is missing.

        The latest parts are read first, and only as many as needed.
        """
        missing = set(ids)
        games = dict[int, GameRecord]()
        for part in reversed(self.parts()):
            if missing:
                games |= {
                    record.game_id: record
                    for record in read_records(part)
                    if record.game_id in missing
                }
                missing -= games.keys()
        if missing:
            raise UsageError(
                f"{self.folder}: {len(missing)} games of the checkpoint are missing, as {min(missing)}"
            )
        return [games[game_id] for game_id in ids]

    def _write_part(self, records: list[GameRecord]) -> None:
        parts = self.parts()
        number = int(parts[-1].stem.split("-")[1]) + 1 if parts else 0
        target = self.folder / f"part-{number:06d}.parquet"
        with replacing(target) as temporary:
            write_described(to_table(records, PART_SCHEMA), temporary)


def write_described(table: pa.Table, path: Path) -> None:
    """Write `table` to the Parquet file `path`, with its descriptions where every reader finds
    them.

    Only readers by Arrow see the metadata of a field. The file's own key-value metadata therefore
    has the same text under `column NAME`: DuckDB shows it by `parquet_kv_metadata`, polars by
    `read_parquet_metadata`. Each page has a checksum. Lists, and texts that hardly repeat, get no
    dictionary: it would only take room.

    Raises:
        OSError: the file cannot be written.
    """
    repeating = [name for name in table.schema.names if name != MOVES_TEXT]  # not of lists
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=repeating,
        write_page_checksum=True,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(
            {f"column {one.name}": one.metadata[DESCRIPTION] for one in table.schema}
        )
