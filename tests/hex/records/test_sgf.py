"""SGF as many programs have written it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending
from hexlit.hex.records.formats import FORMATS
from hexlit.hex.records.game import NAMES, RecordedGame, RecordedMove, RecordError, as_record
from tests.hex.records.games import NAMES as TEXTS
from tests.hex.records.games import read, sound_games

SGF = FORMATS["sgf"]


def one(text: str) -> RecordedGame:
    (game,) = sound_games(SGF, text)
    return game


def line(moves: tuple[RecordedMove, ...], size: int) -> str:
    """`Ba1 Wresign`."""
    letters = {BLACK: "B", WHITE: "W"}
    return " ".join(letters[c] + (NAMES[a] if a < 0 else format_cell(a, size)) for c, a in moves)


def test_the_people_and_the_event_are_read_without_escapes() -> None:
    game = one(
        "(;FF[4]GM[11]SZ[5]PB[A \\[1\\]]PW[B\\\\b\nx]EV[Cup\\: a]DT[2026-01-02]C[one \\\ntwo\nthree];B[a1]C[x])"
    )
    assert (game.black, game.white) == ("A [1]", "B\\b x")
    assert (game.event, game.date, game.comment) == ("Cup: a", "2026-01-02", "one two\nthree\nx")


@given(black=TEXTS, white=TEXTS, event=TEXTS, date=TEXTS, comment=TEXTS, opening=st.integers(0, 9))
def test_what_is_said_of_a_game_is_written_and_read(
    black: str, white: str, event: str, date: str, comment: str, opening: int
) -> None:
    said: dict[str, Any] = {
        "black": black,
        "white": white,
        "event": event,
        "date": date,
        "comment": f"{comment}\n]\\",
    }
    game = RecordedGame(5, (RecordedMove(1, 0),), opening=opening, **said)
    again = one(SGF.write(game))
    assert (again.black, again.white, again.event, again.date) == (black, white, event, date)
    assert (again.comment, again.opening) == (game.comment, opening)


@pytest.mark.parametrize(
    ("text", "winner", "ending"),
    [
        ("B+", 1, None),
        ("W+", -1, None),
        ("W+Resign", -1, Ending.RESIGNED),
        ("b+r", 1, Ending.RESIGNED),
        ("W+T", -1, Ending.FORFEITED),
        ("B+Forfeit", 1, Ending.FORFEITED),
        ("B+3.5", 1, None),
        ("B", 1, None),
        ("White+Resign", -1, Ending.RESIGNED),
        ("?", 0, None),
        ("Void", 0, None),
        ("", 0, None),
        ("Bob", 0, None),
    ],
)
def test_results(text: str, winner: int, ending: Ending | None) -> None:
    game = one(f"(;SZ[5]RE[{text}];B[a1])")
    assert (game.winner, game.ending) == (winner, ending)


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("(;SZ[5];B[a1];W[E5])", "Ba1 We5"),
        ("(;SZ[5];Black[a1];White[e5])", "Ba1 We5"),
        ("(;SiZe[5];B[a1]\n;\nW [ e5 ] )", "Ba1 We5"),
        ("(;SZ[5];B[a1]BL[3]WL[4];BL[3]W[e5]WL[5])", "Ba1 We5"),
        ("(;SZ[5];B[a1]W[e5])", "Ba1 We5"),
        ("(;SZ[5];B[a1](;W[b2];B[c3])(;W[d4](;B[e5])))", "Ba1 Wb2 Bc3"),
        ("(;SZ[5];B[a1](;W[b2](;B[c3])(;B[d4]))(;W[d4];B[e5]))", "Ba1 Wb2 Bc3"),
        ("(;SZ[5];B[a1];W[pass];B[];W[resign])", "Ba1 Wpass Bpass Wresign"),
        ("(;SZ[5];B[a1];W[b1];B[forfeit])", "Ba1 Wb1 Bforfeit"),
        ("(;SZ[5];B[a2];W[SWAP];W[c3])", "Ba2 Wswap-sides Wc3"),
        ("(;SZ[5];B[a2];W[swap-pieces];W[c3];B[d4])", "Ba2 Wswap-sides Wc3 Bd4"),
        ("(;SZ[5];B[a2];W[swap-sides];B[c3])", "Ba2 Wswap-pieces Bc3"),
        ("(;SZ[5];B[a2];W[swap])", "Ba2 Wswap-pieces"),
        ("(;SZ[5];B[a2];W[swap-sides];B[resign])", "Ba2 Wswap-sides Bresign"),
        ("some words\n(;SZ[5]C[(;B[b1\\])];B[a1])", "Ba1"),
        ("(;SZ[5:5];B[a1])", "Ba1"),
    ],
)
def test_moves_of_the_main_line(text: str, moves: str) -> None:
    assert line(one(text).moves, 5) == moves


def test_the_board_has_11_rows_where_nothing_is_said() -> None:
    assert one("(;GM[11];B[k11])").size == 11


def test_points_are_set_up_one_by_one_and_as_rectangles_and_taken_away() -> None:
    game = one("(;SZ[5]AB[a1:b2][e5]AW[c1:c3];AE[b1:b2];AW[e5]AB[];B[d4])")
    assert line(game.setup, 5) == "Ba1 Ba2 Wc1 Wc2 Wc3 We5"
    assert line(game.moves, 5) == "Bd4"


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("(;SZ[13:11];B[a1])", (1, 1), "as many rows as columns"),
        ("(;SZ[1])", (1, 1), "from 2 to 26"),
        ("(;SZ[27])", (1, 1), "from 2 to 26"),
        ("(;SZ[x])", (1, 3), "no size"),
        ("(;GM[1]SZ[19];B[aa])", (1, 3), "not a game of Hex"),
        ("(;SZ[5];\n B[f1])", (2, 2), "no cell"),
        ("(;SZ[5];B[a1];AB[b1])", (1, 15), "after the first move"),
        ("(;SZ[5]AB[a1:b2:c3])", (1, 8), "rectangle"),
        ("(;SZ[5]AB[a1:z9])", (1, 8), "no cell"),
        ("(;SZ[5];B)", (1, 9), "no value"),
        ("(;SZ[5];[a1])", (1, 9), "no property"),
        ("(B[a1])", (1, 2), "before any"),
        ("()", (1, 1), "no ';'"),
        ("(;SZ[5];B[a1]!;W[b1])", (1, 14), "from '!"),
        ("(;SZ[5];B[a1", (1, 10), "'a1'"),
        ("(;SZ[5];B[a1]", (1, 1), "never closed"),
        ("hello", (1, 1), "no game in SGF"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, place: tuple[int, int], part: str) -> None:
    (error,) = read(SGF, text)
    assert isinstance(error, RecordError)
    assert part in str(error)
    assert error.place.file == "f"
    assert (error.place.line, error.place.column) == place


def test_a_swap_is_checked_against_the_whole_game() -> None:
    """As swap-pieces, which the next colour tells, a2 has become b1."""
    game = one("(;SZ[5];B[a2];W[swap-sides];B[c3];W[b1])")
    with pytest.raises(RecordError, match="b1: the cell is taken"):
        as_record(game)


def test_names_cannot_steer_a_terminal() -> None:
    game = one("(;GM[11]SZ[3]PB[a\x1b c]PW[\x00\x9b];B[a1])")
    assert (game.black, game.white) == ("a  c", "  ")
