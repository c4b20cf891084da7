"""Analyses that another program can show on its board."""

import re

import numpy as np
import pytest

from hexlit.arena.htp.commands import MENU
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.hex.openings import solved_openings
from tests.arena.htp.sessions import ask, converse, session_of, tell

INFO = re.compile(
    r"info move ([a-z][0-9]+|swap-pieces) visits ([0-9]+) winrate ([0-9.]+) scoreLead (-?[0-9.]+) order ([0-9]+) "
    r"prior ([0-9.]+) pv ([a-z0-9 -]+?)(?= info|$)"
)


def pairs_of(reply: str) -> dict[str, str]:
    words = reply.removeprefix("= ").split(" ")
    assert len(words) % 2 == 0
    return dict(zip(words[::2], words[1::2], strict=True))


def test_the_menu_is_of_lines_that_hexgui_reads() -> None:
    lines = ask(session_of(3), "hexgui-analyze_commands").removeprefix("= ").split("\n")
    assert len(lines) == len(MENU)
    labels = set()
    for line in lines:
        kind, label, command = line.split("/")
        assert kind in ("pspairs", "plist", "gfx", "varc", "string")
        assert command.endswith(" %c")
        labels.add(label)
    assert len(labels) == len(lines)


@pytest.mark.parametrize("swap", [False, True])
def test_every_command_of_the_menu_answers_for_both_colours_and_leaves_the_position(swap: bool) -> None:
    session = session_of(3, simulations=32, swap=swap, live_simulations=64)
    tell(session, "play b b2")
    position = session.position
    for kind, _, command in MENU:
        for colour in "bw":
            reply = ask(session, f"{command} {colour}")
            assert reply.startswith("= ")
            if kind == "pspairs":
                cells = [parse_cell(name, 3) for name in pairs_of(reply)]
                assert all(position.cells[cell] == 0 for cell in cells)
                assert cells
    assert session.position is position


def test_there_is_nothing_to_analyse_after_the_end() -> None:
    session = session_of(2)
    tell(session, "play b a1", "play b a2")
    for _, _, command in MENU:
        assert ask(session, f"{command} w") == "? the game is over"
        assert ask(session, f"{command} red").startswith("?")


@pytest.mark.parametrize("size", [3, 4])
def test_exact_winning_moves_are_those_of_the_solved_openings(size: int) -> None:
    won = [format_cell(int(cell), size) for cell in np.flatnonzero(solved_openings(size).ravel())]
    assert ask(session_of(size), "hexlit-winning b").removeprefix("= ").split(" ") == won


def test_a_position_that_takes_too_long_or_is_too_large_for_the_solver_is_refused() -> None:
    assert ask(session_of(6, solver_nodes=1), "hexlit-winning b").startswith(
        "? not solved within solver_seconds=30 and solver_nodes=1;"
    )
    assert ask(session_of(9), "hexlit-winning b") == "? positions are solved on boards up to 8x8"


def test_the_solver_stops_at_its_time_and_at_an_interrupt_and_answers_the_next_question() -> None:
    session = session_of(8, solver_seconds=0.05)
    assert ask(session, "hexlit-winning b") == "? not solved within solver_seconds=0.05; with more stones it may be"
    session.settings.solver_seconds = 1e6
    session.interrupted = lambda: True
    assert ask(session, "dfpn-solve-state b") == "? interrupted"


@pytest.mark.parametrize(("moves", "colour", "winner"), [(["play b b2"], "w", "black"), (["play b a1"], "w", "white")])
def test_the_solver_s_commands_of_other_programs(moves: list[str], colour: str, winner: str) -> None:
    session = session_of(3)
    tell(session, *moves)
    assert ask(session, f"dfpn-solve-state {colour}") == f"= {winner}"
    assert ask(session, f"dfpn-solver-find-winning {colour}") == ask(session, f"hexlit-winning {colour}")


@pytest.mark.row("F20")
@pytest.mark.parametrize("size", [3, 4])
def test_with_the_solver_a_player_never_loses_what_is_won(size: int) -> None:
    """Whatever the other one plays: from every won opening, and, by the swap, from every other."""
    for cell, won in enumerate(solved_openings(size).ravel()):
        session = session_of(size, simulations=1, swap=True, solver=True)
        tell(session, f"play b {format_cell(cell, size)}")
        draw = np.random.default_rng(cell)
        assert (ask(session, "genmove w") == "= swap-pieces") == bool(won)
        while not session.position.winner:
            empty = np.flatnonzero(session.position.cells == 0)
            tell(session, f"play b {format_cell(int(draw.choice(empty)), size)}")
            if not session.position.winner:
                ask(session, "genmove w")
        assert session.position.winner == -1


def test_a_position_that_the_solver_cannot_prove_in_time_is_searched() -> None:
    session = session_of(8, solver=True, proof_seconds=0.01)
    assert ask(session, "genmove b").startswith("= ")
    assert ask(session_of(9, solver=True), "genmove b").startswith("= ")


def test_a_win_in_one_is_seen_after_each_move_and_by_the_search() -> None:
    session = session_of(3, simulations=32)
    tell(session, "play b b2", "play b b1", "play w a3")
    chances = pairs_of(ask(session, "hexlit-map b"))
    assert chances["b3"] == "100"
    assert float(chances["a1"]) < 100
    assert ask(session, "hexlit-influence b").endswith("TEXT best after one move: b3, winning chance 1.00")
    assert ask(session, "hexlit-best b").startswith("= b3, winning chance 1.000, ")
    assert ask(session, "hexlit-variation b") == "= b3"
    assert pairs_of(ask(session, "hexlit-winrates b"))["b3"] == "100"
    assert pairs_of(ask(session, "hexlit-values b"))["b3"] == "1.00"


def test_analyses_of_one_position_show_one_search() -> None:
    session = session_of(4, simulations=48)
    visits = pairs_of(ask(session, "hexlit-visits b"))
    assert sum(map(int, visits.values())) == 48
    assert visits.keys() == pairs_of(ask(session, "hexlit-values b")).keys()
    assert pairs_of(ask(session, "hexlit-visits b")) == visits
    assert sum(map(float, pairs_of(ask(session, "hexlit-policy b")).values())) == pytest.approx(100, abs=1)


def test_live_analysis_reports_in_blocks_and_ends_by_itself_at_its_limit() -> None:
    session = session_of(3, live_simulations=200, interval=0.001)
    written, replies = converse(session, b"play b b2\n7 gogui-gfx-analyze w\n")
    assert replies == ["= ", "=7 "]
    assert written.endswith("\n\n=7 \n\n")
    blocks = [block for block in written.split("\n\n") if block.startswith("gogui-gfx:")]
    assert blocks
    for block in blocks:
        first, second, line = block.split("\n")
        assert (first, second) == ("gogui-gfx:", "kata")
        infos = INFO.findall(line)
        assert " ".join(match[0] for match in INFO.finditer(line)) == line
        assert [int(info[4]) for info in infos] == list(range(len(infos)))
        visits = [int(info[1]) for info in infos]
        assert visits == sorted(visits, reverse=True)
        for move, _, winrate, lead, _, _, variation in infos:
            assert variation.split()[0] == move or infos[0][0] == move
            assert float(winrate) == pytest.approx((1 + float(lead)) / 2, abs=1e-3)


def test_live_analysis_gives_way_to_the_next_command() -> None:
    session = session_of(5, interval=1000)
    _, replies = converse(session, b"gogui-gfx-analyze b\nname\ngogui-gfx-analyze w\n# interrupt\nquit\n")
    assert replies == ["= ", "= hexlit", "= ", "= "]
