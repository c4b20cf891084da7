"""Lines of HTP: what they ask for, and how they are answered."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.htp.arguments import parse_colour, parse_move, parse_whole
from hexlit.arena.htp.protocol import Request, decode, format_reply, is_interrupt, parse_request
from hexlit.errors import UsageError


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        (b"name", Request("", "name")),
        (b"12 play b a1\r", Request("12", "play", ("b", "a1"))),
        (b"\t7\tplay\tblack\tA1 # a comment", Request("7", "play", ("black", "A1"))),
        (b'loadsgf "my game.sgf" 4', Request("", "loadsgf", ("my game.sgf", "4"))),
        (b'say "half', Request("", "say", ('"half',))),
        (b"00012", Request("00012", "")),
        (b"-3 name", Request("", "-3", ("name",))),
        (b"na\x00me\x07", Request("", "name")),
        (b"\xff\xfe", Request("", "��")),
        ("٣ name".encode(), Request("", "٣", ("name",))),
    ],
)
def test_a_command_is_its_number_its_name_and_its_arguments(line: bytes, request_: Request) -> None:
    assert parse_request(decode(line)) == request_


@pytest.mark.parametrize("line", [b"", b"\r", b" \t ", b"# play b a1", b"  # interrupt", b"\x00\x01"])
def test_lines_without_a_command_ask_for_nothing(line: bytes) -> None:
    assert parse_request(decode(line)) is None


def test_only_the_comment_interrupt_interrupts() -> None:
    assert all(is_interrupt(text) for text in ("# interrupt", "#interrupt", "\t#  Interrupt "))
    assert not any(is_interrupt(text) for text in ("interrupt", "# interrupted", "name # interrupt", "#"))


@given(st.text(max_size=200), st.booleans(), st.from_regex(r"[0-9]{0,4}", fullmatch=True))
def test_an_answer_ends_with_its_only_blank_line(text: str, success: bool, id_: str) -> None:
    reply = format_reply(Request(id_, "name"), text, success=success)
    assert re.match(rf"[=?]{id_} ", reply)
    assert reply.endswith("\n\n")
    assert all(line.strip() for line in reply[:-2].split("\n"))


def test_an_empty_answer_keeps_the_blank_that_hexgui_looks_for() -> None:
    assert format_reply(Request("", "play"), "", success=True) == "= \n\n"
    assert format_reply(Request("3", "show"), "\n a\n\n b\n", success=True) == "=3 \n a\n b\n\n"
    assert format_reply(Request("", "x"), "why", success=False) == "? why\n\n"


@pytest.mark.parametrize(("text", "colour"), [("b", 1), ("BLACK", 1), ("w", -1), ("White", -1)])
def test_colours_are_read_in_any_case(text: str, colour: int) -> None:
    assert parse_colour(text) == colour


@pytest.mark.parametrize(("text", "move"), [("A1", 0), ("c2", 5), ("Swap-Pieces", "swap-pieces"), ("RESIGN", "resign")])
def test_moves_are_read_in_any_case(text: str, move: int | str) -> None:
    assert parse_move(text, 3) == move


@given(st.text(max_size=300).filter(lambda text: not text.isalnum()))
def test_what_is_no_move_no_colour_and_no_number_is_named_in_one_printable_line(text: str) -> None:
    for parse in (parse_colour, lambda text: parse_move(text, 3), lambda text: parse_whole(text, "size", 1, 9)):
        with pytest.raises(UsageError, match=r"^[ -~]{1,800}$"):
            parse(text)
