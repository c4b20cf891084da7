"""Bad content of any kind gives errors with a place, and nothing else."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexlit.hex.records.formats import FORMATS, RecordFormat, from_record
from hexlit.hex.records.game import RecordedGame, RecordError, as_record
from tests.hex.records.games import built, read

every_format = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)

SGF = r"(; ( ; [ ] \ FF[4] GM[11] SZ[5] SZ[99999] AB[a1:z26] AE[b2] B W B[c3] W[swap-pieces] W[am] RE[B+] C["
LINKS = "#5, 13c1, 5x6 r3 n :s :S :rb : , a1 b2 z26 a0 a99999999999999999999 b r 1"
WORDS = [
    *SGF.split(" "),
    *LINKS.split(" "),
    *[
        "b a1,",
        "w a2,",
        "w resign,",
        "B\n",
        "<<<<<<< HEAD\n",
        " b",
        " r",
        "# ",
        " ",
        "\n",
        "\r",
        "\ufeff",
        "\x00",
    ],
    *[
        "boardsize 5\n",
        "boardsize 9999999999\n",
        "clear_board\n",
        "play b a1\n",
        "play w swap-pieces\n",
        "genmove w\n",
    ],
    *["= e5\n", "=\n", "? no\n", "undo\n", "3 play b a2\n", "=3\n", "loadsgf x\n"],
    *["final_score\n", "= B+\n", "12:01 B>> "],
    *[
        "BoardSize: 5x5\n",
        "First: H\n",
        "Swap: 1\n",
        "Moves:\n",
        "  1. A2 (0 ms) Swap (26 ms)\n",
        "  2. B2\n",
    ],
    *["\u2028", "\x1f", "é", "²", "٣", "99999999999999999999"],
]

texts = st.one_of(
    st.text(max_size=80),
    st.binary(max_size=80).map(lambda content: content.decode("utf-8", errors="replace")),
    st.lists(st.sampled_from(WORDS), max_size=25).map("".join),
)


def check(form: RecordFormat, text: str, most: int = 100) -> list[RecordedGame | RecordError]:
    """The games of `text`, legal or refused, and its errors,
    each one line with a place in it (`most` checked).
    """
    found = read(form, text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for one in found[:most]:
        if isinstance(one, RecordedGame):
            try:
                record = as_record(one)
            except RecordError as error:
                one = error
            else:
                assert 2 <= record.size <= 26
        if isinstance(one, RecordError):
            assert str(one).isprintable()
            assert len(str(one)) < 300
            assert str(one).startswith(f"f:{one.place.line}:{one.place.column}: ")
            assert 1 <= one.place.line <= len(lines)
            assert 1 <= one.place.column <= len(lines[one.place.line - 1]) + 2
    return found


@every_format
@settings(max_examples=100)
@given(text=texts)
def test_no_text_does_worse_than_errors_with_a_place(form: RecordFormat, text: str) -> None:
    check(form, text)


@every_format
@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.1), st.sampled_from(WORDS))),
)
def test_no_damage_to_a_file_does_worse(
    form: RecordFormat, seed: int, cuts: list[tuple[float, float, str]]
) -> None:
    text = "".join(
        form.write(from_record(as_record(built(10, seed + number, 100)))) for number in range(2)
    )
    for start, length, word in cuts:
        at = int(start * len(text))
        text = text[:at] + word + text[at + int(length * len(text)) :]
    check(form, text)


REPEATED = {
    "": [
        "(",
        "(;",
        "(;SZ[5]",
        "[",
        "A",
        "9",
        "#",
        "b a1,",
        "12:",
        "[x]",
        "1 ",
        ">",
        "BoardSize:",
        " ",
        "\n",
        "\x00",
    ],
    "#5,": ["a1", ":p", ","],
    "(;C[": ["\\", "x\n"],
    "boardsize 5\n": ["genmove b\n", "final_score\n", "play b a1\nundo\n"],
    "BoardSize: 5\n": ["1. A1 B1\n"],
    "BoardSize: 5\n1.": [" A1"],
}
LARGE = [
    start + part * min(33_000, 90_000 // len(part))
    for start, parts in REPEATED.items()
    for part in parts
]
LARGE += ["(;FF[4]AB[a1:k11]" + ";AE[a1:k11]" * 2_000 + ")", "(;B" + "[a1]" * 10_000 + ")"]


@every_format
@pytest.mark.parametrize("text", LARGE, ids=lambda text: repr(text[:14]))
def test_large_and_deep_content_is_read_like_any_other(form: RecordFormat, text: str) -> None:
    check(form, text)


@pytest.mark.parametrize("name", ["sgf", "littlegolem"])
def test_a_game_cut_off_is_never_a_game(name: str) -> None:
    text = FORMATS[name].write(built(5, 3, 6, "swap-sides", "resign")).rstrip()
    for end in range(1, len(text)):
        (one,) = check(FORMATS[name], text[:end])
        assert isinstance(one, RecordError)
        assert one.reason == "not a game"


@every_format
def test_what_follows_a_bad_game_is_read(form: RecordFormat) -> None:
    """One sign is spoilt in the second of three games;
    the first and the last are what they were.
    """
    first, second, third = (
        form.write(from_record(as_record(built(10, seed, 100)))) for seed in range(3)
    )
    whole = read(form, first + second + third)
    chance = random.Random(1)
    for _ in range(40):
        # Where Six's first line is spoilt, nobody can tell whose the lines after it are: the game
        # before is refused.
        at = chance.randrange(second.index("\n") * (form.name == "six"), len(second) - 1)
        found = check(form, first + second[:at] + chance.choice("?x9é") + second[at + 1 :] + third)
        said = [replaced(one) for one in found]
        assert said[0] == replaced(whole[0])
        assert said[-1] == replaced(whole[2])


def replaced(one: RecordedGame | RecordError) -> object:
    return (one.size, one.moves, one.winner) if isinstance(one, RecordedGame) else None
