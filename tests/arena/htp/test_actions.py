"""Moves, time and parameters, and analyses that another program can show on its board."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

from hexlit.arena.htp.protocol import COMMANDS
from hexlit.arena.htp.session import HtpSession
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.hex.openings import solved_openings
from tests.arena.htp.sessions import ask, converse, session_of, tell

MENU = [(command.menu[0], name) for name, command in COMMANDS.items() if command.menu is not None]


def board_of(session: HtpSession) -> str:
    """The stones, row by row."""
    cells, size = session.position.cells, session.size
    return "/".join(
        "".join(".XO"[int(stone)] for stone in cells[row * size : (row + 1) * size])
        for row in range(size)
    )


def visits(session: HtpSession) -> int:
    """Simulations of the present tree."""
    return sum(candidate.visits for candidate in session.thinker.search.candidates())


def test_genmove_plays_its_move_and_reg_genmove_does_not() -> None:
    session = session_of(4)
    tell(session, "play b b2")
    before = board_of(session)
    ask(session, "reg_genmove w")
    assert board_of(session) == before
    cell = parse_cell(ask(session, "genmove w")[2:], 4)
    assert session.position.cells[cell] == -1
    assert ask(session, f"play b {cell}").startswith("?")
    tell(session, "undo")
    assert board_of(session) == before


def test_a_whole_game_ends_with_a_winner_and_genmove_then_resigns() -> None:
    session = session_of(4)
    colour = 0
    while ask(session, "final_score") == "= cannot score":
        assert ask(session, f"genmove {'bw'[colour % 2]}") != "= resign"
        colour += 1
    assert ask(session, "final_score") in ("= B+", "= W+")
    assert (
        ask(session, "genmove b")
        == ask(session, "genmove w")
        == ask(session, "reg_genmove b")
        == "= resign"
    )
    assert ask(session, "all_legal_moves") == "= "
    tell(session, "undo")
    assert ask(session, "final_score") == "= cannot score"


def test_a_swap_is_answered_only_where_the_rule_is_on_and_only_by_whites_first_move() -> None:
    """The centre of 3x3 wins for Black: who may swap, does."""
    answers = {}
    for swap in (False, True):
        session = session_of(3, simulations=64, swap=swap)
        tell(session, "play b b2")
        assert ("swap-pieces" in ask(session, "all_legal_moves")) is swap
        answers[swap] = ask(session, "genmove w")
    assert answers[True] == "= swap-pieces"
    assert answers[False] != "= swap-pieces"
    session = session_of(3, simulations=64, swap=True)
    tell(session, "play w b2")
    assert ask(session, "genmove b") != "= swap-pieces"
    tell(session, "clear_board", "play b b2")
    assert ask(session, "genmove b") != "= swap-pieces"
    tell(session, "clear_board", "play b b2", "param_game allow_swap 0")
    assert ask(session, "genmove w") != "= swap-pieces"


def test_a_level_draws_the_swap_that_its_network_has_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = session_of(3, swap=True)
    monkeypatch.setattr(session.thinker, "look", lambda cells, colour: (np.eye(10)[9], 1.0))
    tell(session, "param_game level 1", "play b b2")
    assert ask(session, "genmove w") == "= swap-pieces"


def test_the_swap_of_the_other_side_is_taken_over_whatever_the_rule() -> None:
    session = session_of(5)
    tell(session, "play b d2", "play w swap-pieces")
    assert board_of(session) == "...../...../...../.O.../....."
    tell(session, "undo")
    assert board_of(session) == "...../...X./...../...../....."
    tell(session, "undo")
    assert ask(session, "play w swap-pieces").startswith("? move swap-pieces: only White may swap")


def test_a_hopeless_game_is_resigned_where_that_is_wanted_and_the_board_stays() -> None:
    session = session_of(3, simulations=400, resign=0.49)
    tell(session, "play b b2", "play b a2")
    before = session.position
    assert ask(session, "genmove w") == "= resign"
    assert session.position is before
    tell(session, "param_game resign 0")
    assert ask(session, "genmove w") != "= resign"


def test_a_new_size_is_a_new_game_and_an_impossible_one_changes_nothing() -> None:
    session = session_of(3)
    tell(session, "play b b2")
    assert ask(session, "boardsize 30").startswith("?")
    assert board_of(session) == ".../.X./..."
    tell(session, "boardsize 4 4")
    assert board_of(session) == "..../..../..../...."
    assert ask(session, "genmove b").startswith("= ")


def test_loadsgf_takes_over_a_game_or_nothing(tmp_path: Path) -> None:
    session = session_of(3)
    good, bad = tmp_path / "a good game.sgf", tmp_path / "bad.sgf"
    good.write_text("(;FF[4]GM[11]SZ[4]AB[a1];W[b2];B[c3];W[d4])")
    bad.write_text("(;GM[11]SZ[5];B[c3];W[c3])")
    tell(session, f'loadsgf "{good}" 2')
    assert board_of(session) == "X.../.O../..X./...."
    tell(session, "undo", f'loadsgf "{good}"')
    assert board_of(session) == "X.../.O../..X./...O"
    assert ask(session, f"loadsgf {bad}").startswith("? file ")
    assert board_of(session) == "X.../.O../..X./...O"
    assert ask(session, "genmove b").startswith("= ")


def test_time_is_told_and_taken_off_by_thinking() -> None:
    session = session_of(3)
    assert ask(session, "time_left") == "= black no limit, white no limit"
    tell(session, "time_left b 60")
    assert ask(session, "time_left b") == "= 60.0"
    ask(session, "genmove b")
    left = session.clocks[1].left
    assert left is not None
    assert left < 60
    assert session.clocks[-1].left is None
    tell(session, "param_game game_time 300")
    assert ask(session, "time_left") == "= black 300.0, white 300.0"


@pytest.mark.parametrize(
    "line", ["time_left b 0", "time_left b 0.1", "param_game game_time 0", "time_left b 0.01 1"]
)
def test_a_player_without_time_answers_all_the_same_and_at_once(line: str) -> None:
    session = session_of(5, simulations=30_000)
    tell(session, line)
    assert ask(session, "genmove b").startswith("= ")
    assert visits(session) < 30_000


def test_seconds_limit_the_thinking_and_so_does_an_interrupt() -> None:
    session = session_of(5, simulations=30_000, seconds=0.01)
    assert ask(session, "genmove b").startswith("= ")
    assert visits(session) < 30_000
    session = session_of(5, simulations=30_000)
    started = time.monotonic()
    _, answers = converse(session, b"genmove b\n# interrupt\n2 genmove w\n# interrupt\n")
    assert [answer[:2] for answer in answers] == ["= ", "=2"]
    assert session.position.stones == 2
    assert time.monotonic() - started < 60
    assert visits(session) < 30_000


def test_at_a_level_the_policy_plays_or_fewer_simulations() -> None:
    session = session_of(3)
    tell(session, "param_game level 7")
    policy, _ = session.thinker.look(session.position.cells, 1)
    likeliest = ask(session, "reg_genmove b")
    assert likeliest == f"= {format_cell(int(policy.argmax()), 3)}"
    tell(session, "param_game level 1")
    assert ask(session, "reg_genmove b") != likeliest
    tell(session, "param_game level 8")
    ask(session, "reg_genmove b")
    assert visits(session) == 64
    assert (
        ask(session, "param_game level 11") == "? level '11': must be a whole number from 0 to 10"
    )


def test_parameters_are_listed_read_and_set() -> None:
    session = session_of(3)
    game = "= \nallow_swap 0\ngame_time no limit\nlevel 0\nresign 0\nsimulations 16"
    assert ask(session, "param_game") == f"{game}\nsolver_seconds 30"
    tell(session, "param_game solver_seconds 0.5")
    assert ask(session, "param_game").endswith("\nsolver_seconds 0.5")
    tell(session, "param_game simulations 2", "param_game allow_swap 1", "param_game resign 0.1")
    assert ask(session, "param_game simulations") == "= 2"
    assert session.swap
    tell(session, "play b a1")
    ask(session, "genmove w")
    assert visits(session) == 2


def test_the_tree_lives_on_between_moves_only_where_that_is_wanted() -> None:
    for reuse in (True, False):
        session = session_of(4, simulations=64, reuse=reuse)
        ask(session, "genmove b")
        expected = session.thinker.search.principal_variation()
        assert len(expected) > 2
        tell(
            session,
            f"play w {'abcd'[expected[1] % 4]}{expected[1] // 4 + 1}",
            "param_game simulations 1",
        )
        ask(session, "genmove b")
        assert (visits(session) > 1) is reuse


INFO = re.compile(
    r"info move ([a-z][0-9]+|swap-pieces) visits ([0-9]+) winrate ([0-9.]+) scoreLead (-?[0-9.]+) order ([0-9]+) "
    r"prior ([0-9.]+) pv ([a-z0-9 -]+?)(?= info|$)"
)


def pairs_of(reply: str) -> dict[str, str]:
    words = reply.removeprefix("= ").split(" ")
    assert len(words) % 2 == 0
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("swap", [False, True])
def test_every_command_of_the_menu_answers_for_both_colours_and_leaves_the_position(
    swap: bool,
) -> None:
    session = session_of(3, simulations=32, swap=swap, live_simulations=64)
    tell(session, "play b b2")
    position = session.position
    for kind, command in MENU:
        for colour in "bw":
            reply = ask(session, f"{command} {colour}")
            assert reply.startswith("= ")
            if kind == "pspairs":
                cells = [parse_cell(name, 3) for name in pairs_of(reply)]
                assert all(position.cells[cell] == 0 for cell in cells)
                assert cells
    assert session.position is position


@pytest.mark.parametrize("size", [3, 4])
def test_exact_winning_moves_are_those_of_the_solved_openings(size: int) -> None:
    won = [format_cell(int(cell), size) for cell in np.flatnonzero(solved_openings(size).ravel())]
    assert ask(session_of(size), "hexlit-winning b").removeprefix("= ").split(" ") == won


def test_a_position_that_is_too_large_for_the_solver_is_refused() -> None:
    assert ask(session_of(9), "hexlit-winning b") == "? positions are solved on boards up to 8x8"


def test_the_solver_stops_at_its_time_and_at_an_interrupt_and_answers_the_next_question() -> None:
    session = session_of(8, solver_seconds=0.05)
    assert ask(session, "hexlit-winning b") == "? not solved within solver_seconds=0.05"
    session.settings.solver_seconds = 1e6
    session.interrupted = lambda: True
    assert ask(session, "dfpn-solve-state b") == "? interrupted"


@pytest.mark.parametrize(
    ("moves", "colour", "winner"), [(["play b b2"], "w", "black"), (["play b a1"], "w", "white")]
)
def test_the_solver_s_command_of_other_programs(moves: list[str], colour: str, winner: str) -> None:
    session = session_of(3)
    tell(session, *moves)
    assert ask(session, f"dfpn-solve-state {colour}") == f"= {winner}"


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
    assert ask(session, "hexlit-best b").startswith("= b3, winning chance 1.000, ")
    assert ask(session, "hexlit-variation b") == "= b3"
    assert pairs_of(ask(session, "hexlit-winrates b"))["b3"] == "100"


def test_analyses_of_one_position_show_one_search() -> None:
    session = session_of(4, simulations=48)
    shown = pairs_of(ask(session, "hexlit-visits b"))
    assert sum(map(int, shown.values())) == 48
    assert shown.keys() == pairs_of(ask(session, "hexlit-priors b")).keys()
    assert pairs_of(ask(session, "hexlit-visits b")) == shown
    assert sum(map(float, pairs_of(ask(session, "hexlit-policy b")).values())) == pytest.approx(
        100, abs=1
    )


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
    _, replies = converse(
        session, b"gogui-gfx-analyze b\nname\ngogui-gfx-analyze w\n# interrupt\nquit\n"
    )
    assert replies == ["= ", "= hexlit", "= ", "= "]


def test_time_settings_are_those_of_gtp() -> None:
    session = session_of(3)
    for words, told in (
        ("600 0 0", "black 600.0, white 600.0"),
        ("0 30 5", "black 30.0, white 30.0"),
        ("0 30 0", "black no limit, white no limit"),
    ):
        tell(session, f"time_settings {words}")
        assert ask(session, "time_left") == f"= {told}"


def test_a_live_analysis_names_the_swap_and_each_line_begins_with_its_move() -> None:
    session = session_of(3, simulations=64, swap=True)
    shown: list[str] = []
    session.show = shown.append
    session.settings.live_simulations = 100
    tell(session, "play b b2", "gogui-gfx-analyze w")
    infos = [info.split() for info in shown[-1].split("info move ")[1:]]
    assert infos[0][0] == "swap-pieces"
    for words in infos:
        assert words[words.index("pv") + 1] == words[0]
    assert sum(int(words[words.index("visits") + 1]) for words in infos) == 100
