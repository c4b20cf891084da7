"""Answers of the server to one page."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from fastapi.testclient import TestClient

from hexlit.arena.thinker import Thinker
from hexlit.hex.board import GameBoard
from hexlit.hex.notation import parse_moves
from hexlit.hex.solver import ExactSolver
from tests.web.pages import Page, client, game, opened

ENDLESS = """
import os, sys
for line in sys.stdin:
    if line.startswith("genmove"):
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        while True:
            pass
    print("= \\n", flush=True)
"""
"""A program that speaks HTP, and never moves."""

WON = game("b1", "a1", "b2", "a2", "b3")


@pytest.fixture(scope="module")
def server() -> TestClient:
    return client()


@pytest.fixture
def page(server: TestClient) -> Iterator[Page]:
    with opened(server) as found:
        yield found


def test_hello_names_the_players_and_which_of_them_can_study(page: Page) -> None:
    hello = page.ask("hello")
    studies = {one["name"]: one["studies"] for one in hello["players"]}
    assert studies == {"rollouts": True, "two_distance": False, "random": False}
    assert (hello["type"], hello["board"], hello["simulations"]) == ("hello", 3, 64)


def test_the_state_after_a_swap_and_after_the_end(page: Page) -> None:
    swapped = page.ask("position", position=game("a2", "swap-pieces", swap=True))
    assert (swapped["cells"], swapped["to_move"], swapped["may_swap"]) == (
        ".O.......",
        "black",
        False,
    )
    assert page.ask("position", position=game("a2", swap=True))["may_swap"]
    over = page.ask("position", position=WON)
    assert (over["winner"], over["to_move"], over["chain"]) == ("black", "", ["b1", "b2", "b3"])


def test_a_winning_chain_goes_from_edge_to_edge_around_corners(page: Page) -> None:
    white = page.ask("position", position=game("a1", "a2", "b1", "b2", "a3", "c1"))
    assert (white["winner"], white["chain"]) == ("white", ["a2", "b2", "c1"])


@pytest.mark.parametrize("player", ["rollouts", "two_distance", "random"])
def test_a_player_plays_a_whole_game_against_itself(page: Page, player: str) -> None:
    position = game(swap=True)
    for _ in range(10):
        answer = page.ask("move", position=position, player=player, simulations=16)
        assert answer["type"] == "move", answer
        position["moves"].append(answer["move"])
        assert page.ask("position", position=position)["cells"] == answer["position"]["cells"]
        if answer["position"]["winner"]:
            return
    raise AssertionError(f"no end: {position}")


def test_a_player_that_does_not_know_the_swap_swaps_a_lost_opening(page: Page) -> None:
    """On 2x2 the opening b1 wins, and by random playouts that shows."""
    answer = page.ask(
        "move", position=game("b1", size=2, swap=True), player="rollouts", simulations=200
    )
    assert (answer["move"], answer["value"] > 0) == ("swap-pieces", True)


def test_a_study_grows_until_its_simulations_are_used(page: Page) -> None:
    number = page.send("study", position=game("b2"), player="rollouts", simulations=3000)
    reports = page.receive(number)
    visits = [report["visits"] for report in reports]
    assert visits == sorted(visits)
    assert visits[-1] == 3000
    last = reports[-1]
    assert sum(one["visits"] for one in last["candidates"]) == 3000
    lines = {one["move"]: one["line"] for one in last["candidates"]}
    assert lines[last["expected"][0]] == last["expected"]
    assert all(line[0] == move for move, line in lines.items())
    assert last["value"] < -0.5  # Black has the middle


def test_a_move_tells_its_visits_while_it_is_searched(page: Page) -> None:
    *reports, moved = page.receive(
        page.send(
            "move",
            position=game(size=5),
            player="rollouts",
            simulations=3000,
        )
    )
    visits = [one["visits"] for one in reports]
    assert visits
    assert visits == sorted(visits)
    assert moved["type"] == "move"


def test_a_player_that_is_ready_moves_without_preparation(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[tuple[int, bool]] = []
    prepare = Thinker.prepare

    def noted(self: Thinker, size: int, *, swap: bool) -> None:
        prepared.append((size, swap))
        prepare(self, size, swap=swap)

    monkeypatch.setattr(Thinker, "prepare", noted)
    assert page.ask("ready", position=game(size=4, swap=True), player="rollouts")["type"] == "ready"
    assert len(prepared) == 1
    assert (
        page.ask("move", position=game("a1", size=4, swap=True), player="rollouts")["type"]
        == "move"
    )
    assert len(prepared) == 1
    assert page.ask("ready", position=game(), player="random")["type"] == "ready"
    assert "there is no 'nobody'" in page.ask("ready", position=game(), player="nobody")["text"]


def test_a_study_yields_to_the_next_request_and_to_stop(page: Page) -> None:
    first = page.send("study", position=game(size=5), player="rollouts")
    assert page.socket.receive_json()["id"] == first
    second = page.send("study", position=game("a1", size=5), player="rollouts")
    assert page.receive(first)[-1]["type"] == "stopped"
    assert page.socket.receive_json()["id"] == second
    stop = page.send("stop")
    assert page.ends(2) == {second: "stopped", stop: "stopped"}


def test_the_stop_of_a_search_leaves_the_solver_at_work(page: Page) -> None:
    study = page.send("study", position=game(size=5), player="rollouts")
    assert page.socket.receive_json()["id"] == study
    solve = page.send("solve", position=game("c3", size=5))
    stop = page.send("stop", work="search")
    assert page.ends(3) == {study: "stopped", stop: "stopped", solve: "solve"}
    assert "work: " in page.ask("stop", work="all")["text"]


def test_an_opinion_and_a_map_of_openings(page: Page) -> None:
    look = page.ask("look", position=game("b2"), player="rollouts")
    assert sum(look["policy"].values()) == pytest.approx(1, abs=1e-5)
    assert "b2" not in look["policy"]
    assert -1 <= look["value"] <= 1
    *first, last = page.receive(page.send("openings", position=game(), player="rollouts"))
    judged = [len(answer["values"]) for answer in first]
    assert judged == sorted(judged)
    values = last["values"]
    assert len(values) == 9
    assert values["a1"] == values["c3"] < 0 < values["b2"]


@pytest.mark.parametrize("moves", ["", "a1", "b2 a1", "a1 b2 c1"])
def test_the_verdict_is_that_of_the_solver(page: Page, moves: str) -> None:
    board = GameBoard(3, moves=moves)
    exact = ExactSolver(3).solve(board.cells, board.to_move)
    answer = page.ask("solve", position=game(*moves.split()))
    assert answer["winner"] == ("black" if exact.winner > 0 else "white")
    assert parse_moves(answer["winning"], 3) == list(exact.winning_moves)
    for cell in exact.winning_moves if answer["must_play"] else ():
        assert cell in parse_moves(answer["must_play"], 3)


def test_a_verdict_comes_with_the_lines_of_its_connections(page: Page) -> None:
    """After b2 Black has a bridge to either edge."""
    links = page.ask("solve", position=game("b2", "a1"))["links"]
    assert (links["black"]["strength"], links["black"]["key"]) == ("full", "")
    lines = {tuple(line) for line in links["black"]["lines"]}
    assert {("b1", "top", "bridge"), ("c1", "top", "bridge"), ("a3", "bottom", "bridge")} <= lines
    assert all(kind == "bridge" for *_, kind in lines)
    assert links["white"] == {"strength": "", "carrier": [], "key": "", "lines": []}
    semi = page.ask("solve", position=game())["links"]["white"]
    assert (semi["strength"], semi["key"]) == ("semi", "b2")
    assert {end for _, end, _ in semi["lines"]} >= {"left", "right"}


def test_a_review_finds_the_move_that_lost(page: Page) -> None:
    """Black, with the middle, has won 3x3 after b2 and a3,
    and gives it away by a1: only c2, b3 and c3 win.
    """
    number = page.send(
        "review", position=game("b2", "a3", "a1", "b3"), player="rollouts", simulations=2000
    )
    answers = page.receive(number)
    assert [one["ply"] for one in answers] == list(range(5))
    costs = [one["cost"] for one in answers]
    assert all(0 <= cost <= 1 for cost in costs)
    assert costs.index(max(costs)) == 2
    assert answers[2]["best"] in ("c2", "b3", "c3")
    assert answers[3]["best"] == "b3"


def test_the_solver_helps_a_player_where_it_is_asked_to() -> None:
    with opened(client(solver=True)) as page:
        answer = page.ask("move", position=game("b2", "a3"), player="rollouts", simulations=1)
        assert (answer["move"] in ("c2", "b3", "c3"), answer["value"]) == (True, 1.0)
        assert (
            page.ask("move", position=game("b2", swap=True), player="rollouts")["move"]
            == "swap-pieces"
        )
        bridges = game("h2", "a1", "g4", "b1", "e8", "k1", "d10", "j1", size=11)
        assert page.ask("move", position=bridges, player="rollouts", simulations=1)["value"] == 1.0
        opening = page.ask("move", position=game(swap=True), player="rollouts")
        assert (opening["value"] <= 0, opening["move"]) != (
            False,
            "b2",
        )  # which wins, and so would be swapped


def test_an_adviser_without_the_swap_opens_fairly_and_finds_a_fair_opening_no_mistake() -> None:
    with opened(client(rollouts=64)) as page:
        values = page.ask("openings", position=game(), player="rollouts")["values"]
        fair = min(values, key=lambda cell: abs(values[cell]))
        move = page.ask("move", position=game(swap=True), player="rollouts")
        assert (move["move"], move["value"]) == (fair, -abs(values[fair]))
        for first, cost in ((fair, 0.0), ("b2", (abs(values["b2"]) - abs(values[fair])) / 2)):
            answers = page.receive(
                page.send("review", position=game(first, "a3", swap=True), player="rollouts")
            )
            assert (answers[0]["best"], answers[0]["cost"]) == (fair, pytest.approx(cost))


def test_a_foreign_program_ends_with_its_page_and_holds_up_no_other(tmp_path: Path) -> None:
    """It thinks without an end; another page plays meanwhile."""
    program = tmp_path / "engine.py"
    program.write_text(ENDLESS)
    server = client(players=[f"name=endless htp={sys.executable} {program} {tmp_path / 'pid'}"])
    with opened(server) as page:
        page.send("move", position=game(), player="endless")
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        process = psutil.Process(int((tmp_path / "pid").read_text()))
        with opened(server) as other:
            assert (
                other.ask("move", position=game(), player="rollouts", simulations=4)["type"]
                == "move"
            )
        number = page.send(
            "move", position=game(), player="rollouts", simulations=4
        )  # in place of the first
        assert page.receive(number)[-1]["type"] == "move"
        assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_games_are_read_and_written(page: Page) -> None:
    link = page.ask(
        "write", position=game("a1", "swap-pieces", "b2", swap=True), format="hexworld"
    )["text"]
    assert link == "https://hexworld.org/board/#3c1,a1:sb2\n"
    read = page.ask("read", text=link)
    assert (read["type"], read["format"], read["size"], read["swap"]) == (
        "game",
        "hexworld",
        3,
        True,
    )
    assert read["moves"] == ["a1", "swap-pieces", "b2"]
    sgf = page.ask("write", position=WON, format="sgf", black="Ann", white="Bob")["text"]
    given_up = {"loser": "black", "how": "resigned"}
    resigned = page.ask("write", position=game("a1"), format="hexworld", given_up=given_up)["text"]
    assert resigned == "https://hexworld.org/board/#3c1,a1:rb\n"
    late = page.ask(
        "write", position=game("a1"), format="hexworld", given_up={"loser": "white", "how": "time"}
    )["text"]
    assert late == "https://hexworld.org/board/#3c1,a1:fw\n"
    back = page.ask("read", text=sgf)
    assert (back["black"], back["white"], back["moves"]) == ("Ann", "Bob", WON["moves"])


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"do": "fly"}, "do: there is no fly"),
        ({"do": "position", "position": {"size": 20}}, "position.size: "),
        ({"do": "position", "position": {"size": 3, "moves": ["d9"]}}, "move 'd9'"),
        ({"do": "position", "position": {"size": 3, "moves": ["a1", "a1"]}}, "the cell is taken"),
        ({"do": "position", "position": {"size": 3, "moves": ["swap-pieces"]}}, "without swap"),
        (
            {"do": "move", "position": {"size": 3}, "player": "nobody"},
            "there is no 'nobody'; choose from rollouts",
        ),
        (
            {"do": "move", "position": {"size": 3}, "player": "rollouts", "simulations": 10**9},
            "simulations: ",
        ),
        ({"do": "study", "position": {"size": 3}, "player": "random"}, "shows no analysis"),
        ({"do": "move", "position": WON, "player": "rollouts"}, "the game is over"),
        ({"do": "solve", "position": {"size": 9}}, "up to 8 rows"),
        ({"do": "write", "position": {"size": 3}, "format": "pdf"}, "format: there is no 'pdf'"),
        ({"do": "read", "text": "no game"}, "no game of Hex in a known format"),
        ({"do": "read", "text": ""}, "it is empty"),
        ({"do": "hello", "more": 1}, "more: "),
        ({"do": "hello", "two\nlines": 1}, "two lines: "),
        ({"do": "position", "position": {"size": "3"}}, "position.size: "),
    ],
)
def test_a_request_that_cannot_be_carried_out_gets_one_line(
    page: Page, request_: dict[str, object], said: str
) -> None:
    answer = page.receive(page.send(**request_))[-1]  # type: ignore[arg-type]
    assert answer["type"] == "error"
    assert said in answer["text"]
    assert "\n" not in answer["text"]
    assert page.ask("position", position=game())["type"] == "position"  # and it goes on


LINKS = "https://hexworld.org/board/#3,a1b2:rb\nhttps://hexworld.org/board/#3,c3"


def test_one_of_several_games_is_read_with_its_end(page: Page) -> None:
    games = page.ask("read", text=LINKS, game=1)
    assert (games["moves"], games["end"], len(games["games"])) == (["c3"], None, 2)
    first = page.ask("read", text=LINKS)
    assert first["end"] == {"winner": "white", "how": "resigned"}


def test_a_study_under_the_swap_rule_counts_the_swap(page: Page) -> None:
    """Random playouts never learned to swap:
    the middle is to be swapped, and so not to be opened with.
    """
    answer = page.ask("study", position=game("b2", swap=True), player="rollouts", simulations=200)
    assert answer["expected"] == ["swap-pieces"]
    assert answer["candidates"][0]["move"] == "swap-pieces"
    assert answer["value"] > 0
    without = page.ask("study", position=game("b2"), player="rollouts", simulations=200)
    assert without["value"] < 0
    assert "swap-pieces" not in {one["move"] for one in without["candidates"]}
    opening = page.ask("study", position=game(swap=True), player="rollouts", simulations=50)
    assert opening["expected"] != ["b2"]
    values = {one["move"]: one["value"] for one in opening["candidates"]}
    assert opening["value"] == max(values.values())


def test_a_player_that_thinks_moves_at_once_where_it_is_hurried(page: Page) -> None:
    position = game(size=5)
    number = page.send("move", position=position, player="rollouts", simulations=1_000_000)
    time.sleep(0.5)
    page.ask("hurry")
    *_, answer = page.receive(number)
    assert answer["type"] == "move"
    assert answer["found"]["visits"] < 1_000_000


def test_a_player_without_a_chance_resigns_where_that_is_wanted() -> None:
    lost = game("b2", "a1", "b1", "c1", "a2")  # Black has two ways to the bottom
    with opened(client(resign=0.4)) as page:
        move = page.ask("move", position=lost, player="rollouts", simulations=200)
        assert (move["move"], move["position"]["winner"]) == ("resign", "")
