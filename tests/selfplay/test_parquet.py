"""Descriptions in Parquet files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hexlit.selfplay.parquet import described, descriptions, write_described

SCHEMA = pa.schema([("speed", pa.float32()), ("name", pa.string())])


def test_a_column_without_a_description_is_refused() -> None:
    with pytest.raises(KeyError, match="name"):
        described(SCHEMA, "Rides.", {"speed": "m/s"})


def test_what_is_written_is_read_with_its_descriptions(tmp_path: Path) -> None:
    schema = described(SCHEMA, "Rides.", {"speed": "m/s", "name": "Of the rider."})
    table = pa.table({"speed": [1.5, 2.0], "name": ["ä", "b"]}, schema)
    write_described(table, tmp_path / "rides.parquet")
    found = pq.read_table(tmp_path / "rides.parquet")
    assert found.equals(table)
    assert descriptions(found.schema) == {"speed": "m/s", "name": "Of the rider."}
    raw = pq.read_metadata(tmp_path / "rides.parquet").metadata
    assert (raw[b"description"], raw[b"column speed"]) == (b"Rides.", b"m/s")
