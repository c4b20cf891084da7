"""A network as one HTML file: its computation and search,
by plain node, beside those of Python; and a game on it.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hexlit.cli import main
from hexlit.hex.board import GameBoard
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet
from hexlit.search.config import SearchConfig
from hexlit.search.live import LiveSearch
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.web.messages import Read
from hexlit.web.network_page import exported_network
from hexlit.web.texts import game_of
from tests.nets.test_evaluator import cpu_profile, plain, random_positions, trained_like
from tests.web.test_in_a_browser import Tab

NODE, PROGRAM = shutil.which("node") or "", Path(__file__).with_name("network_page.mjs")
pytestmark = [pytest.mark.skipif(not NODE, reason="node is not installed")]
BOTTLENECK = {
    "block": "bottleneck",
    "channels": 30,
    "blocks": [2, 2],
    "activation": "gelu",
    "attention": "se",
    "norm": "boards",
}
ATTENTION = {"attention": "self", "blocks": [1, 3], "channels": 16, "activation": "mish"}


def computed(net: HexNet, **given: Any) -> Any:
    """What `PROGRAM` says."""
    text = json.dumps({"exported": exported_network(net), **given})
    done = subprocess.run(
        [NODE, PROGRAM], input=text, capture_output=True, text=True, timeout=120, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "settings", [{}, BOTTLENECK, ATTENTION], ids=["tower", "bottleneck", "attention"]
)
@pytest.mark.parametrize("simd", [True, False], ids=["simd", "no simd"])
def test_the_page_judges_as_the_network_does(settings: dict[str, Any], simd: bool) -> None:
    net = trained_like(**settings).eval()
    boards = [random_positions(3, size) for size in (5, 7, 11)]
    found = computed(
        net, plain=not simd, planes=[planes.reshape(3, -1).tolist() for planes in boards]
    )["judged"]
    for answers, planes in zip(found, boards, strict=True):
        policy, value = plain(net, planes, planes.shape[2] ** 2 + 1)
        np.testing.assert_allclose(np.array(answers)[:, :-1], policy, atol=1e-3)
        np.testing.assert_allclose(np.array(answers)[:, -1], value, atol=1e-3)


@pytest.mark.parametrize("swap", [False, True])
def test_the_page_searches_as_the_search_does_and_keeps_its_tree(swap: bool) -> None:
    net, board = load_network("hexlit:small").net, GameBoard(5, swap=swap, moves=[0])
    evaluator = NetworkEvaluator(net, size=5, swap=swap, batch=1, profile=cpu_profile("eager"))
    search = LiveSearch(SearchConfig(simulations=48), evaluator, size=5, swap=swap)
    positions, expected = [], []
    for ply in (1, 3, 5):
        positions.append([board.cells.tolist(), int(board.to_move), ply])
        search.position(board.cells, board.to_move, ply)
        action = int(search.run(48).action[0])
        expected.append(
            [action, sorted([child.action, child.visits] for child in search.candidates())]
        )
        for move in search.principal_variation()[:2]:
            board.play(move)
    assert computed(net, swap=swap, positions=positions)["searched"] == expected


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hex.html"
    assert main(["export", "checkpoint=hexlit:small", "format=page", f"target={path}"]) == 0
    return path


def test_the_file_is_one_and_may_load_nothing(file: Path) -> None:
    page = file.read_text(encoding="utf-8")
    assert [one.name for one in file.parent.iterdir()] == ["hex.html"]
    assert not re.search(r'<(?:link rel="(?!icon)|script[^>]* src=|img|iframe)', page)
    rules = r"default-src 'none'; [^;]+; [^;]+; script-src 'sha256-[\w+/]{43}=' 'wasm-unsafe-eval'; worker-src blob:"
    assert re.search(f'Content-Security-Policy" content="{rules}"', page)


@pytest.mark.services
def test_a_whole_game_from_a_file_without_a_server(browser: Any, file: Path) -> None:
    tab = Tab(browser, file.as_uri()).open("#5,swap")
    tab.choose("#player-white", "my level")
    tab.do("resign")
    assert tab.text("#status") == "White (Level 3) wins: Black resigned", "no game was played"
    tab.do("undo")
    tab.play("c3")
    tab.until(lambda: tab.moves == ["c3", "swap-pieces"])
    tab.do("resign")
    assert tab.text("#status") == "You lost against level 3. Your level is 2 now."
    tab.do("undo")
    tab.do("undo")
    tab.choose("#player-white", tab.programs[1])
    tab.click("#study")
    tab.until(lambda: "visits" in tab.text("#study-visits") and "Black" in tab.text("#balance"))
    tab.play("a1")
    tab.until(lambda: len(tab.moves) == 2)
    tab.do("undo")
    while "wins" not in tab.text("#status"):
        ply = len(tab.moves)
        # The page knows the empty cells before it has drawn the stones.
        tab.play(tab.js("return page.board.cells[page.position.cells.indexOf('')].dataset.name"))
        tab.until(lambda ply=ply: len(tab.moves) >= ply + 2 or "wins" in tab.text("#status"))  # type: ignore[misc]
    tab.do("save")
    for name in ("sgf", "hexworld"):
        tab.choose("#save-format", name)
        tab.until(lambda: tab.find("#save-text").get_property("value"))
        text = tab.find("#save-text").get_property("value")
        assert game_of(Read(id=1, do="read", text=text))["moves"] == tab.moves
    assert [
        one for one in browser.get_log("browser") if one["level"] in ("SEVERE", "WARNING")
    ] == []
