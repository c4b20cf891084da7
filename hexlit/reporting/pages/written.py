"""Tables of text and figures that a run has written already, taken over into its report."""

from pathlib import Path

from hexlit.reporting.grid import Grid
from hexlit.reporting.pages.page import Block, Cell, Column, Drawing, Figures, Notes, Table


def table_of(grid: Grid) -> Table:
    """The table of a terminal as one of a page."""
    columns = [
        Column(heading, number=place >= grid.names, kept=place == 0) for place, heading in enumerate(grid.headings)
    ]
    rows: list[list[str | Cell]] = [list(row) for row in grid.rows]
    return Table(grid.title, columns, rows)


def titled(grid: Grid) -> list[Block]:
    """The same with its title above it."""
    return [Notes([grid.title]), table_of(grid)]


def figure_in(folder: Path, name: str, title: str, *, wide: bool = False) -> list[Block]:
    """The figure `name` that lies in the run's `folder`; nothing where it does not."""
    path = folder / name
    if not path.is_file():
        return []
    return [Figures([Drawing(path.stem, title, path.read_bytes(), wide=wide)])]
