"""Lines of HTP: what they ask for, how they are answered,
and reading them while the program is busy.
"""

import os
import re
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.htp.actions import parse_colour, parse_move, parse_whole
from hexlit.arena.htp.protocol import (
    Incoming,
    Request,
    decode,
    format_reply,
    is_interrupt,
    parse_request,
)
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


@pytest.mark.parametrize(
    "line", [b"", b"\r", b" \t ", b"# play b a1", b"  # interrupt", b"\x00\x01"]
)
def test_lines_without_a_command_ask_for_nothing(line: bytes) -> None:
    assert parse_request(decode(line)) is None


def test_only_the_comment_interrupt_interrupts() -> None:
    assert all(is_interrupt(text) for text in ("# interrupt", "#interrupt", "\t#  Interrupt "))
    assert not any(
        is_interrupt(text) for text in ("interrupt", "# interrupted", "name # interrupt", "#")
    )


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


@given(st.text(max_size=300).map("{}!".format))
def test_what_is_no_move_no_colour_and_no_number_is_named_in_one_printable_line(text: str) -> None:
    for parse in (
        parse_colour,
        lambda text: parse_move(text, 3),
        lambda text: parse_whole(text, "size", 1, 9),
    ):
        with pytest.raises(UsageError) as refused:
            parse(text)
        assert str(refused.value).isprintable()


def incoming_of(content: bytes, chunk: int = 65536) -> Incoming:
    """`content` arrives in pieces of `chunk` bytes, then the end."""
    source, target = os.pipe()
    incoming = Incoming(source)
    for start in range(0, len(content), chunk):
        os.write(target, content[start : start + chunk])
    os.close(target)
    return incoming


def soon(happens: object) -> bool:
    """Whether `happens()` becomes true; for what another thread does."""
    deadline = time.monotonic() + 20
    while not happens() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.001)
    return bool(happens())  # type: ignore[operator]


LINES = st.binary(max_size=12).filter(lambda line: b"\n" not in line) | st.sampled_from(
    [b"name", b"1 name\r", b"# interrupt", b"#", b""]
)


@given(st.lists(LINES, max_size=20), st.integers(1, 40), st.booleans())
def test_commands_arrive_in_turn_however_the_bytes_are_cut(
    lines: list[bytes], chunk: int, ended: bool
) -> None:
    content = b"\n".join(lines) + (b"\n" if ended else b"")
    expected = [parse_request(decode(line)) for line in lines if not is_interrupt(decode(line))]
    found = list(incoming_of(content, chunk))
    assert [request for _, request in found] == [request for request in expected if request]
    assert [number for number, _ in found] == list(range(1, len(found) + 1))


def test_an_interrupt_reaches_the_commands_before_it_alone() -> None:
    source, target = os.pipe()
    incoming = Incoming(source)
    os.write(target, b"genmove b\n")
    assert soon(lambda: incoming._arrived == 1)
    assert not incoming.interrupted(1)
    assert not incoming.followed(1)
    os.write(target, b"# interrupt\n")
    assert soon(lambda: incoming.interrupted(1))
    assert incoming.followed(1)
    os.write(target, b"genmove w\n")
    assert soon(lambda: incoming._arrived == 2)
    assert not incoming.interrupted(2)
    assert not incoming.followed(2)
    os.close(target)
    assert soon(lambda: incoming.followed(2))
    assert not incoming.interrupted(2)
    assert [request.arguments for _, request in incoming] == [("b",), ("w",)]


def test_what_is_printed_meanwhile_goes_to_standard_error() -> None:
    program = """
import os
from hexlit.arena.htp.protocol import private_output, write
print("before", flush=True)
with private_output() as out:
    print("noise", flush=True)
    os.system("echo deep noise")
    write(out, "= answer\\n\\n")
print("after")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=60
    )
    assert done.stdout == b"before\n= answer\n\nafter\n"
    assert done.stderr == b"noise\ndeep noise\n"
