"""Pages in a real Chromium: `pytest -m services tests/reporting`;
needs chromium, chromedriver and selenium.
"""

from pathlib import Path
from typing import Any

import pytest

from hexlit.cli import main
from tests.chromium import DESKTOP, PHONE, look_like
from tests.reporting.documents import NASTY, make_match, make_run
from tests.reporting.test_strength import STRENGTH
from tests.tuning.sweeps import complete, make_sweep

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind, by name."""
    place = tmp_path_factory.mktemp("pages")
    run = make_run(place / "run", strength=STRENGTH, device=NASTY)
    other = make_run(place / "other", epochs=5)
    match = make_match(place / "match", (NASTY, "random"))
    trials = [complete(value, params={"optimizer.lr": value}) for value in (0.09, 0.01, 0.05)]
    sweep = make_sweep(place / "sweep", trials)
    for folder in (run, match, sweep):
        assert main(["report", str(folder)]) == 0
    assert main(["report", f"runs=[{run},{other}]", f"output={place / 'comparison.html'}"]) == 0
    found = {folder.name: folder / "report.html" for folder in (run, match, sweep)}
    return {**found, "comparison": place / "comparison.html"}


def show(browser: Any, page: Path, width: int = DESKTOP, scheme: str = "light") -> None:
    look_like(browser, width, scheme)
    browser.get(page.as_uri())


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


@pytest.mark.parametrize("name", ["run", "match", "sweep", "comparison"])
def test_a_page_fits_in_light_and_dark_and_its_console_is_empty(
    name: str, browser: Any, pages: dict[str, Path]
) -> None:
    papers = set()
    for width in (DESKTOP, PHONE):
        for scheme in ("light", "dark"):
            show(browser, pages[name], width, scheme)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            papers.add(
                (
                    scheme,
                    browser.execute_script(
                        "return getComputedStyle(document.body).backgroundColor"
                    ),
                )
            )
            pictures = "return [...document.images].every(image => image.complete && image.naturalWidth > 0)"
            assert browser.execute_script(pictures)
            assert browser.get_log("browser") == []
    assert len(papers) == 2


def test_a_table_is_sorted_and_searched_by_the_keyboard(
    browser: Any, pages: dict[str, Path]
) -> None:
    from selenium.webdriver.common.keys import Keys

    show(browser, pages["sweep"])
    columns = "return [...document.querySelectorAll('table th')].map(head => head.textContent)"
    place = browser.execute_script(columns).index("optimizer.lr")
    cells = f"return [...document.querySelectorAll('tbody tr:not([hidden]) td:nth-child({place + 1})')].slice(0, 3)"
    cells += ".map(cell => cell.textContent)"
    head = f"document.querySelectorAll('table th button')[{place}].focus()"
    browser.execute_script(head)
    press(browser, Keys.ENTER)
    assert browser.execute_script(cells) == ["0.01", "0.05", "0.09"]
    press(browser, Keys.SPACE)
    assert browser.execute_script(cells) == ["0.09", "0.05", "0.01"]
    browser.execute_script("document.querySelector('input[type=search]').focus()")
    press(browser, "trial-001")
    assert browser.execute_script(cells)[:1] == ["0.01"]
    assert (
        browser.execute_script("return document.querySelector('.search output').textContent")
        == "1 of 3 rows"
    )


def test_the_first_columns_stay_when_a_table_is_scrolled(
    browser: Any, pages: dict[str, Path]
) -> None:
    show(browser, pages["sweep"], PHONE)
    browser.execute_script("document.querySelector('.scroll').scrollLeft = 300")
    edge = "return document.querySelector('{}').getBoundingClientRect().left"
    box, trial = (
        browser.execute_script(edge.format(what)) for what in (".scroll", "tbody td:nth-child(2)")
    )
    rank = browser.execute_script(edge.format("tbody td"))
    assert box <= rank < trial < box + 120


def test_a_game_is_stepped_through_by_the_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    from selenium.webdriver.common.keys import Keys

    show(browser, pages["match"])
    stones = "return document.querySelectorAll('.stones text').length"
    assert browser.execute_script(stones) == 5
    browser.execute_script("document.querySelector('input[type=range]').focus()")
    press(browser, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert browser.execute_script(stones) == 3
    told = "return document.querySelector('.told').textContent"
    assert browser.execute_script(told) == "Move 3 of 5: Black b2"
    press(browser, Keys.HOME)
    assert browser.execute_script(told) == "The empty board"
    browser.execute_script("document.querySelector('select').focus()")
    press(browser, Keys.ARROW_DOWN)
    assert browser.execute_script(stones) == 2
    assert NASTY in browser.execute_script(
        "return document.querySelector('select').selectedOptions[0].textContent"
    )
