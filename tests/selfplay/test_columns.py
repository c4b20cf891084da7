"""A store explains itself: every column says what it means,
and the moves can be read without a table of cells.
"""

from dataclasses import fields
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hexlit.hex.notation import format_moves
from hexlit.hex.record import GameRecord
from hexlit.hex.records.game import RecordError
from hexlit.selfplay.store import (
    MOVES_TEXT,
    PART_SCHEMA,
    SCHEMA,
    read_rows,
)
from tests.selfplay.recorded_games import random_games, save

GAMES = [*random_games(6, swaps=True), *random_games(3, size=11, first=6)]


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return save(tmp_path, GAMES) / "part-000000.parquet"


def test_there_is_a_column_for_every_field_of_a_game() -> None:
    assert set(SCHEMA.names) == {field.name for field in fields(GameRecord)}
    assert set(PART_SCHEMA.names) - set(SCHEMA.names) == {MOVES_TEXT}


def test_the_file_and_each_column_in_it_are_described(part: Path) -> None:
    schema = pq.read_schema(part)
    assert "row * size + column" in schema.metadata[b"description"].decode()
    said = {field.name: field.metadata[b"description"].decode() for field in schema}
    assert list(said) == schema.names == PART_SCHEMA.names
    raw = pq.read_metadata(part).metadata  # what readers without Arrow see
    assert {name: raw[f"column {name}".encode()].decode() for name in said} == said
    assert all(len(text) > 10 and text[-1] in ".]y" for text in said.values())
    assert "player to move" in said["values"]
    assert "-1 White" in said["winner"]


def test_the_moves_stand_beside_their_numbers_by_name(part: Path) -> None:
    texts = pq.read_table(part).column(MOVES_TEXT).to_pylist()
    assert texts == [format_moves(game.moves.tolist(), game.size) for game in GAMES]
    assert "swap-pieces" in texts[1]


def test_a_row_whose_text_names_other_moves_is_no_game(part: Path) -> None:
    table = pq.read_table(part)
    texts = table.column(MOVES_TEXT).to_pylist()
    texts[1] = texts[2]
    at = table.schema.get_field_index(MOVES_TEXT)
    pq.write_table(table.set_column(at, table.schema.field(at), [texts]), part)
    wrong = [row.place.line for row in read_rows(part) if isinstance(row, RecordError)]
    assert wrong == [2]
