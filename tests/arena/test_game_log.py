"""`games.csv`: every pair is on disk at once, and a torn end costs no more than its own pair."""

from pathlib import Path

import pytest

from hexlit.arena.arena_game import ArenaGame
from hexlit.arena.game_log import COLUMNS, GameLog
from hexlit.arena.pairing import Pair
from hexlit.errors import UsageError
from hexlit.hex.record import Ending


def pair_of(number: int, first: str = "a", second: str = 'b, the "second"') -> Pair:
    there = ArenaGame(number, first, second, 2, (0, 5, 4, 8), 1, Ending.RESIGNED)
    back = ArenaGame(number, second, first, 2, (0, 5, 3, 4), -1, Ending.FORFEITED, 'said "x, y"; gone')
    return there, back


@pytest.fixture
def filled(tmp_path: Path) -> GameLog:
    log = GameLog(tmp_path / "games.csv", 3)
    for number in (2, 0, 7):
        log.append(pair_of(number))
    log.append(pair_of(0, "c", "a"))
    return log


def test_what_was_kept_is_found_again(filled: GameLog) -> None:
    again = GameLog(filled.path, 3)
    assert again.pairs == filled.pairs
    assert again.games == filled.games
    assert [game.pair for game in again.games] == [0, 0, 2, 2, 7, 7, 0, 0]
    assert again.counts("a", 'b, the "second"') == (0, 0, 3)
    assert again.counts("x", "y") == (0, 0, 0)
    assert filled.path.read_text().splitlines()[0] == ",".join(COLUMNS)


def test_a_file_torn_anywhere_keeps_every_whole_pair(filled: GameLog) -> None:
    whole = filled.path.read_bytes()
    for end in range(0, len(whole), 7):
        filled.path.write_bytes(whole[:end])
        log = GameLog(filled.path, 3)
        rows_on_disk = whole[:end].count(b"\n") - 1
        assert len(log.games) == max(0, rows_on_disk // 2 * 2)
        assert GameLog(filled.path, 3).pairs == log.pairs
        assert not filled.path.read_bytes().endswith(b"\n\n")
        log.append(pair_of(99))
        assert GameLog(filled.path, 3).pairs == log.pairs


def test_a_name_torn_in_the_middle_of_a_letter_costs_its_own_pair_only(filled: GameLog) -> None:
    filled.append(pair_of(3, "grün"))
    whole = filled.path.read_bytes()
    filled.path.write_bytes(whole[: whole.rindex("ü".encode()) + 1])
    assert len(GameLog(filled.path, 3).games) == 8


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(UsageError, match=r"games\.csv: not the games of a match"):
        GameLog(path, 3)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", ",".join(COLUMNS) + "\n1,a,b,black,connected,2,3,a1 z9 b1,\n" * 2])
def test_a_file_that_is_something_else_is_refused_and_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"games\.csv"):
        GameLog(path, 3)
    assert path.read_text() == text
