"""The page of a recorded game, as a file."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hexlit.arena.thinker import exact_review
from hexlit.cli import main
from hexlit.hex.board import GameBoard
from hexlit.hex.notation import parse_moves
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.variations import Variation
from hexlit.web.pages import recorded_page
from tests.reporting.documents import parsed
from tests.tasks.hex.stand_ins import put_networks

SGF = Path(__file__).parents[1] / "samples" / "games_5x5.sgf"
NAMESPACE = "http://www.w3.org/2000/svg"
"""A name, not an address: nothing is loaded from there."""


def game(*moves: str, size: int = 3, **fields: Any) -> GameRecord:
    cells = np.array(parse_moves(" ".join(moves), size), np.int16)
    settings: dict[str, Any] = {
        "winner": 0,
        "ending": Ending.UNFINISHED,
        "swap": "swap-pieces" in moves,
    } | fields
    return GameRecord(game_id=0, size=size, moves=cells, **settings)


def content_of(page: str) -> dict[str, Any]:
    read = parsed(page)
    (text,) = (text for kind, text in read.scripts if kind == "application/json")
    assert "recorded" in read.values("id")
    found: dict[str, Any] = json.loads(text)
    return found


def main_line_of(content: dict[str, Any]) -> list[str]:
    moves: list[str] = []
    at = 0
    while True:
        following = [
            number
            for number, node in enumerate(content["nodes"])
            if node["parent"] == at and number
        ]
        if not following:
            return moves
        at = following[0]
        moves.append(content["nodes"][at]["move"])


def test_the_file_needs_no_other_and_holds_the_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            ["games", "show", f"source={SGF}", "game=2", "ply=3", f"html={tmp_path / 'game.html'}"]
        )
        == 0
    )
    page = (tmp_path / "game.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["game.html"]
    texts = page.replace(NAMESPACE, "").replace("https://hexworld.org/board/", "")
    assert re.search(r"https?://", texts) is None
    read = parsed(page)
    addresses = [
        one for name in ("src", "href", "action", "srcset", "data") for one in read.values(name)
    ]
    assert [one for one in addresses if not one.startswith(("#", "data:"))] == []
    assert "url(" not in page
    assert "@import" not in page
    content = content_of(page)
    assert main_line_of(content) == [
        "a4",
        "swap-pieces",
        "e1",
        "c5",
        "e2",
        "b4",
        "e4",
        "a5",
        "e3",
        "d5",
        "e5",
    ]
    assert (content["size"], content["swap"], content["ply"]) == (5, True, 3)
    assert content["names"] == {"black": "rollouts 64 (2)", "white": "rollouts 64"}
    assert content["about"].startswith("5×5")
    assert content["about"].endswith("11 moves · Black connects")
    assert content["review"] is None
    assert "a4" in capsys.readouterr().out  # it is drawn on the terminal, too


def test_no_name_leaves_its_place() -> None:
    evil = "</script><script>alert(1)</script><!--<script>&\"'"
    page = recorded_page(game("a1", black=evil, white=evil), ply=1, facts=[evil])
    assert len(parsed(page).scripts) == 2
    assert content_of(page)["names"]["black"] == evil
    assert evil not in page
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2 + page.count("`<script>`")


def test_no_other_script_runs_than_that_of_the_page() -> None:
    page = recorded_page(game("a1"), ply=0)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/]{43}='$", policy)


def test_the_end_and_the_variations_come_along() -> None:
    record = game("b2", "a1", winner=-1, ending=Ending.RESIGNED)
    nodes = [Variation(-1, -1), Variation(4, 0), Variation(0, 1), Variation(8, 1), Variation(9, 1)]
    content = content_of(recorded_page(record, ply=2, nodes=nodes))
    assert content["end"] == {"winner": "white", "how": "resigned"}
    assert content["nodes"][1:] == [
        {"move": "b2", "parent": 0},
        {"move": "a1", "parent": 1},
        {"move": "c3", "parent": 1},
        {"move": "swap-pieces", "parent": 1},
    ]
    assert content["swap"]


def test_an_exact_review_tells_what_a_mistake_costs() -> None:
    """On 3x3, b2 wins; a1 after it loses nothing that was not lost;
    c1 gives the win away where b1 keeps it.
    """
    board = GameBoard(3, moves=parse_moves("b2 a1 c1 b1 a2", 3))
    found = exact_review(board, seconds=20)
    assert [one.ply for one in found] == [0, 1, 2, 3, 4, 5]
    from hexlit.hex.solver import ExactSolver

    solver = ExactSolver(3)
    for one in found[:-1]:
        now = GameBoard(3, moves=board.moves[: one.ply])
        if now.winner:
            continue
        solution = solver.solve(now.cells, now.to_move)
        assert one.value == solution.winner
        gave_away = (
            solution.winner == now.to_move and board.moves[one.ply] not in solution.winning_moves
        )
        assert one.cost == float(gave_away)
        assert (one.best is None) == (solution.winner != now.to_move)


def test_a_swap_that_wins_is_the_best_answer() -> None:
    found = exact_review(GameBoard(3, swap=True, moves=parse_moves("b2 a1", 3)), seconds=20)
    assert [one.ply for one in found] == [
        1,
        2,
    ]  # the empty board is no question of the stones alone
    assert (found[0].best, found[0].value, found[0].cost) == (9, -1.0, 1.0)


def test_a_network_reviews_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_networks(monkeypatch, tmp_path / "networks", "small")
    monkeypatch.chdir(tmp_path)
    review = ["review=true", "checkpoint=hexlit:small"]
    assert main(["games", "show", f"source={SGF}", "game=2", "html=game.html", *review]) == 0
    content = content_of((tmp_path / "game.html").read_text(encoding="utf-8"))
    assert [one["ply"] for one in content["review"]] == list(range(12))
    assert all(-1 <= one["value"] <= 1 and 0 <= one["cost"] <= 1 for one in content["review"])
    assert content["review"][-1]["value"] == 1.0
    assert "judged by hexlit:small with " in content["about"]


def test_the_tree_of_openings_is_such_a_page(tmp_path: Path) -> None:
    page, twice = tmp_path / "openings.html", tmp_path / "twice.sgf"
    twice.write_text(2 * SGF.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["games", "stats", f"source={twice}", f"html={page}"]) == 0
    first = content_of(page.read_text(encoding="utf-8"))["nodes"][0]
    assert first["comment"].startswith("12 games: Black has won 4, White 6.")
    assert first["marks"]
