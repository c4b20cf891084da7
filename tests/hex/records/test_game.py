"""From a game as it was written down to the project's frame."""

from dataclasses import replace

import pytest

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import parse_cell
from hexlit.hex.record import Ending
from hexlit.hex.records.game import (
    FORFEIT,
    NAMES,
    RESIGN,
    SWAP_PIECES,
    SWAP_SIDES,
    Place,
    RecordedGame,
    RecordedMove,
    RecordError,
    as_record,
    read_swaps,
)
from tests.hex.records.games import mirrored

ACTIONS = {name: action for action, name in NAMES.items()}


def moves(text: str, size: int = 5) -> tuple[RecordedMove, ...]:
    """`b a1, w resign`."""
    pairs = [field.split() for field in text.split(",") if field]
    return tuple(
        RecordedMove(
            {"b": BLACK, "w": WHITE}[colour],
            ACTIONS[name] if name in ACTIONS else parse_cell(name, size),
        )
        for colour, name in pairs
    )


def game(text: str, setup: str = "", winner: int = 0, ending: Ending | None = None) -> RecordedGame:
    return RecordedGame(
        5, moves(text), setup=moves(setup), winner=winner, ending=ending, black="Ada", white="Bob"
    )


def test_a_game_that_white_begins_is_mirrored_with_its_people() -> None:
    record = as_record(game("w b1, b c3, w resign"))
    assert record.moves.tolist() == [5, 12]  # a2, c3
    assert (record.winner, record.ending) == (WHITE, Ending.RESIGNED)
    assert (record.black, record.white) == ("Bob", "Ada")


def test_a_mirrored_game_is_the_same_game() -> None:
    for text in (
        "b a2, w swap-pieces, b c3, w d4",
        "b a2, w swap-sides, w d4",
        "b a2, w c3, b forfeit",
    ):
        one, other = as_record(game(text)), as_record(mirrored(game(text)))
        assert one.moves.tolist() == other.moves.tolist()
        assert (one.winner, one.ending, one.swap, one.black) == (
            other.winner,
            other.ending,
            other.swap,
            other.black,
        )


def test_swap_pieces_is_a_move_and_swap_sides_an_exchange_of_the_people() -> None:
    pieces = as_record(game("b a2, w swap-pieces, b c3"))
    assert (pieces.moves.tolist(), pieces.swap, pieces.black) == ([5, 25, 12], True, "Ada")
    sides = as_record(game("b a2, w swap-sides, w c3, b d4"))
    assert (sides.moves.tolist(), sides.swap, sides.black, sides.white) == (
        [5, 12, 18],
        True,
        "Bob",
        "Ada",
    )


def test_stones_set_up_become_an_opening() -> None:
    record = as_record(game("w c3, b d4", setup="b a1, b a2, w e5"))
    assert (record.moves.tolist(), record.opening) == ([0, 24, 5, 12, 18], 3)
    assert as_record(game("w swap-pieces, b d4", setup="b a2")).moves.tolist() == [5, 25, 18]


@pytest.mark.parametrize(
    ("claimed", "ending", "text", "result"),
    [
        (
            WHITE,
            Ending.RESIGNED,
            "b c1,w a1,b c2,w a2,b c3,w a3,b c4,w a4,b c5",
            (BLACK, Ending.CONNECTED),
        ),
        (BLACK, None, "b a1, w c3, b resign", (WHITE, Ending.RESIGNED)),
        (BLACK, Ending.RESIGNED, "b a1, w c3", (BLACK, Ending.RESIGNED)),
        (BLACK, Ending.FORFEITED, "b a1, w c3", (BLACK, Ending.FORFEITED)),
        (BLACK, Ending.CONNECTED, "b a1, w c3", (BLACK, Ending.UNFINISHED)),
        (BLACK, None, "b a1, w c3", (BLACK, Ending.UNFINISHED)),
        (0, Ending.RESIGNED, "b a1, w c3", (0, Ending.UNFINISHED)),
        (0, None, "b a1, w c3, w forfeit", (BLACK, Ending.FORFEITED)),
        (0, None, "w resign", (BLACK, Ending.RESIGNED)),
        (
            BLACK,
            None,
            "b c1,w a1,b c2,w a2,b c3,w a3,b c4,w a4,b c5,b resign",
            (BLACK, Ending.CONNECTED),
        ),
    ],
)
def test_the_board_is_believed_before_a_resignation_and_that_before_the_file(
    claimed: int, ending: Ending | None, text: str, result: tuple[int, Ending]
) -> None:
    record = as_record(game(text, winner=claimed, ending=ending))
    assert (record.winner, record.ending) == result


LINE = "b c1, w a1, b c2, w a2, b c3, w a3, b c4, w a4, b c5"
REFUSED = {
    "illegal move": ["b a1, w a1", "b a2, w swap-pieces, b b1", "b a2, w swap-sides, w a2"],
    "order of colours": ["b a1, b a2", "b a2, w swap-pieces, w c3", "b a2, w swap-sides, b c3"],
    "swap": [
        "b a2, b swap-pieces",
        "w swap-pieces",
        "b a2, w c3, b swap-sides",
        "b a2, w swap-sides, w swap-pieces",
    ],
    "pass": ["b a1, w pass, b a2"],
    "moves after the end": ["b a1, w resign, b a2", f"{LINE}, w b1"],
}


@pytest.mark.parametrize(
    ("text", "setup", "reason"),
    [
        *((text, "", reason) for reason, texts in REFUSED.items() for text in texts),
        ("b c1", "w a1, w b2", "setup"),
        ("", LINE, "setup"),
        ("", "b c1, w c1", "illegal move"),
    ],
)
def test_what_is_no_game_of_hex_is_refused_at_its_place(text: str, setup: str, reason: str) -> None:
    with pytest.raises(RecordError, match="^f:3: ") as caught:
        as_record(replace(game(text, setup), place=Place("f", 3)))
    assert caught.value.reason == reason


@pytest.mark.parametrize("action", [25, 100, -6])
@pytest.mark.parametrize("colour", [BLACK, WHITE])
def test_a_move_that_is_no_cell_is_refused(action: int, colour: int) -> None:
    stone = (RecordedMove(colour, action),)
    for game_ in (RecordedGame(5, stone), RecordedGame(5, (), setup=stone)):
        with pytest.raises(RecordError) as caught:
            as_record(game_)
        assert caught.value.reason in ("illegal move", "setup")


def test_errors_of_a_game_that_white_begins_name_cells_and_colours_as_the_file_does() -> None:
    for text, said in (
        ("w b1, b c3, w b1", "b1: the cell is taken"),
        ("w b1, w c3", "is White's, but it is Black's"),
    ):
        with pytest.raises(RecordError, match=said):
            as_record(game(text))


@pytest.mark.parametrize("word", [SWAP_PIECES, SWAP_SIDES])
def test_the_colour_of_the_next_stone_says_what_a_swap_was(word: int) -> None:
    first, swap = RecordedMove(BLACK, 5), RecordedMove(WHITE, word)
    assert read_swaps([first, swap, RecordedMove(WHITE, 7)])[1].action == SWAP_SIDES
    assert read_swaps([first, swap, RecordedMove(BLACK, 7)])[1].action == SWAP_PIECES
    for end in ([], [RecordedMove(WHITE, RESIGN)], [RecordedMove(BLACK, FORFEIT)]):
        assert read_swaps([first, swap, *end])[1].action == word
