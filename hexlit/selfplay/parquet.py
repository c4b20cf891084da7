"""Parquet files that explain themselves: each has a description of its table and of each column."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DESCRIPTION = b"description"
"""Key of a description, in the metadata of a table and of each of its fields."""

_LEVEL = 5
"""Level of zstd. Higher ones gain 2% and double the time; at lower ones a column of texts grows by a tenth."""


def described(schema: pa.Schema, about: str, columns: Mapping[str, str]) -> pa.Schema:
    """`schema` with `about` as the description of the table, and one of each of its `columns`.

    Raises:
        KeyError: a column has no description.
    """
    fields = [field.with_metadata({DESCRIPTION: columns[field.name].encode()}) for field in schema]
    return pa.schema(fields, {**(schema.metadata or {}), DESCRIPTION: about.encode()})


def write_described(table: pa.Table, path: Path, *, distinct: Collection[str] = ()) -> None:
    """Write `table` to the Parquet file `path`, with its descriptions where every reader finds them.

    Only readers by Arrow see the metadata of a field. The file's own key-value metadata therefore has the same text
    under `column NAME`: DuckDB shows it by `parquet_kv_metadata`, polars by `read_parquet_metadata`.

    Each page has a checksum, which readers in hexlit verify.

    Lists, and the columns `distinct` with few repeated values, get no dictionary: it would only take room.

    Raises:
        OSError: the file cannot be written.
    """
    repeating = [field.name for field in table.schema if field.name not in distinct]  # not of lists
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=repeating,
        write_page_checksum=True,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({f"column {name}": said for name, said in descriptions(table.schema).items()})


def descriptions(schema: pa.Schema) -> dict[str, str]:
    """Column -> its description, for the columns of `schema` that have one."""
    return {
        field.name: field.metadata[DESCRIPTION].decode()
        for field in schema
        if field.metadata and DESCRIPTION in field.metadata
    }
