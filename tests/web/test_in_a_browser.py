"""The page of `hexlit play` in a real Chromium: `pytest -m services
tests/web/test_in_a_browser.py`.

The server is the real one, with the networks that come along and a player whom random playouts
advise.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hexlit.hex.board import GameBoard
from hexlit.hex.notation import parse_moves
from tests.chromium import DESKTOP, PHONE, look_like

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
"""Seconds to wait for something that the page does by itself."""
MIDDLE_GAME = "#11,swap,c2,f6,e8,g4,h7,d9,c10,d8,c8,b9,e5,g6,f7,f8,g8,c7,d6,h5,b7,b8,a8,i3,a1,k11"


def start(port: int = 0) -> tuple[subprocess.Popen[str], str]:
    """A server on a free port or on `port`, and its address,
    which is in the first line that it prints.
    """
    command = [
        sys.executable,
        "-m",
        "hexlit",
        "play",
        "open=false",
        f"port={port}",
        "board=11",
        "rollouts=2",
    ]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found = re.search(r"http://\S+", server.stdout.readline())
    assert found is not None
    return server, found[0]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server, found = start()
    yield found
    server.terminate()
    server.wait(10)


class Tab:
    """The page in one tab, used as people use it."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser = browser
        self.address = address

    def open(self, fragment: str = "", width: int = DESKTOP, scheme: str = "light") -> "Tab":
        """Load the page with nothing remembered, and wait until it is connected."""
        look_like(self.browser, width, scheme)
        self.browser.get(self.address)
        self.js("sessionStorage.clear(); localStorage.clear()")
        self.browser.get("about:blank")
        self.browser.get(self.address + fragment)
        self.connected()
        self.js("page.change({analyse: true})")
        return self

    def connected(self) -> "Tab":
        self.until(lambda: "hexlit" in self.text("#connection"))
        return self

    def js(self, program: str, *arguments: Any) -> Any:
        return self.browser.execute_script(program, *arguments)

    def find(self, what: str) -> Any:
        return self.browser.find_element("css selector", what)

    def click(self, what: str) -> None:
        self.find(what).click()

    def do(self, what: str) -> None:
        """Click the button `what` that is in sight."""
        shown = [button for button in self.all(f"[data-do={what}]") if button.is_displayed()]
        shown[0].click()

    def all(self, what: str) -> list[Any]:
        found: list[Any] = self.browser.find_elements("css selector", what)
        return found

    def play(self, *cells: str) -> None:
        for cell in cells:
            self.click(f".cell[data-name={cell}]")

    def choose(self, what: str, value: str) -> None:
        from selenium.webdriver.support.select import Select

        Select(self.find(what)).select_by_value(value)

    def write(self, what: str, text: str) -> None:
        """Type `text` over what a field holds; to clear it first would be a change of its own."""
        from selenium.webdriver.common.keys import Keys

        self.find(what).send_keys(Keys.CONTROL, "a", Keys.NULL, text)

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def point(self, what: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).move_to_element(self.find(what)).perform()

    def text(self, what: str) -> str:
        return str(self.js("return document.querySelector(arguments[0]).textContent", what))

    def until(self, holds: Callable[[], object], seconds: float = PATIENCE) -> None:
        end = time.monotonic() + seconds
        while not holds():
            said = self.text("#status"), self.text("#message"), self.text("#connection")
            assert time.monotonic() < end, f"in vain: {said}"
            time.sleep(0.03)

    def until_status(self, words: str) -> None:
        self.until(lambda: words in self.text("#status"))

    @property
    def fragment(self) -> str:
        return str(self.js("return location.hash"))

    @property
    def moves(self) -> list[str]:
        return [word for word in self.fragment.split(",")[1:] if word != "swap"]

    @property
    def stones(self) -> list[str]:
        """The cells with a stone, as they are drawn."""
        found = self.js(
            "return [...document.querySelectorAll('[data-stone]')].map(stone => stone.dataset.stone)"
        )
        return sorted(found)

    @property
    def programs(self) -> list[str]:
        """The names of the players on offer."""
        names = self.js(
            "return [...document.querySelector('#player-white').options].map(option => option.value)"
        )
        return [name for name in names if name not in ("human", "my level")]

    def new(
        self,
        size: int,
        black: str = "human",
        white: str = "human",
        swap: bool = False,
        minutes: str = "",
        simulations: int = 16,
    ) -> None:
        """Start a game by the dialog."""
        self.do("new")
        self.choose("#new-size", str(size))
        self.choose("#new-black", black)
        self.choose("#new-white", white)
        self.write("#new-simulations", str(simulations))
        for switch, wanted in (("#new-swap", swap), ("#new-clock", bool(minutes))):
            if self.find(switch).is_selected() != wanted:
                self.click(switch)
        if minutes:
            self.write("#new-minutes", minutes)
            self.write("#new-increment", "0")
        self.click("#new-start")
        begun = f"#{size}{',swap' * swap}"
        self.until(
            lambda: f"{self.fragment},".startswith(f"{begun},") and not self.all("dialog[open]")
        )


@pytest.fixture
def tab(browser: Any, address: str) -> Iterator[Tab]:
    """A tab whose console is empty at the end."""
    browser.get_log("browser")
    yield Tab(browser, address)
    assert browser.get_log("browser") == []


def test_a_whole_game_against_a_program_ends_with_its_winner_shown(tab: Tab) -> None:
    tab.open()
    tab.new(4, white=tab.programs[0])
    while "wins" not in tab.text("#status"):
        played = len(tab.moves)
        tab.play(
            next(
                cell
                for row in "1234"
                for cell in (f"{column}{row}" for column in "bcad")
                if cell not in tab.stones
            )
        )
        tab.until(
            lambda played=played: (  # type: ignore[misc]
                len(tab.moves) >= played + 2 or "wins" in tab.text("#status")
            )
        )
    board = GameBoard(4, moves=parse_moves(tab.moves, 4))
    winner = "Black" if board.winner == 1 else "White"
    assert tab.text("#status").startswith(winner)
    assert tab.text("#status").endswith(f"wins after {len(tab.moves)} moves")
    assert len(tab.all("#board .chain")) == 1
    assert len(tab.all(f"#card-{winner.lower()}.winner")) == 1
    assert not tab.find("[data-do=resign]").is_enabled()
    assert len(tab.stones) == len(tab.moves)


def test_every_control_does_what_it_says(tab: Tab) -> None:
    tab.open("#5,swap")
    undone, redone = tab.find("[data-do=undo]"), tab.find("[data-do=redo]")
    assert not undone.is_enabled()
    assert not redone.is_enabled()
    tab.play("b4")
    tab.until_status("White")
    tab.do("swap")
    tab.until(lambda: tab.stones == ["d2"])
    assert not tab.find("[data-do=swap]").is_displayed()
    tab.play("c3", "a1")
    tab.do("undo")
    tab.do("undo")
    tab.until(lambda: tab.stones == ["d2"])
    tab.do("redo")
    tab.do("last")
    tab.until(lambda: tab.moves == ["b4", "swap-pieces", "c3", "a1"])
    tab.do("back")
    tab.play("e5")
    tab.until(lambda: len(tab.all(".node")) == 6)
    tab.do("promote")
    tab.do("first")
    tab.do("forward")
    tab.until(lambda: tab.moves == ["b4"])
    tab.click(".node[aria-label='Move 4, White a1'] circle")
    tab.until(lambda: tab.moves[-1] == "a1")
    tab.do("delete")
    tab.until(lambda: len(tab.all(".node")) == 5 and tab.moves[-1] == "c3")
    assert not tab.find("[data-do=resign]").is_enabled()  # the game goes on after this move
    tab.do("last")
    tab.do("resign")
    tab.until_status("White wins: Black resigned")
    tab.do("undo")
    tab.until_status("Black to move")

    cells = "return document.querySelector('.cell[data-name=e1]').getBoundingClientRect().top"
    tops = set()
    for orientation in ("diamond", "upright", "flat"):
        tab.choose("#orientation", orientation)
        tab.until(
            lambda kind=orientation: (  # type: ignore[misc]
                tab.find("#board").get_attribute("data-orientation") == kind
            )
        )
        tops.add(
            round(
                tab.js(cells)
                - tab.js("return document.querySelector('#board').getBoundingClientRect().top")
            )
        )
    assert len(tops) == 3
    papers = set()
    for theme in ("dark", "light", "auto"):
        tab.choose("#theme", theme)
        papers.add(tab.js("return getComputedStyle(document.body).backgroundColor"))
    assert len(papers) == 2

    tab.do("help")
    assert len(tab.all("#keys dt")) > 15
    tab.do("close")
    tab.do("save")
    written = {}
    for kind in ("sgf", "hexworld", "trmph", "link"):
        tab.choose("#save-format", kind)
        tab.until(
            lambda: (
                tab.js("return document.querySelector('#save-text').value")
                or tab.text("#save-told")
            )
        )
        written[kind] = tab.js("return document.querySelector('#save-text').value")
    assert (
        written["link"] == f"{tab.address}#5,swap,b4,swap-pieces,c3,e5"
    )  # the whole line that is shown
    assert len(set(written.values())) >= 3  # not every format can say a swap
    tab.choose("#save-format", "sgf")
    tab.until(lambda: "SZ[5]" in tab.js("return document.querySelector('#save-text').value"))
    tab.do("copy")
    tab.until(lambda: tab.text("#save-told") != "")
    tab.do("download")
    tab.until(lambda: "Saved as hex-5x5" in tab.text("#save-told"))
    tab.do("close")
    tab.new(3)
    tab.do("open")
    tab.write("#open-text", written["sgf"])
    tab.do("read")
    tab.until(lambda: tab.moves == ["b4", "swap-pieces", "c3", "e5"])
    tab.choose("#player-black", tab.programs[0])
    tab.until(lambda: len(tab.moves) == 5)
    tab.write("#simulations", "24")
    tab.do("pause")
    tab.until_status("paused")
    assert tab.text("[data-do=pause]") == "Continue"


def test_every_control_has_a_name_and_a_handle(tab: Tab) -> None:
    tab.open("#5")
    nameless = """
    return [...document.querySelectorAll('button, input, select, textarea')].filter((control) => {
      const labels = [...control.labels ?? []].map((one) => one.textContent).join('');
      const label = control.getAttribute('aria-label') ?? labels;
      const handle = control.id || control.dataset.do || control.dataset.tab || control.name;
      return !handle || !(label || (control.tagName === 'BUTTON' ? control.textContent : '')).trim();
    }).map((control) => control.outerHTML)"""
    assert tab.js(nameless) == []


def test_a_game_is_played_by_the_keyboard_alone(tab: Tab) -> None:
    from selenium.webdriver.common.keys import Keys

    tab.open("#5,swap")
    tab.js("document.querySelector('#board').focus()")
    tab.press(Keys.ARROW_UP)
    assert tab.text("#announce") == "c3, empty"
    tab.press(Keys.ARROW_RIGHT, Keys.ARROW_UP, Keys.ENTER)
    tab.until(lambda: tab.moves == ["d2"])
    assert tab.text("#announce") == "d2, black"
    tab.press("x")
    tab.until(lambda: tab.stones == ["b4"])
    tab.press("u")
    tab.until(lambda: tab.stones == ["d2"])
    tab.press("r")
    tab.until(lambda: tab.stones == ["b4"])
    tab.press(Keys.HOME)
    tab.until(lambda: tab.stones == [])
    tab.press(Keys.END)
    tab.press("?")
    tab.until(lambda: tab.all("#help-dialog[open]"))
    tab.press(Keys.ESCAPE)
    tab.until(lambda: not tab.all("dialog[open]"))


def test_a_finger_plays_on_a_phone(tab: Tab) -> None:
    tab.open("#11", PHONE)
    assert tab.find("#board").get_attribute("data-orientation") == "upright"
    place = "const box = document.querySelector('.cell[data-name=f6]').getBoundingClientRect();"
    tab.js("document.querySelector('#board').scrollIntoView()")
    x, y, wide = tab.js(place + "return [box.x + box.width / 2, box.y + box.height / 2, box.width]")
    assert wide >= 24
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        tab.browser.execute_cdp_cmd(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
        )
    tab.until(lambda: tab.stones == ["f6"])


def test_clicks_while_a_program_thinks_break_nothing(tab: Tab) -> None:
    tab.open()
    tab.new(6, white=tab.programs[0])
    for _ in range(3):
        tab.play("c3")
        tab.play("d4", "b2")  # not the page's turn
        tab.do("back")
        tab.click("#tab-policy")
        tab.click("#tab-study")
        tab.click("#study")
        tab.do("first")
        tab.do("last")
    tab.until(lambda: len(tab.moves) >= 2 and "thinks" not in tab.text("#status"))
    GameBoard(6, moves=parse_moves(tab.moves, 6))
    assert not tab.find("#message").is_displayed()


def test_a_lost_clock_ends_the_game(tab: Tab) -> None:
    tab.open()
    tab.new(5, minutes="0.05")
    assert tab.text("#clock-black") == "3.0"
    tab.play("c3")
    tab.until_status("Black wins: White lost on time")
    assert tab.text("#clock-white") == "0.0"
    tab.play("a1")
    assert tab.moves == ["c3"]


def test_a_reload_keeps_position_and_variations_and_a_link_the_position(tab: Tab) -> None:
    tab.open("#5,swap,a1,b2,c3")
    tab.do("back")
    tab.play("d4")
    tab.until(lambda: tab.moves == ["a1", "b2", "d4"])
    tab.browser.refresh()
    tab.connected()
    assert tab.stones == ["a1", "b2", "d4"]
    assert len(tab.all(".node")) == 5
    link = tab.js("return location.href")
    first = tab.browser.current_window_handle
    tab.browser.switch_to.new_window("tab")
    tab.browser.get(link)
    tab.connected()
    assert tab.stones == ["a1", "b2", "d4"]
    tab.browser.close()
    tab.browser.switch_to.window(first)


def test_two_pages_at_once_do_not_mix(tab: Tab) -> None:
    tab.open()
    program = tab.programs[0]
    tab.new(6, program, program)
    first = tab.browser.current_window_handle
    tab.browser.switch_to.new_window("tab")
    look_like(tab.browser, DESKTOP, "light")
    other = Tab(tab.browser, tab.address)
    other.browser.get(tab.address + "#5,c3")
    other.connected()
    other.click("#study")
    other.until(lambda: other.all("#candidates tbody tr"))
    other.choose("#player-white", program)
    other.until(lambda: len(other.moves) >= 2)
    assert other.fragment.startswith("#5,c3,")
    tab.browser.close()
    tab.browser.switch_to.window(first)
    tab.until_status("wins")
    GameBoard(6, moves=parse_moves(tab.moves, 6))
    assert tab.fragment.startswith("#6,")


def test_what_is_wrong_is_said_on_the_page(tab: Tab) -> None:
    tab.open("#5,a1,a1")
    assert "Move 2, a1: the cell is taken" in tab.text("#message")
    tab.do("dismiss")
    assert not tab.find("#message").is_displayed()
    tab.do("open")
    tab.do("read")
    assert tab.text("#open-told") == "There is no text yet."
    tab.write("#open-text", "this is no game")
    tab.do("read")
    tab.until(lambda: "no game" in tab.text("#open-told"))
    assert tab.all("#open-dialog[open]")


def test_a_game_comes_from_a_dropped_file_a_chosen_one_and_the_clipboard(
    tab: Tab, tmp_path: Path
) -> None:
    tab.open("#4")
    data = "const data = new DataTransfer(); const link = 'https://hexworld.org/board/#5,';"
    tab.js(
        data + "data.items.add(new File([link + 'a1b2'], 'game.txt'));"
        "document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))"
    )
    tab.until(lambda: tab.fragment == "#5,a1,b2")
    tab.js(
        data + "data.setData('text', link + 'c3');"
        "document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }))"
    )
    tab.until(lambda: tab.fragment == "#5,c3")
    file = tmp_path / "game.sgf"
    file.write_text("(;FF[4]GM[11]SZ[6];B[a1];W[b4];B[c2])\n")
    tab.do("open")
    tab.find("#open-file").send_keys(str(file))
    tab.until(lambda: tab.fragment == "#6,a1,b4,c2" and not tab.all("dialog[open]"))


def test_a_study_grows_and_shows_its_line_on_the_board(tab: Tab) -> None:
    tab.open(MIDDLE_GAME[:26])
    tab.click("#study")
    tab.until(lambda: len(tab.all("#candidates tbody tr")) > 3)
    visits = tab.text("#study-visits")
    tab.until(lambda: tab.text("#study-visits") != visits)
    assert tab.find("#balance").is_displayed()
    assert tab.text("#expected").startswith("Expected: 7.")
    assert "Expected reply" in tab.text("#reply")
    seen = {}
    for kind in ("visits", "policy", "value", "none"):
        tab.click(f"#heat input[value={kind}] + span")
        tab.until(lambda kind=kind: bool(tab.all(".marks text.heat")) == (kind != "none"))  # type: ignore[misc]
        seen[kind] = tab.js(
            "return [...new Set([...document.querySelectorAll('.cell')].map(one => one.dataset.heat))]"
        )
    assert "share" in seen["visits"]
    assert "share" in seen["policy"]
    assert {"good", "bad"} & set(seen["value"])
    assert seen["none"] == [""]
    tab.point("#candidates tbody tr")
    tab.until(lambda: len(tab.all("circle.ghost")) >= 2)
    tab.click("#candidates tbody button")
    tab.until(lambda: len(tab.moves) == 7)
    tab.until(lambda: tab.text("#expected").startswith("Expected: 8."))  # the study follows
    tab.click("#study")
    tab.until(lambda: not tab.all("#candidates tbody tr"))


def test_policy_openings_and_advice(tab: Tab) -> None:
    tab.open("#7,swap")
    tab.click("#tab-openings")
    tab.until(lambda: len(tab.all(".marks text.heat")) == 49)
    assert "fairest opening" in tab.text("#openings-told")
    tab.play("d4")
    tab.until(lambda: tab.all("[data-do=first-board]")[0].is_displayed())
    tab.do("first-board")
    tab.until(lambda: len(tab.all(".marks text.heat")) == 49)
    tab.click("#tab-policy")
    tab.until(lambda: len(tab.all("#impressions tbody tr")) > 3)
    assert "Black to move wins with" in tab.text("#look-told")
    tab.do("hint")
    tab.until(lambda: tab.text("#hint").startswith("Best: "))
    assert len(tab.all("circle.ghost")) >= 1


def test_the_verdict_of_the_solver(tab: Tab) -> None:
    tab.open("#5,c2,b4")
    tab.click("#tab-solve")
    tab.do("solve")
    tab.until(
        lambda: "wins" in tab.text("#verdict"), 120
    )  # the first time, a server may have to compile
    if "Black to move wins" in tab.text("#verdict"):
        assert tab.all("circle.ring")
    assert "positions in" in tab.text("#solve-more")
    tab.new(8)
    tab.do("solve")
    tab.until(lambda: tab.text("#verdict") == "Solving …")
    tab.until(lambda: "ot solved within" in tab.text("#verdict"), 90)
    assert not tab.find("#message").is_displayed()
    tab.new(12)
    assert "Positions are solved on boards of up to" in tab.text("#verdict")
    assert not tab.find("[data-do=solve]").is_enabled()


def test_a_virtual_connection_is_drawn_as_links(tab: Tab) -> None:
    """Black, with c2 and c4, joins them by c3; the lower stone has an edge template."""
    where = "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
    centre = where + "return [box.x + box.width / 2, box.y + box.height / 2]"
    strokes = set()
    for scheme in ("light", "dark"):
        tab.open("#6,c2,e2,c4,b4", scheme=scheme)
        tab.click("#tab-solve")
        assert not tab.all(".links *")
        tab.do("solve")
        tab.until(lambda: tab.all(".links .link.line"), 120)
        for orientation in ("flat", "diamond", "upright"):
            tab.choose("#orientation", orientation)
            tab.until(
                lambda kind=orientation: (  # type: ignore[misc]
                    tab.find("#board").get_attribute("data-orientation") == kind
                )
            )
            for kind in ("stones", "bridge", "way"):
                assert tab.all(f".links .link.line.{kind}")
            key, cell = tab.js(centre, ".links .pivot"), tab.js(centre, ".cell[data-name=c3]")
            assert key == pytest.approx(cell, abs=1)
        assert [one.is_displayed() for one in tab.all("#solve-legend li")] == [True] * 6
        line = "return getComputedStyle(document.querySelector('.link.line')).stroke"
        rim = line.replace(".line", ".rim")
        assert tab.js(line) != tab.js(rim)
        strokes.add((tab.js(line), tab.js(rim)))
        tab.click("#tab-study")
        tab.until(lambda: not tab.all(".links *"))
    assert len(strokes) == 2


def test_a_review_lists_the_mistakes_and_leads_to_them(tab: Tab) -> None:
    tab.open(MIDDLE_GAME)
    tab.write("#simulations", "16")
    tab.click("#tab-review")
    tab.do("review")
    tab.until(lambda: "mistake" in tab.text("#review-told"), 120)
    assert tab.find("#graph").is_displayed()
    points = tab.js(
        "return document.querySelector('#graph .curve').getAttribute('points').split(' ').length"
    )
    assert points == len(tab.moves) + 1
    mistake = tab.find("#mistakes button")
    ply, named = int(mistake.get_attribute("data-ply")), mistake.text
    mistake.click()
    tab.until(lambda: len(tab.moves) == ply)
    assert f"{ply}. {tab.moves[-1]}" in named
    tab.until(lambda: "better was" in tab.text("#review-here"))
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(tab.browser).move_to_element(tab.find("#graph")).click().perform()
    tab.until(lambda: len(tab.moves) != ply)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_page_fits(width: int, scheme: str, tab: Tab) -> None:
    for fragment in ("#19", MIDDLE_GAME, "#2"):
        tab.open(fragment, width, scheme)
        for name in ("study", "policy", "openings", "solve", "review"):
            tab.click(f"#tab-{name}")
            assert tab.js("return document.documentElement.scrollWidth") <= width
        edge = "return document.querySelector('{}').getBoundingClientRect().{}"
        assert tab.js(edge.format("#adviser", "right")) <= tab.js(
            edge.format("[data-do=hint]", "left")
        )
        for what in ("new", "open", "save", "help"):
            tab.do(what)
            place = "const box = document.querySelector('dialog[open]').getBoundingClientRect();"
            left, right = tab.js(place + "return [box.left, box.right]")
            assert 0 <= left < right <= width
            tab.do("close")
    paper = tab.js("return getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, paper.removeprefix("rgb(").removesuffix(")").split(","))) > 3 * 128
    assert light == (scheme == "light")


def test_a_lost_server_is_told_and_found_again(browser: Any) -> None:
    server, address = start()
    tab = Tab(browser, address)
    try:
        tab.open("#5,a1")
        tab.click("#study")
        tab.until(lambda: tab.all("#candidates tbody tr"))
        server.kill()
        server.wait(10)
        tab.until(lambda: "Connection lost" in tab.text("#connection"))
        tab.play("b2")  # the board stays of use
        tab.until(lambda: tab.stones == ["a1", "b2"])
        server, _ = start(urlsplit(address).port or 0)
        tab.connected()
        tab.until(lambda: tab.text("#expected").startswith("Expected: 3."))
    finally:
        server.kill()
        server.wait(10)
        tab.browser.get("about:blank")
        browser.get_log("browser")  # the browser itself logs each attempt
