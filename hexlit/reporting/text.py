"""A report as text: for a terminal of 60 to 200 columns, as Markdown, and as rows for programs."""

import os
from collections.abc import Iterator
from math import isqrt
from typing import Any, Literal

import numpy as np
from rich import table as rich
from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.text import Text

from hexlit.reporting import page as pages
from hexlit.reporting.page import (
    Block,
    Boards,
    Cell,
    Facts,
    Notes,
    OpeningsBoard,
    Page,
    PositionBoard,
    Table,
)
from hexlit.reporting.screen import GAP

_NOTES = {
    "plain": "",
    "quiet": "dim",
    "problem": "red",
    "command": "",
}
_NARROWEST = {False: 16, True: 28}
"""Characters that a text keeps on a narrow terminal; True: in the first columns."""


def terminal(wide: int = 120) -> Console:
    """The console of a report; without a terminal its tables may have `wide` columns."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, wide)
    return console


def show(page: Page, console: Console, *, rows: int | None = None) -> None:
    """Print the page without its details: at most `rows` rows of a table, and no figures.

    Without a terminal, and without COLUMNS, notes stay whole lines.
    """
    for line, style in ((page.title, "bold"), (page.subtitle, "dim")):
        if line:
            console.print(Text(line, style), soft_wrap=True)
    for title, blocks in page.brief:
        parts: list[RenderableType] = []
        for block in blocks:
            if title and parts and isinstance(block, Table) and block.caption != title:
                parts.append(Text())
            parts += _drawn(block, console, title, rows)
        if parts and title:
            parts = [Text(), Text(title, "bold"), *parts]
        for part in parts:
            console.print(part, crop=False)


def _drawn(
    block: Block, console: Console, title: str, rows: int | None
) -> Iterator[RenderableType]:
    """The parts of a block for a terminal; none for figures and games.

    `title` stands above it already.
    """
    if isinstance(block, Notes):
        whole = block.kind == "command" or not (console.is_terminal or "COLUMNS" in os.environ)
        overflow: Literal["ignore"] | None = "ignore" if whole else None
        for line in block.lines:
            yield Text(
                line,
                _NOTES[block.kind],
                no_wrap=whole,
                overflow=overflow,
            )
    elif isinstance(block, Facts):
        if block.title:
            yield Text(block.title, "bold")
        facts = [
            Text.assemble((name, "dim"), "\n", (figure, "bold green"))
            for name, figure in block.entries
        ]
        yield Columns(facts, padding=(0, GAP))
    elif isinstance(block, Boards):
        yield Columns([_board(board) for board in block.boards], padding=(0, 2 * GAP))
    elif isinstance(block, Table):
        if block.caption and block.caption != title:
            yield Text(block.caption, "italic" if title else "bold")
        if not block.rows:
            yield Text(block.empty, "dim")
            return
        yield table_for(block, console.width, rows)
        if rows is not None and len(block.rows) > rows:
            where = f" in {block.rest}" if block.rest else ""
            yield Text(f"and {len(block.rows) - rows} more{where}", "dim")


def table_for(block: Table, width: int, rows: int | None = None) -> rich.Table:
    """The first `rows` rows; columns of the highest rank go until the others fit.

    Then long texts are broken.
    """
    texts = []
    for cells in block.rows[:rows]:
        texts.append([_text(cell) for _, cell in block.cells(cells)])
    least, whole = [], []
    for index, column in enumerate(block.columns):
        longest = max((line[index].cell_len for line in texts), default=0)
        word = max(map(len, column.heading.split()), default=0)
        whole.append(max(len(column.heading), longest))
        least.append(max(word, longest if column.number else min(longest, _NARROWEST[column.kept])))
    kept = list(range(len(block.columns)))
    for index in sorted(kept, key=lambda index: (-block.columns[index].rank, -index)):
        if block.columns[index].rank and sum(least[one] + GAP for one in kept) > width:
            kept.remove(index)
    headed = any(column.heading for column in block.columns)
    drawn = rich.Table(
        box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim", show_header=headed
    )
    sizes = whole if sum(whole[index] + GAP for index in kept) <= width else least
    for index in kept:
        heading = Text(block.columns[index].heading)
        if block.columns[index].number:
            drawn.add_column(
                heading,
                justify="right",
                overflow="fold",
                width=sizes[index],
            )
        else:
            drawn.add_column(heading, overflow="fold")
    for row, line in enumerate(texts):
        drawn.add_row(*(line[index] for index in kept), style="bold" if row == block.best else "")
    return drawn


def _text(cell: Cell) -> Text:
    return Text(cell.text, pages.STATE_COLOURS.get(cell.state or "", ""))


def _board(board: OpeningsBoard | PositionBoard) -> Text:
    # The import brings Numba, which other pages do not need.
    from hexlit.reporting.board import SIDES, draw_board, draw_openings

    title = Text(f"{board.title}\n", "bold")
    if isinstance(board, OpeningsBoard):
        values = [value > 0 for value in board.values] if board.exact else board.values
        return Text.assemble(title, draw_openings(values, board.truth))
    cells = np.array(board.cells, np.int8)
    drawn = draw_board(cells, isqrt(len(cells)))
    return Text.assemble(title, drawn, (f"\n{SIDES}", "dim"))


def markdown(page: Page) -> str:
    """The page without its details, figures and boards, for a README or an issue."""
    return pages.filled("page.md", page=page).strip() + "\n"


def as_rows(block: Table) -> tuple[list[str], list[list[Any]]]:
    """The names of the table's columns and the values of its cells, for programs and W&B."""
    names: list[str] = []
    for column in block.columns:
        names += column.names or (column.heading,)
    rows = []
    for row in block.rows:
        values: list[Any] = []
        for column, cell in block.cells(row):
            value = cell.text if cell.value is None else cell.value
            several = value if isinstance(value, tuple) else (value,)
            values += several[: len(column.names) or 1]
        rows.append(values)
    return names, rows
