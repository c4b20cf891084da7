"""A page: whole, safe whatever the names in it hold, and in need of nothing else."""

import base64
import re

from hexlit.reporting.board_svg import MARK
from hexlit.reporting.html import notebook, render
from hexlit.reporting.page import (
    Block,
    Boards,
    Cell,
    Column,
    Facts,
    Figure,
    Figures,
    Notes,
    OpeningsBoard,
    Page,
    PositionBoard,
    Section,
    Table,
)
from tests.reporting.documents import NASTY, checked

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


def nasty_page() -> str:
    table = Table(
        NASTY,
        [Column(NASTY, kept=True), Column(NASTY, number=True)],
        [[NASTY, Cell(NASTY, link=NASTY)]],
        search=True,
    )
    blocks: list[Block] = [
        Facts([(NASTY, NASTY)]),
        Notes([NASTY]),
        table,
        Figures([Figure(NASTY, NASTY, SVG, NASTY)]),
    ]
    return render(
        Page(
            NASTY,
            NASTY,
            [Section(NASTY, blocks)],
            lead=[Notes([NASTY], "problem")],
            links={NASTY: NASTY},
        )
    )


def test_a_page_is_well_formed_and_everything_in_it_is_escaped() -> None:
    page = checked(nasty_page())
    assert page.text.count(NASTY) >= 11
    assert len([tag for tag, _ in page.tags if tag == "img"]) == 1


def test_a_link_cannot_lead_to_a_script() -> None:
    section = Section("a", [Table("t", [Column("c")], [[Cell("x", link="javascript:alert(1)")]])])
    links = checked(render(Page("p", "", [section]))).values("href")
    assert not [link for link in links if link.startswith("javascript:")]


def test_the_first_columns_of_a_table_stay_and_its_best_row_stands_out() -> None:
    columns = [Column("name", kept=True), Column("value", number=True)]
    page = render(
        Page(
            "p",
            "",
            [Section("s", [Table("t", columns, [["a", "1"], ["b", Cell("2 GiB", 2e9)]], best=1)])],
        )
    )
    assert re.findall(r'<th scope="col" class="([\w ]+)">', page) == ["text kept", "number"]
    assert page.count('<tr class="best">') == 1
    assert 'data-sort="2000000000.0"' in page


def test_boards_turn_dark_on_a_dark_screen_and_what_is_wrong_has_a_ring() -> None:
    boards = [OpeningsBoard("Map", [0.5, -0.5, 0.9, -0.9], [True, True, True, False])]
    page = render(
        Page(
            "p",
            "",
            [Section("s", [Boards([*boards, PositionBoard(NASTY, [1, -1, 0, 0])])])],
        )
    )
    reader = checked(page)
    assert "Map (3 of 4 right)" in reader.text
    first, second = (
        base64.b64decode(source.partition(",")[2]).decode() for source in reader.values("src")
    )
    assert "prefers-color-scheme:dark" in first
    assert (first.count(f"stroke='{MARK}'"), second.count(f"stroke='{MARK}'")) == (1, 0)


def test_a_notebook_has_facts_and_tables_without_the_details() -> None:
    table = Table("t", [Column("c")], [[NASTY]])
    shown = notebook(
        Page(
            "p",
            "",
            [Section("a", [table]), Section("b", [Notes(["hidden"])], detail=True)],
            [Facts([("n", "5")])],
        )
    )
    assert "5 n" in shown
    assert "&lt;/script&gt;" in shown
    assert NASTY not in shown
    assert "hidden" not in shown
