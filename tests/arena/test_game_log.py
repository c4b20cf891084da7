"""The games of a match on disk, as a table and as SGF."""

import re
from pathlib import Path

import pytest

from hexlit.arena.matches import ArenaGame, Pair
from hexlit.arena.tournament import COLUMNS, GameLog, as_collection
from hexlit.errors import UsageError
from hexlit.hex.notation import parse_cell
from hexlit.hex.record import Ending
from hexlit.hex.records.errors import RecordError
from hexlit.hex.records.game import as_record
from hexlit.hex.records.sgf import read_sgf


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


Node = dict[str, str]


def parsed(text: str) -> list[list[Node]]:
    """The games of a collection without variations: nodes with their properties, one value each."""
    games: list[list[Node]] = []
    place = 0

    def skip_blanks() -> None:
        nonlocal place
        while place < len(text) and text[place].isspace():
            place += 1

    skip_blanks()
    while place < len(text):
        assert text[place] == "("
        place += 1
        nodes: list[Node] = []
        while text[place] != ")":
            if text[place] == ";":
                nodes.append({})
                place += 1
                continue
            name = re.compile(r"[A-Z]+").match(text, place)
            assert name
            place = name.end()
            assert text[place] == "["
            place += 1
            value = ""
            while text[place] != "]":
                place += text[place] == "\\"
                value += text[place]
                place += 1
            place += 1
            assert name[0] not in nodes[-1]
            nodes[-1][name[0]] = value
        place += 1
        games.append(nodes)
        skip_blanks()
    return games


def test_every_game_is_read_back_with_players_result_and_note() -> None:
    odd = "an [odd] na\\me; (x)"
    games = [
        ArenaGame(0, "a", odd, 2, (0, 24, 12), 1, Ending.CONNECTED),
        ArenaGame(0, odd, "a", 2, (0, 24), -1, Ending.RESIGNED),
        ArenaGame(1, "a", odd, 1, (7,), 1, Ending.FORFEITED, "answers 'c[2]', which is \\no move"),
        ArenaGame(1, odd, "a", 0, (), -1, Ending.FORFEITED, "did not start]"),
    ]
    read = parsed(as_collection(games, 5))
    assert [nodes[0]["RE"] for nodes in read] == ["B+", "W+Resign", "B+Forfeit", "W+Forfeit"]
    for nodes, game in zip(read, games, strict=True):
        root = nodes[0]
        assert (root["FF"], root["GM"], root["SZ"]) == ("4", "11", "5")
        assert (root["PB"], root["PW"]) == (game.black, game.white)
        assert [next(iter(node)) for node in nodes[1:]] == ["B", "W", "B"][: len(game.moves)]
        assert [parse_cell(next(iter(node.values())), 5) for node in nodes[1:]] == list(game.moves)
        assert nodes[-1].get("C", "") == game.note


@pytest.mark.row("E5")
def test_a_swap_is_written_and_imported_as_swap_pieces() -> None:
    games = [
        ArenaGame(0, "a", "b", 1, (1, 9, 4, 0, 7), -1, Ending.RESIGNED),
        ArenaGame(0, "b", "a", 1, (1, 9), -1, Ending.FORFEITED, "hangs"),
    ]
    text = as_collection(games, 3)
    assert "B[b1];W[swap-pieces];B[b2];W[a1]" in text
    for read, game in zip(read_sgf(text.splitlines()), games, strict=True):
        assert not isinstance(read, RecordError)
        record = as_record(read)
        assert (record.swap, tuple(record.moves.tolist()), record.opening) == (True, game.moves, 1)
        assert (record.winner, record.ending) == (game.winner, game.ending)
