"""The page of a recorded game in a real Chromium, from a file and without a server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hexlit.arena.thinker import PlyReview
from hexlit.hex.notation import parse_moves
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.variations import Variation
from hexlit.web.pages import recorded_page
from tests.chromium import DESKTOP, PHONE, look_like
from tests.web.test_in_a_browser import Tab

pytestmark = pytest.mark.services

EVIL = "<b>x</b></script>"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    moves = parse_moves("b2 a1 c1 b1", 3)
    record = GameRecord(
        0, 3, False, np.array(moves, np.int16), 1, Ending.RESIGNED, black=EVIL, white="Ben"
    )
    nodes = [
        Variation(-1, -1),
        *(Variation(move, ply) for ply, move in enumerate(moves)),
        Variation(8, 1),
    ]
    values = (0.9, 0.8, 0.9, -0.4, -0.3)
    costs = (0.05, 0.0, 0.65, 0.0, 0.0)
    best = (3, 1, 1, 6, None)
    review = [
        PlyReview(ply, value, cell, () if cell is None else (cell,), cost)
        for ply, (value, cell, cost) in enumerate(zip(values, best, costs, strict=True))
    ]
    path = tmp_path_factory.mktemp("recorded") / "game.html"
    page = recorded_page(record, ply=0, facts=["3×3", "a party"], nodes=nodes, review=review)
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture
def tab(browser: Any, file: Path) -> Iterator[Tab]:
    look_like(browser, DESKTOP, "light")
    browser.get("about:blank")
    found = Tab(browser, file.as_uri())
    browser.get(found.address)
    yield found
    wrong = [
        entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")
    ]
    assert wrong == []


def test_keys_and_buttons_step_through_the_game(tab: Tab) -> None:
    tab.until_status("Black to move")
    assert tab.stones == []
    tab.press("\ue014")  # right
    tab.until(lambda: tab.stones == ["b2"])
    tab.do("forward")
    tab.until(lambda: tab.stones == ["a1", "b2"])
    tab.press("\ue012")  # left
    tab.until(lambda: tab.stones == ["b2"])
    tab.do("last")
    tab.until(lambda: len(tab.stones) == 4)
    tab.until_status("Black wins: White resigned")
    tab.do("first")
    tab.until(lambda: tab.stones == [])


def test_names_facts_and_nothing_that_needs_a_server(tab: Tab) -> None:
    assert tab.text("#name-black") == EVIL
    assert tab.text("#name-white") == "Ben"
    assert tab.text("#about") == "3×3 · a party"
    assert tab.js("return document.title") == f"{EVIL} – Ben, 3×3"
    assert [part for part in tab.all("[data-needs=server]") if part.is_displayed()] == []
    for key in ("n", "o", "e", "s", "w", "h", "p"):
        tab.press(key)
    assert tab.all("dialog[open]") == []
    tab.press("?")
    tab.until(lambda: tab.find("#help-dialog").is_displayed())


def test_the_review_shows_its_graph_and_its_mistakes_and_leads_to_them(tab: Tab) -> None:
    tab.until(lambda: len(tab.all("#mistakes li")) == 2)
    assert tab.text("#mistakes li").replace(" ", "") == "3.c1−65%betterb1"
    assert tab.find("#graph").is_displayed()
    assert len(tab.all("#graph .dot")) == 2
    tab.click("#mistakes button")
    tab.until(lambda: len(tab.stones) == 3)
    tab.until(lambda: "c1 cost 65%; better was b1" in tab.text("#review-here"))


def test_variations_are_there_and_more_can_be_tried(tab: Tab) -> None:
    nodes = len(tab.all("#tree [data-node]"))
    assert nodes == 6
    tab.press("\ue014")
    tab.until(lambda: tab.stones == ["b2"])
    tab.play("c3")
    tab.until(lambda: tab.stones == ["b2", "c3"])
    assert len(tab.all("#tree [data-node]")) == nodes  # it was there
    tab.play("a3")
    tab.until(lambda: len(tab.all("#tree [data-node]")) == nodes + 1)
    tab.browser.refresh()  # the address has the moves of a variation that the file does not hold
    tab.until_status("to move")


def test_a_finger_steps_and_a_phone_shows_all(tab: Tab) -> None:
    look_like(tab.browser, PHONE, "dark")
    tab.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    box = tab.js(
        "const b = document.querySelector('#board').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]"
    )
    middle = [box[0] + box[2] / 2, box[1] + box[3] / 2]

    def swipe(right: float) -> None:
        for kind, points in (
            ("touchStart", [{"x": middle[0], "y": middle[1]}]),
            ("touchMove", [{"x": middle[0] + right, "y": middle[1]}]),
            ("touchEnd", []),
        ):
            tab.browser.execute_cdp_cmd(
                "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
            )

    swipe(-90)
    tab.until(lambda: tab.stones == ["b2"])
    swipe(90)
    tab.until(lambda: tab.stones == [])
    assert tab.js("return document.documentElement.scrollWidth <= innerWidth")
