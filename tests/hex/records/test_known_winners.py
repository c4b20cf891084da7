"""Every format: files whose winner is known to a person, read, written and read again.

Black connects top to bottom in all of them: b1 b2 b3, a column, against White's a1 and c1; or White
wins after a swap.
"""

from typing import NamedTuple

import pytest

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import FORMATS
from hexlit.hex.records.game import as_record
from tests.hex.records.games import sound_games


class Known(NamedTuple):
    """What a person sees in a file."""

    winner: int
    ending: Ending
    moves: list[int]


CONNECTED = Known(BLACK, Ending.CONNECTED, [1, 0, 4, 2, 7])
RESIGNED = Known(BLACK, Ending.RESIGNED, [4])
LOST = Known(WHITE, Ending.RESIGNED, [4, 0])
SWAPPED = Known(
    WHITE, Ending.CONNECTED, [1, 9, 2, 4, 8, 5]
)  # White's stone is a2 then, and connects a2 b2 c2
CLAIMED = Known(BLACK, Ending.UNFINISHED, [4])
COLUMN = Known(
    BLACK, Ending.CONNECTED, [cell for row in range(10) for cell in (10 * row, 10 * row + 1)][:-1]
)

SGF = "(;FF[4]GM[11]SZ[3]PB[Ada]PW[Bob]RE["
GOLEM = "(;FF[4]EV[hex]PB[Ada]PW[Bob]SZ[3]RE["
LOG = "boardsize 3\n=\nclear_board\n=\n"
SIX = "BoardSize: 3x3\nFirst: V\nSwap: 0\nMoves:\n  "
SWAP = ("b b1", "w swap-pieces", "b c1", "w b2", "b c3", "w c2")
TEN = ",".join(f"b a{row},w b{row}" for row in range(1, 10))

FILES = [
    ("sgf", f"{SGF}B+];B[b1];W[a1];B[b2];W[c1];B[b3])", CONNECTED),
    ("sgf", f"{SGF}B+Resign];B[b2])", RESIGNED),
    ("sgf", f"{SGF}B+];B[b2];W[resign])", RESIGNED),
    ("sgf", f"{SGF}W+];B[b2];W[a1];B[resign])", LOST),
    ("sgf", f"{SGF}W+];B[b1];W[swap-pieces];B[c1];W[b2];B[c3];W[c2])", SWAPPED),
    ("sgf", f"{SGF}B+];B[b2])", CLAIMED),
    ("littlegolem", f"{GOLEM}B];W[ba];B[aa];W[bb];B[ca];W[bc])", CONNECTED),
    ("littlegolem", f"{GOLEM}B];W[bb];B[resign])", RESIGNED),
    ("littlegolem", f"{GOLEM}W];W[bb];B[aa];W[resign])", LOST),
    ("littlegolem", f"{GOLEM}W];W[ba];B[swap];W[ca];B[bb];W[cc];B[cb])", SWAPPED),
    ("littlegolem", f"{GOLEM}B];W[bb])", CLAIMED),
    ("littlegolem", f"{GOLEM}B];B[ba];W[aa];B[bb];W[ca];B[bc])", CONNECTED),
    ("littlegolem", f"{GOLEM}W];B[bb];W[aa];B[resign])", LOST),
    ("trmph", "http://www.trmph.com/hex/board#3,b1a1b2c1b3 b", CONNECTED),
    ("trmph", "#3,b1a1b2c1b3 1", CONNECTED),
    ("trmph", "#3,b2 b", CLAIMED),
    ("hexworld", "https://hexworld.org/board/#3c1,b1a1b2c1b3", CONNECTED),
    ("hexworld", "#3c1,b2:rw", RESIGNED),
    ("hexworld", "#3c1,b2a1:rb", LOST),
    ("hexworld", "#3c1,b1:sc1b2c3c2", SWAPPED),
    ("wolve", f"{TEN},b a10,B", COLUMN),
    ("wolve", "b e5,w a1,b resign,W", Known(WHITE, Ending.RESIGNED, [44, 0])),
    ("wolve", "b e5,B", Known(BLACK, Ending.UNFINISHED, [44])),
    (
        "htp",
        f"{LOG}play b b1\n=\nplay w a1\n=\nplay b b2\n=\nplay w c1\n=\ngenmove b\n= b3\n",
        CONNECTED,
    ),
    ("htp", f"{LOG}play b b2\n=\ngenmove w\n= resign\n", RESIGNED),
    ("htp", f"{LOG}play b b2\n=\nplay w a1\n=\nplay b resign\n=\n", LOST),
    (
        "htp",
        LOG
        + "".join(
            f"play {move}\n=\n"
            for move in ("b b1", "w swap-pieces", "b c1", "w b2", "b c3", "w c2")
        ),
        SWAPPED,
    ),
    ("htp", f"{LOG}play b b2\n=\nfinal_score\n= B+\n", CLAIMED),
    ("six", f"{SIX}1. B1 A1\n  2. B2 C1\n  3. B3\n", CONNECTED),
    ("six", f"{SIX}1. B2 Resign\n", RESIGNED),
    ("six", f"{SIX}1. B2 A1\n  2. Resign\n", LOST),
    ("six", f"{SIX}1. B1 Swap\n  2. C1 B2\n  3. C3 C2\n", SWAPPED),
]


def seen(record: GameRecord) -> Known:
    return Known(record.winner, record.ending, record.moves.tolist())


def test_every_format_has_a_file() -> None:
    assert {name for name, _, _ in FILES} == set(FORMATS)


@pytest.mark.parametrize(("name", "text", "known"), FILES)
def test_a_file_is_read_with_its_winner_and_so_again_when_it_is_written(
    name: str, text: str, known: Known
) -> None:
    (game,) = sound_games(FORMATS[name], text)
    assert seen(as_record(game)) == known
    if known.ending == Ending.UNFINISHED and name == "htp":  # its commands have no result
        return
    (again,) = sound_games(FORMATS[name], FORMATS[name].write(game))
    assert seen(as_record(again)) == known
    assert (again.black, again.white) == (game.black, game.white)
    if name in ("sgf", "littlegolem"):
        assert (as_record(again).black, as_record(again).white) == ("Ada", "Bob")
