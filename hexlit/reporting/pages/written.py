"""Tables of text and figures that a run has already written, taken over into its report."""

from collections.abc import Mapping
from pathlib import Path

from hexlit.reporting.grid import Grid
from hexlit.reporting.pages.page import Block, Cell, Column, Drawing, Figures, Notes, Table


def table_of(grid: Grid) -> Table:
    """A terminal's table as a table of a page."""
    columns = [
        Column(heading, number=place >= grid.names, kept=place == 0) for place, heading in enumerate(grid.headings)
    ]
    rows: list[list[str | Cell]] = [list(row) for row in grid.rows]
    return Table(grid.title, columns, rows)


def titled(grid: Grid) -> list[Block]:
    """The same with its title above it."""
    return [Notes([grid.title]), table_of(grid)]


def figures_in(folder: Path, titles: Mapping[str, str], *, wide: bool = False) -> list[Block]:
    """Figures in the run's `folder`; `titles` names them by file, and missing files are left out."""
    there = {folder / name: title for name, title in titles.items() if (folder / name).is_file()}
    drawings = [Drawing(path.stem, title, path.read_bytes(), wide=wide) for path, title in there.items()]
    return [Figures(drawings)] if drawings else []
