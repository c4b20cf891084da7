"""Any conversation: one answer to each command,
and a position that no mistake can lose; its thread and its time.
"""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexlit.arena.config import PlaySettings
from hexlit.arena.htp import actions
from hexlit.arena.htp.protocol import COMMANDS, decode, is_interrupt, parse_request
from hexlit.arena.htp.session import HtpSession, Loaded, PlayerTime
from hexlit.arena.htp.session import answer as answer_of
from hexlit.errors import UsageError
from tests.arena.htp.sessions import ask, converse, session_of, tell

ODD_WORDS = (
    "b w black WHITE a1 B2 c3 d4 e5 a0 swap-pieces resign pass 0 1 2 3 4 5 20 -1 1e9 nan inf"
)
GOOD_LINES = """
play b a1, play w b2, play b C3, genmove b, genmove w, undo, boardsize 3, boardsize 4 4, clear_board, reg_genmove b,
play w swap-pieces, showboard, final_score, all_legal_moves, play b resign, gogui-gfx-analyze b, hexlit-visits w,
hexlit-policy b, hexlit-map b, param_game allow_swap 1, param_game simulations 3, loadsgf /dev/null, # interrupt"""
WORDS = st.sampled_from([*COMMANDS, *ODD_WORDS.split()])
TYPICAL = st.sampled_from([line.strip() for line in GOOD_LINES.split(",")])
LINE = (
    TYPICAL.map(str.encode)
    | st.tuples(st.sampled_from(["", "7 ", "\t12\t"]), st.lists(WORDS, max_size=4)).map(
        lambda line: (line[0] + " ".join(line[1])).encode()
    )
    | st.binary(max_size=30).filter(lambda line: b"\n" not in line)
    | st.text(max_size=20).map(
        lambda text: text.replace("\n", " ").encode("utf-8", errors="surrogatepass")
    )
)
ENDS = st.sampled_from([b"\n", b"\r\n", b" # comment\n", b"\n\n"])


@pytest.fixture(scope="module")
def shared() -> HtpSession:
    """One session for all examples, so that every one starts where another has left off."""
    return session_of(3, simulations=4, live_simulations=8, interval=0.001)


@given(st.lists(st.tuples(LINE, ENDS), max_size=12))
@settings(max_examples=100)
def test_every_command_gets_one_answer_with_its_number(
    shared: HtpSession, lines: list[tuple[bytes, bytes]]
) -> None:
    texts = [decode(line) for line, _ in lines if not is_interrupt(decode(line))]
    requests = [request for request in map(parse_request, texts) if request]
    for last, request in enumerate(requests):
        if request.name == "quit" and not request.arguments:
            requests = requests[: last + 1]
            break
    _, replies = converse(shared, b"".join(line + end for line, end in lines))
    assert len(replies) == len(requests)
    for reply, request in zip(replies, requests, strict=True):
        assert re.match(rf"[=?]{request.id} ", reply)
        assert "\n\n" not in reply
        if request.name not in COMMANDS:
            assert reply.startswith("?")


@given(st.lists(TYPICAL.filter(lambda line: "#" not in line), max_size=6), LINE)
@settings(max_examples=100)
def test_an_error_leaves_the_position_as_it_was(before: list[str], line: bytes) -> None:
    session = session_of(3, simulations=2, live_simulations=4, interval=0.001)
    for command in before:
        ask(session, command)
    request = parse_request(decode(line))
    if request is None:
        return
    position, cells = session.position, session.position.cells.copy()
    reply, fine = answer_of(session, request)
    assert fine == reply.startswith("=")
    if not fine:
        assert session.position is position
    assert np.array_equal(position.cells, cells)
    assert session.thinker.size == session.size


def test_a_bug_is_an_answer_too_and_the_game_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(session: HtpSession) -> str:
        session.position = session.position.place(-1, 0)
        raise ZeroDivisionError

    monkeypatch.setattr(actions, "showboard", broken)
    session = session_of(3)
    tell(session, "play b b2")
    before = session.position
    assert ask(session, "4 showboard") == "?4 internal error: ZeroDivisionError"
    assert session.position is before
    assert "showboard failed" in caplog.text
    assert ask(session, "name") == "= hexlit"


def test_every_command_names_a_function() -> None:
    assert all(callable(command.action()) for command in COMMANDS.values())


def test_every_listed_command_is_known_and_no_other() -> None:
    session = session_of(3)
    listed = ask(session, "list_commands")[2:].split("\n")
    required = "protocol_version name version known_command list_commands quit boardsize clear_board play genmove"
    required += (
        " reg_genmove undo showboard final_score all_legal_moves time_left loadsgf param_game"
    )
    assert set(required.split()) | {"hexgui-analyze_commands", "gogui-gfx-analyze"} <= set(listed)
    for name in listed:
        assert ask(session, f"known_command {name}") == "= true"
    assert ask(session, "known_command knock") == "= false"
    assert ask(session, "known_command NAME") == "= false"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("protocol_version", "= 2"),
        ("knock", "? unknown command 'knock'"),
        ("5", "?5 a command is needed after its number"),
        ("play b", "? play takes COLOR MOVE: 1 given"),
        ("name x", "? name takes no arguments: 1 given"),
        ("play red a1", "? colour 'red': b, black, w or white is needed"),
        ("play b d1", "? move 'd1': a move on a 3x3 board is a cell from a1 to c3, or swap-pieces"),
        ("boardsize 5 6", "? board size 5x6: must be square, 2 to 19 rows"),
        ("boardsize 20", "? board size 20x20: must be square, 2 to 19 rows"),
        ("boardsize 1", "? board size 1x1: must be square, 2 to 19 rows"),
        ("boardsize 3.5", "? size '3.5': must be a whole number from 0 to 999999999"),
        ("undo", "? cannot undo: no move has been played"),
        ("time_left b x", "? time 'x': must be a number from 0 to 1e+09"),
        (
            "param_game mood 3",
            "? unknown parameter 'mood': there are allow_swap, game_time, level, resign, "
            "simulations, solver_seconds",
        ),
        ("param_game simulations 0", "? simulations '0': must be a whole number from 1 to 32767"),
        ("loadsgf nowhere.sgf", "? file 'nowhere.sgf': cannot be read (No such file or directory)"),
    ],
)
def test_simple_answers(line: str, answer: str) -> None:
    assert ask(session_of(3), line) == answer


def test_quit_is_answered_and_ends_the_conversation_and_so_does_the_end_of_the_input() -> None:
    session = session_of(3)
    assert converse(session, b"1 quit\nname\n")[0] == "=1 \n\n"
    assert converse(session, b"name")[0] == "= hexlit\n\n"
    assert converse(session, b"quit now\nname\n")[1] == [
        "? quit takes no arguments: 1 given",
        "= hexlit",
    ]


def test_a_thinker_that_cannot_be_loaded_is_told_by_every_command_that_needs_it() -> None:
    def load() -> Loaded:
        raise UsageError("no such checkpoint")

    session = HtpSession(load, PlaySettings(), 4, board=3, allow_swap=False)
    session.get_ready()
    assert ask(session, "genmove b") == "? no such checkpoint"
    assert ask(session, "play b a1") == "= "
    assert not session.busy


def test_a_game_played_at_its_budget_keeps_time_to_the_end() -> None:
    clock = PlayerTime(60.0)
    for empty in range(121, 0, -2):
        budget = clock.budget(empty)
        assert budget is not None
        assert budget > 0
        clock.spend(budget)
    assert clock.left is not None
    assert clock.left > 0


def test_a_number_of_moves_shares_the_time() -> None:
    clock = PlayerTime(30.0, 3)
    assert clock.budget(100) == pytest.approx(30 / 3, rel=0.01)
    clock.spend(5)
    assert clock.budget(100) == pytest.approx(25 / 2, rel=0.01)


def test_a_flag_that_has_fallen_leaves_no_time() -> None:
    clock = PlayerTime(3.0)
    clock.spend(5.0)
    assert clock.left == 0
    assert clock.budget(100) == 0
