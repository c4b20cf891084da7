"""The formats that are one line of moves: trmph, HexWorld, Wolve."""

import pytest

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import parse_cell, parse_moves
from hexlit.hex.record import Ending
from hexlit.hex.records.formats import FORMATS
from hexlit.hex.records.game import (
    FORFEIT,
    PASS,
    RESIGN,
    SWAP_PIECES,
    SWAP_SIDES,
    RecordedGame,
    RecordedMove,
    RecordError,
    as_record,
)
from tests.hex.records.games import read, sound_games

CHECKED = "#13,g1a7g2b7g3c7g4d7g5e7g6f7g8h7g9i7g10j7g11k7g12l7g13m7g7"


def one(name: str, text: str) -> RecordedGame:
    (game,) = sound_games(FORMATS[name], text)
    return game


@pytest.mark.parametrize("name", ["trmph", "hexworld"])
@pytest.mark.parametrize(
    "prefix", ["", "https://trmph.com/hex/board", "http://www.trmph.com/hex/board"]
)
def test_the_first_player_has_won_the_checked_game(name: str, prefix: str) -> None:
    record = as_record(one(name, prefix + CHECKED))
    assert (record.size, len(record.moves), record.winner, record.ending) == (
        13,
        25,
        BLACK,
        Ending.CONNECTED,
    )


@pytest.mark.parametrize(
    ("line", "winner"),
    [
        ("b", BLACK),
        ("r", WHITE),
        ("1", BLACK),
        ("2", WHITE),
        ("r # by resignation", WHITE),
        ("# nobody", 0),
        ("", 0),
    ],
)
def test_a_file_of_trmph_has_winners_and_comments(line: str, winner: int) -> None:
    text = f"# a header\n#\n\nhttp://trmph.com/hex/board#5,a1b2 {line}\n#5, b\n"
    first, second = sound_games(FORMATS["trmph"], text)
    assert ([move.action for move in first.moves], first.winner) == ([0, 6], winner)
    assert (second.moves, second.winner) == ((), BLACK)
    assert first.place.line == 4


@pytest.mark.parametrize(
    ("name", "column", "reason", "texts"),
    [
        ("trmph", 6, "illegal move", ["#5,a1f1"]),
        ("trmph", 6, "not a game", ["#5,a1b"]),
        ("trmph", 8, "not a game", ["#5,a1b2 x", "#5,a1b2b r"]),
        ("trmph", 2, "not a game", ["#99999999999,a1", "#13"]),
        ("trmph", 1, "not a game", ["hello"]),
        ("trmph", 2, "board size", ["#1,a1"]),
        ("trmph", 4, "board size", ["  #27,a1"]),
        ("hexworld", 2, "board size", ["#5x6,a1", "#30,a1"]),
        ("hexworld", 11, "not a game", ["#5,a1b1,c1,d1"]),
        ("hexworld", 6, "not a game", ["#5,a1:x", "#5,a1 b1"]),
        ("hexworld", 6, "illegal move", ["#5,a1f1"]),
        ("hexworld", 2, "not a game", ["#5k,a1"]),
        ("hexworld", 1, "not a game", ["https://hexworld.org/board/"]),
    ],
)
def test_what_is_no_game_is_told_with_its_place(
    name: str, column: int, reason: str, texts: list[str]
) -> None:
    for text in texts:
        (error,) = read(FORMATS[name], text)
        assert isinstance(error, RecordError)
        assert (error.place.line, error.place.column, error.reason) == (1, column, reason)


def test_the_example_of_hexworld() -> None:
    game = one("hexworld", "https://hexworld.org/board/#15c1,e6:sf7i8g10j10")
    assert as_record(game).moves.tolist() == [
        parse_cell("e6", 15),
        225,
        *parse_moves("f7 i8 g10 j10", 15),
    ]


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("#5,", []),
        ("5,a1", [(BLACK, 0)]),
        ("#5x5r12nc1,a1b1", [(BLACK, 0), (WHITE, 1)]),
        ("#5r3m,a1,b1", [(BLACK, 0), (WHITE, 1)]),
        ("#5,,a1b1", [(BLACK, 0), (WHITE, 1)]),
        ("#5,a1,", [(BLACK, 0)]),
        ("#5,a2:sc3", [(BLACK, 5), (WHITE, SWAP_PIECES), (BLACK, 12)]),
        ("#5,a2:s,c3", [(BLACK, 5), (WHITE, SWAP_PIECES), (BLACK, 12)]),
        ("#5,a2:Sc3d4", [(BLACK, 5), (WHITE, SWAP_SIDES), (WHITE, 12), (BLACK, 18)]),
        ("#5,a1:pb1", [(BLACK, 0), (WHITE, PASS), (BLACK, 1)]),
        ("#5,a1:rb", [(BLACK, 0), (BLACK, RESIGN)]),
        ("#5,a1:rw", [(BLACK, 0), (WHITE, RESIGN)]),
        ("#5,a1:fb", [(BLACK, 0), (BLACK, FORFEIT)]),
        ("#5,a1:fw", [(BLACK, 0), (WHITE, FORFEIT)]),
    ],
)
def test_links_of_hexworld(text: str, moves: list[tuple[int, int]]) -> None:
    assert one("hexworld", text).moves == tuple(RecordedMove(*move) for move in moves)


def test_lines_of_wolve() -> None:
    text = (
        "<<<<<<< HEAD\nb a1,w a2,b f4,w resign,B\n\nb a1,w a2,b k4,W\nb a1,w a2\nb a1,w a2,W\nW\n"
    )
    marker, game, far, nobody, open_, empty = read(FORMATS["wolve"], text)
    assert isinstance(game, RecordedGame)
    assert (as_record(game).winner, as_record(game).ending, as_record(game).opening) == (
        BLACK,
        Ending.RESIGNED,
        2,
    )
    assert isinstance(open_, RecordedGame)
    assert (as_record(open_).winner, as_record(open_).ending) == (WHITE, Ending.UNFINISHED)
    assert str(marker).startswith("f:1:1: <<<<<<< HEAD: a merge conflict")
    assert str(far).startswith("f:4:11: 'b k4' is no move")
    assert str(nobody).startswith("f:5:6: 'w a2' is no winner")
    assert str(empty).startswith("f:7:1: ")
