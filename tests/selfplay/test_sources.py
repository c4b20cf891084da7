"""Sources of games: files, stores, folders; unreadable ones are named."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from hexlit.errors import UsageError
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.game import RecordError
from hexlit.selfplay.sources import GameReader
from hexlit.selfplay.store import GameStore
from tests.selfplay.games import GAME, OTHER, read, record


def test_a_folder_is_read_with_its_folders_by_name_and_a_file_but_once(tmp_path: Path) -> None:
    for name in ("b/second.wolve", "a.wolve", "b/c/third.wolve", ".hidden/no.wolve", "b/.no.wolve"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(GAME)
    found = GameReader([tmp_path, tmp_path / "a.wolve"])
    assert [file.name for file in found.files] == ["a.wolve", "second.wolve", "third.wolve"]
    assert found.passed_over == []


def test_in_a_folder_only_files_named_as_games_are_taken_but_any_that_is_named_itself(
    tmp_path: Path,
) -> None:
    for name in ("games.wolve", "games.csv"):
        (tmp_path / name).write_text(GAME)
    (tmp_path / "prices.parquet").write_bytes(b"PAR1")
    found = GameReader([tmp_path])
    assert [file.name for file in found.files] == ["games.wolve"]
    assert [error.reason for error in found.passed_over] == ["file of no known format"] * 2
    assert GameReader([tmp_path / "games.csv"]).files == [tmp_path / "games.csv"]


def test_the_reader_gives_games_and_errors_in_order_and_knows_how_far_it_is(tmp_path: Path) -> None:
    file = tmp_path / "games.wolve"
    file.write_text(GAME + "nothing\n" + OTHER)
    reader = read(file)
    assert reader.size == file.stat().st_size
    seen = []
    for game in reader:
        assert 0 < reader.position <= reader.size
        seen.append(type(game))
    assert seen == [GameRecord, RecordError, GameRecord]
    assert (reader.position, reader.games) == (reader.size, 3)


def test_a_store_is_read_with_its_journal_and_its_games_say_where_they_stand(
    tmp_path: Path,
) -> None:
    store = GameStore(tmp_path)
    store.append([record("a1", game_id=1), record("a2", game_id=2, source="elsewhere:5")])
    store.close()
    store.append([record("a3", game_id=3)])
    reader = read(tmp_path)
    games = [game for game in reader if isinstance(game, GameRecord)]
    assert sorted(game.game_id for game in games) == [1, 2, 3]
    places = {game.game_id: game.source for game in games}
    assert places[1] == f"{tmp_path / 'part-000000.parquet'}:1"
    assert places[2] == "elsewhere:5"
    assert reader.recorded is None


def test_a_file_that_goes_away_meanwhile_is_an_error_of_its_own(tmp_path: Path) -> None:
    for name in ("a.wolve", "b.wolve", "c.wolve"):
        (tmp_path / name).write_text(GAME)
    reader = read(tmp_path)
    games = iter(reader)
    first = next(games)
    (tmp_path / "b.wolve").unlink()
    missing, last = games
    assert isinstance(first, GameRecord)
    assert isinstance(missing, RecordError)
    assert missing.reason == "cannot be read"
    assert isinstance(last, GameRecord)


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("(;GM[11]SZ[3]RE[B+];B[b2];W[a1])", 1),
        ("(;GM[11]SZ[3]RE[W+];B[b2];W[a1])", -1),
        (
            "(;GM[11]SZ[3]RE[B+];W[b2];B[a1])",
            -1,
        ),  # White begins: in the project's frame he is Black
        ("(;GM[11]SZ[3];B[b2])", 0),
    ],
)
def test_a_claimed_winner_is_told_in_the_projects_colours(
    text: str, winner: int, tmp_path: Path
) -> None:
    (tmp_path / "game.sgf").write_text(text)
    reader = read(tmp_path / "game.sgf")
    (game,) = reader
    assert isinstance(game, GameRecord)
    assert game.winner == winner
    resigned = replace(game, ending=Ending.RESIGNED)
    assert not reader.claims_another_winner(resigned)
    assert reader.claims_another_winner(replace(resigned, winner=-winner)) == bool(winner)


def test_a_pipe_is_refused_rather_than_half_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sgf")
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        GameReader([tmp_path / "pipe.sgf"])
    (tmp_path / "games.wolve").write_text(GAME)
    found = GameReader([tmp_path])
    assert [file.name for file in found.files] == ["games.wolve"]
