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
    Column,
    Facts,
    Notes,
    OpeningsBoard,
    Page,
    PositionBoard,
    Table,
)
from hexlit.reporting.screen import GAP

_NOTES = {"plain": "", "quiet": "dim", "problem": "red", "command": ""}
_BAR = 16  # characters of a bar
_NARROWEST = {
    False: _BAR,
    True: 28,
}  # characters that a text keeps on a narrow terminal; True: in the first columns


def terminal(wide: int = 120) -> Console:
    """The console of a report: without a terminal,
    and without COLUMNS, its tables may have `wide` columns.
    """
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
            gap = (
                isinstance(block, Table) and block.caption != title and bool(parts) and bool(title)
            )
            parts += [*([Text()] if gap else []), *_drawn(block, console, title, rows)]
        if parts and title:
            parts = [Text(), Text(title, "bold"), *parts]
        for part in parts:
            console.print(part, crop=False)


def _drawn(
    block: Block, console: Console, title: str, rows: int | None
) -> Iterator[RenderableType]:
    """The parts of a block for a terminal;
    none for figures and games. `title` stands above it already.
    """
    width = console.width
    if isinstance(block, Notes):
        whole = block.kind == "command" or not (console.is_terminal or "COLUMNS" in os.environ)
        for line in block.lines:
            yield Text(
                line, _NOTES[block.kind], no_wrap=whole, overflow="ignore" if whole else None
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
        yield table_for(block, width, rows)
        if rows is not None and len(block.rows) > rows:
            yield Text(
                f"and {len(block.rows) - rows} more{block.rest and f' in {block.rest}'}", "dim"
            )


def table_for(block: Table, width: int, rows: int | None = None) -> rich.Table:
    """The first `rows` rows; columns of the highest rank go until the others fit,
    then long texts are broken.
    """
    texts = [[_text(cell) for _, cell in block.cells(row)] for row in block.rows[:rows]]
    least, whole = [], []
    for place, column in enumerate(block.columns):
        longest = max((line[place].cell_len for line in texts), default=0)
        word = max(map(len, column.heading.split()), default=0)
        whole.append(max(len(column.heading), longest))
        least.append(max(word, longest if column.number else min(longest, _NARROWEST[column.kept])))
    kept = list(range(len(block.columns)))
    for place in sorted(kept, key=lambda place: (-block.columns[place].rank, -place)):
        if block.columns[place].rank and sum(least[one] + GAP for one in kept) > width:
            kept.remove(place)
    headed = any(column.heading for column in block.columns)
    drawn = rich.Table(
        box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim", show_header=headed
    )
    sizes = whole if sum(whole[place] + GAP for place in kept) <= width else least
    for place in kept:
        number = block.columns[place].number
        side: Literal["right", "left"] = "right" if number else "left"
        size = sizes[place] if number else None
        drawn.add_column(
            Text(block.columns[place].heading), justify=side, overflow="fold", width=size
        )
    for row, line in enumerate(texts):
        drawn.add_row(*(line[place] for place in kept), style="bold" if row == block.best else "")
    return drawn


def _text(cell: Cell) -> Text:
    text = Text(cell.text, pages.STATE_COLOURS.get(cell.state or "", ""))
    if cell.bar is not None:
        begin, end, mark = (round((share or 0.0) * _BAR) for share in cell.bar)
        end = max(end, begin + (cell.bar[1] > cell.bar[0]))
        line = ["━" if begin <= place < end else " " for place in range(_BAR)]
        if cell.bar[2] is not None:
            line[min(_BAR - 1, mark)] = "●"
        text.append((" " if cell.text else "") + "".join(line), "cyan")
    return text


def _board(board: OpeningsBoard | PositionBoard) -> Text:
    from hexlit.reporting.board import (
        SIDES,
        draw_board,
        draw_openings,
    )  # brings Numba, which other pages do not need

    title = Text(f"{board.title}\n", "bold")
    if isinstance(board, OpeningsBoard):
        values = [value > 0 for value in board.values] if board.exact else board.values
        return Text.assemble(title, draw_openings(values, board.truth))
    cells = np.array(board.cells, np.int8)
    drawn = draw_board(cells, isqrt(len(cells)), board.marks, last=board.ring)
    return Text.assemble(title, drawn, (f"\n{SIDES}", "dim"))


def markdown(page: Page) -> str:
    """The page without its details, figures and boards, for a README or an issue."""
    return pages.filled("page.md", page=page).strip() + "\n"


def as_rows(block: Table) -> tuple[list[str], list[list[Any]]]:
    """The table for programs, and for W&B:
    the names of its columns, and the values of its cells.
    """

    def values(column: Column, cell: Cell) -> list[Any]:
        value = cell.text if cell.value is None else cell.value
        return [*value][: len(column.names) or 1] if isinstance(value, tuple) else [value]

    names = [name for column in block.columns for name in column.names or (column.heading,)]
    rows = [
        [value for column, cell in block.cells(row) for value in values(column, cell)]
        for row in block.rows
    ]
    return names, rows
