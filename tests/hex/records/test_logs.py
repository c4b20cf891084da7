"""The formats of several lines a game: logs of HTP, Little Golem, Six."""

import pytest

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending
from hexlit.hex.records.formats import FORMATS
from hexlit.hex.records.game import NAMES, RecordedGame, RecordedMove, RecordError, as_record
from tests.hex.records.games import read, sound_games


def said(game: RecordedGame | RecordError) -> str:
    """`b a1 w resign`, or what is wrong."""
    if isinstance(game, RecordError):
        return str(game)
    names = [NAMES[a] if a < 0 else format_cell(a, game.size) for _, a in game.moves]
    return " ".join(
        f"{'b' if move.colour > 0 else 'w'} {name}"
        for move, name in zip(game.moves, names, strict=True)
    )


LOGS = {
    "commands": ("boardsize 5\nclear_board\nplay b a1\nplay white C3 # good\nPLAY W d4\n", ["b a1 w c3 w d4"]),
    "answers": ("boardsize 5 5\n= \n\nplay b a1\n= \n\ngenmove w\n= c3\n\nshowboard\n= \n a b\n1 X . 1\n\n", [
        "b a1 w c3"]),
    "numbers": ("1 boardsize 5\n=1\n\n2 genmove b\n=2 a1\n\n3 genmove w\n=3 c3\n\n", ["b a1 w c3"]),
    "refused": ("boardsize 5\n=\nplay b a1\n=\nplay w a1\n? taken\nplay w b2\n=\n", ["b a1 w b2"]),
    "undo": ("boardsize 5\nplay b a1\nplay w b1\nundo\nplay w c1\nundo\nundo\nplay b d1\n", ["b d1"]),
    "undo refused": ("boardsize 5\n=\nplay b a1\n=\nundo\n? no\n", ["b a1"]),
    "swap": ("boardsize 5\nplay b a2\ngenmove w\n= swap-pieces\nplay b c3\ngenmove w\n= resign\n", [
        "b a2 w swap-pieces b c3 w resign"]),
    "several": ("boardsize 5\nplay b a1\nclear_board\nclear_board\nplay b b1\nboardsize 6\nplay b f6\nquit\n", [
        "b a1", "b b1", "b f6"]),
    "size refused": ("boardsize 5\n=\nplay b a1\n=\nboardsize 99\n? unsupported\nplay w b1\n=\n", ["b a1 w b1"]),
    "prefixes": (
        "2026-01-02 03:04:05,678 INFO >> boardsize 5\n[12:00] << =\n12:00:01.5 >>> play b a1\nDEBUG: << =\n"
        "> genmove w\nmohex: 300 nodes\n< = c3\n", ["b a1 w c3"]),
    "two programs": (
        "B>> boardsize 5\nB<< =\nW>> boardsize 5\nW<< =\nB>> genmove b\nB<< = a1\nW>> play b a1\nW<< =\n"
        "W>> genmove w\n= c3\nB>> play w c3\nB<< =\n", ["b a1 w c3", "b a1 w c3"]),
    "some answers": ("boardsize 5\nname\nplay b a1\ngenmove w\n= c3\nplay b d4\n", ["b a1 w c3 b d4"]),
    "a start at the end": ("boardsize 5\nplay b a1\nboardsize 9\n", ["b a1"]),
    "cut off": ("boardsize 5\n=\nplay b a1\n=\ngenmove w\n", ["b a1"]),
    "nothing played": ("boardsize 5\nclear_board\nname\n= x\nshowboard\n", []),
    "no size": ("play b a1\n", ["f:1:1: play, but no boardsize"]),
    "lost answer": ("boardsize 5\n=\ngenmove b\ngenmove w\n= a1\n", ["f:3:1: genmove has no answer"]),
    "answers at the end": ("boardsize 5\nplay b a1\nplay w b1\n=\n=\n? taken\n", ["f:5:1: an answer, but no"]),
    "missing answer": ("boardsize 5\ngenmove b\nplay w b1\n", ["f:2:1: genmove has no answer"]),
    "loadsgf": ("boardsize 5\nloadsgf x.sgf\nplay b a1\nclear_board\nplay b a2\n", ["f:3:1: play, but no", "b a2"]),
    "no cell": ("boardsize 5\nplay b f1\n", ["f:2:1: 'f1' is no cell"]),
    "no colour": ("boardsize 5\nplay a1\n", ["f:2:1: play 'a1': no colour"]),
    "not square": ("boardsize 5 6\nplay b a1\n", ["f:1:1: a 5x6 board"]),
    "no number": ("boardsize five\n", ["f:1:1: boardsize 'five'"]),
    "nothing to undo": ("boardsize 5\nundo\n", ["f:2:1: undo, but"]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_htp(name: str) -> None:
    text, games = LOGS[name]
    found = [said(game) for game in read(FORMATS["htp"], text)]
    assert len(found) == len(games)
    for one, expected in zip(found, games, strict=True):
        assert one.startswith(expected) if ":" in expected else one == expected


def test_a_log_may_tell_who_has_won() -> None:
    for score, winner in (("B+", BLACK), ("W+", WHITE), ("cannot score", 0)):
        (game,) = sound_games(
            FORMATS["htp"], f"boardsize 5\n=\nplay b a1\n=\nfinal_score\n= {score}\n"
        )
        assert game.winner == winner


def test_the_white_moves_of_little_golem_are_black_s() -> None:
    """PB plays them, first, and connects top to bottom; RE names PB or PW."""
    text = "(;FF[4]EV[hex]PB[Ada]PW[Bob]SZ[13]RE[B]GC[ game #1]SO[x];W[am];B[swap];W[kj];B[ie];W[ka];B[resign])"
    (game,) = sound_games(FORMATS["littlegolem"], text)
    assert said(game) == "b a13 w swap-pieces b k10 w i5 b k1 w resign"
    record = as_record(game)
    assert record.moves.tolist() == [12 * 13, 169, 9 * 13 + 10, 4 * 13 + 8, 10]
    assert (record.winner, record.ending) == (BLACK, Ending.RESIGNED)
    assert game.winner == BLACK
    assert (record.black, record.white) == ("Ada", "Bob")


def test_a_game_of_little_golem_that_b_begins_is_read_as_it_stands() -> None:
    (game,) = sound_games(
        FORMATS["littlegolem"], "(;FF[4]PB[Ada]PW[Bob]SZ[13]RE[W];B[am];W[kj];B[resign])"
    )
    assert said(game) == "b a13 w k10 b resign"
    assert (game.winner, game.black, game.white) == (WHITE, "Ada", "Bob")


@pytest.mark.parametrize("name", [r"a]b", "a]", "]", "back\\", r"\]", "[x]", "a;b", "(c)", "a]; b"])
def test_names_of_little_golem_stand_as_they_are(name: str) -> None:
    text = f"(;FF[4]EV[hex]PB[{name}]PW[{name}]SZ[13]RE[B];W[am];B[resign])\n"
    (game,) = sound_games(FORMATS["littlegolem"], text)
    assert (game.black, game.white) == (name, name)
    (again,) = sound_games(FORMATS["littlegolem"], FORMATS["littlegolem"].write(game))
    assert (again.black, again.white) == (name, name)


def test_a_name_that_little_golem_would_cut_is_not_written() -> None:
    game = RecordedGame(5, (RecordedMove(BLACK, 3),), black="a]SZ[7")
    with pytest.raises(RecordError, match=r"'a\]SZ\[7' would be read as another one"):
        FORMATS["littlegolem"].write(game)


@pytest.mark.parametrize("value", ["aaa", "a1", "an", "n a", "A1"])
def test_no_cell_of_little_golem(value: str) -> None:
    (error,) = read(FORMATS["littlegolem"], f"(;SZ[13];W[{value}])")
    assert isinstance(error, RecordError)
    assert error.reason == "illegal move"


SIX = (
    "BoardSize: 5x5\nFirst: V\nSwap: 1\nMoves:\n"
    "  1. A2 (0 ms) Swap (26 ms)\n  2. C3 (1 ms) D4 (2 ms)\n  3. B1 (3 ms)\n"
)


def test_after_a_swap_six_goes_on_as_after_swap_pieces() -> None:
    (game,) = sound_games(FORMATS["six"], SIX.replace("B1", "E5"))
    assert said(game) == "b a2 w swap-pieces b c3 w d4 b e5"
    (taken,) = sound_games(FORMATS["six"], SIX)
    with pytest.raises(RecordError, match="b1: the cell is taken"):
        as_record(taken)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("5x5", "5x6", "f:1:11: a 5x6 board"),
        ("5x5", "large", "f:1:11: ' large'"),
        ("First: V", "First: X", "f:2:7: ' X'"),
        ("C3", "F3", "f:6:6: 'f3' is no cell"),
        ("D4 (2 ms)", "D4 (2 ms", "f:6:18: ' (2 ms'"),
        ("  2. ", "  two ", "f:6:1: '  two"),
    ],
)
def test_what_is_wrong_in_a_game_of_six_is_told_with_its_place(
    old: str, new: str, error: str
) -> None:
    (found,) = read(FORMATS["six"], SIX.replace(old, new))
    assert str(found).startswith(error)
