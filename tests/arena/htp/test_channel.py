"""Reading commands while the program is busy, and an output for the protocol alone."""

import os
import subprocess
import sys
import time

from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.htp.channel import Incoming, write
from hexlit.arena.htp.protocol import LONGEST_LINE, decode, is_interrupt, parse_request


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


LINE = st.binary(max_size=12).filter(lambda line: b"\n" not in line) | st.sampled_from(
    [b"name", b"1 name\r", b"# interrupt", b"#", b""]
)


@given(st.lists(LINE, max_size=20), st.integers(1, 40), st.booleans())
def test_commands_arrive_in_turn_however_the_bytes_are_cut(lines: list[bytes], chunk: int, ended: bool) -> None:
    content = b"\n".join(lines) + (b"\n" if ended else b"")
    expected = [parse_request(decode(line)) for line in lines if not is_interrupt(decode(line))]
    found = list(incoming_of(content, chunk))
    assert [request for _, request in found] == [request for request in expected if request]
    assert [number for number, _ in found] == list(range(1, len(found) + 1))


def test_an_enormous_line_is_cut_and_marked_and_the_next_one_whole() -> None:
    long = b"7 name " + b"x" * (3 * LONGEST_LINE)
    (_, first), (_, second) = incoming_of(long + b"\nversion\n", 50_000)
    assert (first.id, first.name, first.overlong) == ("7", "name", True)
    assert (second.name, second.overlong) == ("version", False)


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
from hexlit.arena.htp.channel import private_output, write
print("before", flush=True)
with private_output() as out:
    print("noise", flush=True)
    os.system("echo deep noise")
    write(out, "= answer\\n\\n")
print("after")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"before\n= answer\n\nafter\n"
    assert done.stderr == b"noise\ndeep noise\n"


def test_lone_surrogates_are_written_all_the_same() -> None:
    source, target = os.pipe()
    with os.fdopen(target, "wb", buffering=0) as out:
        write(out, "= \udcff\n\n")
    assert os.read(source, 100) == b"= \\udcff\n\n"
    os.close(source)
