"""A report as plain data: facts, notes, tables, figures and boards in sections.

`hexlit.reporting.html` makes pages and the output of notebooks from it; `hexlit.reporting.text`
makes the output of terminals, Markdown, and rows for programs. A subject is one function from its
data to a `Page`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hexlit.reporting.quantities import shown

PAGE_FILE = "report.html"
STATE_COLOURS = {
    "complete": "#3b6fb6",
    "pruned": "#d9902f",
    "failed": "#c43c39",
    "running": "#3a9a5b",
    "interrupted": "#8b9098",
}
"""Colours of the states of trials."""

Document = Mapping[str, Any]
"""Plain values by name, such as the content of a JSON file."""


@dataclass(frozen=True)
class Facts:
    """Figures by name."""

    entries: Sequence[tuple[str, str]]
    title: str = ""


@dataclass(frozen=True)
class Notes:
    """Sentences, one per paragraph.

    `kind` is `plain`, `quiet`, `problem`, or `command` (never broken into lines).
    """

    lines: Sequence[str]
    kind: str = "plain"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    heading: str
    number: bool = False
    """Whether its cells are numbers, at the right."""
    kept: bool = False
    """Whether it stays visible when the table is scrolled sideways; such columns come first."""
    code: bool = False
    rank: int = 0
    """Columns of the highest rank are dropped first from a narrow terminal; those of 0 never."""
    names: tuple[str, ...] = ()
    """Names of its values for programs; empty: its heading."""


@dataclass(frozen=True)
class Cell:
    """A cell with more than text."""

    text: str
    value: Any = None
    """Sort key, and the value for programs; a tuple for several `names`. None: the text."""
    link: str | None = None
    """A path relative to the page."""
    state: str | None = None
    """State whose colour marks the text."""
    shade: float | None = None
    """Shade of its background, from 0 to 1."""

    @property
    def sort(self) -> float | str | None:
        """What rows are sorted by; None: the text."""
        key = self.value[0] if isinstance(self.value, tuple) else self.value
        return key if isinstance(key, int | float | str) else None


Row = Sequence[Any]
"""Texts and cells."""


def cell(value: float | None, unit: str | None = None) -> Cell:
    """A figure as people read it, sorted by its value; see `shown` for the units."""
    return Cell(shown(value, unit), value)


def entries(*figures: tuple[str, float | None, str | None]) -> list[tuple[str, str]]:
    """Names and texts of the `figures` (name, value, unit) that are not None, for `Facts`."""
    return [(name, shown(value, unit)) for name, value, unit in figures if value is not None]


@dataclass(frozen=True)
class Table:
    """Rows of cells; readers can search and sort a long one."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    best: int | None = None
    """Index of the highlighted row."""
    search: bool = False
    empty: str = "None."
    """Text shown in place of a table without rows."""
    rest: str = ""
    """The file with all rows, for those who see some of them."""

    def cells(self, row: Row) -> list[tuple[Column, Cell]]:
        """The cells of a row, with their columns."""
        whole = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
        return list(zip(self.columns, whole, strict=True))


def table(
    caption: str,
    headings: Sequence[Any],
    rows: Sequence[Row],
    *,
    names: int = 1,
    ranks: Mapping[str, int] | None = None,
    **more: Any,
) -> Table:
    """A table whose first `names` columns are texts; its other plain columns are numbers.

    `ranks` has the ranks of columns by heading, and `more` are further fields of `Table`.
    """
    ranks = ranks or {}
    columns = []
    for index, heading in enumerate(headings):
        column = heading
        if not isinstance(heading, Column):
            column = Column(
                heading,
                index >= names,
                index == 0,
                rank=ranks.get(heading, 0),
            )
        columns.append(column)
    return Table(caption, columns, rows, **more)


@dataclass(frozen=True)
class ChartLine:
    """One line; a None is a gap."""

    name: str
    xs: Sequence[float | None]
    ys: Sequence[float | None]
    dashed: bool = False
    reach: Sequence[tuple[float, float]] = ()
    """Low and high end of each point's interval: a band, or bars over an axis with `ticks`."""

    @property
    def points(self) -> list[tuple[float, float]]:
        """The points, without gaps."""
        pairs = zip(self.xs, self.ys, strict=True)
        return [
            (x, y)
            for x, y in pairs
            if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
        ]


@dataclass(frozen=True)
class Chart:
    """Lines over the same axis."""

    lines: Sequence[ChartLine]
    x: str = "epoch"
    y: str = ""
    may_be_log: bool = False
    """Whether values far apart get a logarithmic axis: right for losses, not for shares."""
    log_x: bool = False
    """Whether the horizontal axis is logarithmic."""
    share: bool = False
    """Whether the values are shares of one."""
    dots: bool = False
    """Whether points are marked: right for rare measurements."""
    ticks: Sequence[str] = ()
    """Names of the points 0, 1, ... of the axis."""


@dataclass(frozen=True)
class Spans:
    """Times of the phases, and the load of the machine, over the seconds of a run."""

    phases: Mapping[str, Sequence[tuple[float, float]]]
    """Begin and length of each phase in seconds, by name."""
    meters: Sequence[ChartLine]
    """Lines over the same seconds, each with an axis of its own."""


@dataclass(frozen=True)
class Figure:
    """One figure: a chart, spans, or the SVG of a drawing."""

    name: str
    title: str
    data: Chart | Spans | bytes
    file: str = ""
    """The file with the same values as JSON."""


Points = tuple[Sequence[float | None], Sequence[float | None]]


def plot(
    name: str, title: str, lines: Mapping[str, Points], *, dashed: Sequence[str] = (), **look: Any
) -> Figure:
    """A chart of `lines` by name, each its x and its y; `look` are further fields of `Chart`."""
    drawn = []
    for label, (xs, ys) in lines.items():
        drawn.append(ChartLine(label, xs, ys, dashed=label in dashed))
    return Figure(name, title, Chart(drawn, **look))


@dataclass(frozen=True)
class Figures:
    """Figures, side by side if there is room."""

    figures: Sequence[Figure]


@dataclass(frozen=True)
class OpeningsBoard:
    """The value of Black's first stone on each cell, `[n*n]` in [-1, 1], and the `truth`."""

    title: str
    values: Sequence[float]
    truth: Sequence[bool] | None = None
    exact: bool = False
    """Whether the values are perfect play's, 1 or -1."""


@dataclass(frozen=True)
class PositionBoard:
    """A position, int8 `cells` `[n*n]`."""

    title: str
    cells: Sequence[int]
    answer: str = ""
    """Text that a page shows only when it is asked for."""


@dataclass(frozen=True)
class Boards:
    """Boards side by side if there is room."""

    boards: Sequence[OpeningsBoard | PositionBoard]


@dataclass(frozen=True)
class StepGame:
    """A game to step through, in plain values."""

    title: str
    """Its line in the list."""
    cells: Sequence[int]
    """The cell of each move's stone, `[T]`."""
    names: Sequence[str]
    """The moves in notation, `[T]`."""
    swapped: bool
    """Whether the second move removes the first stone."""
    result: str
    notes: Mapping[int, str] = field(default_factory=dict)
    """Remarks on moves, by ply from 1."""


@dataclass(frozen=True)
class GameViewer:
    """Games on boards of one size; a page shows them one move at a time."""

    size: int
    games: Sequence[StepGame]


Block = Facts | Notes | Table | Figures | Boards | GameViewer


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    title: str
    blocks: Sequence[Block]
    detail: bool = False
    """Whether only a page has it: terminals, notebooks and Markdown leave it out."""

    @property
    def anchor(self) -> str:
        """Its fragment of the page's address."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str
    """The folder, and the things made there."""
    sections: Sequence[Section]
    lead: Sequence[Block] = ()
    """Blocks before the first heading."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Other pages by name: paths relative to this one."""

    @property
    def brief(self) -> list[tuple[str, Sequence[Block]]]:
        """The lead and the sections that are no details, with their titles."""
        sections = [(one.title, one.blocks) for one in self.sections if not one.detail]
        return [("", self.lead), *sections]


@cache
def _environment() -> Any:
    """The environment that finds the templates and escapes all their values, but in Markdown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("hexlit.reporting", "templates")
    spaces: Any = {
        "trim_blocks": True,
        "lstrip_blocks": True,
        "undefined": StrictUndefined,
    }
    return Environment(loader=loader, autoescape=lambda name: ".md" not in str(name), **spaces)


def filled(name: str, **values: Any) -> str:
    """The template `name` with these values."""
    return str(_environment().get_template(f"{name}.jinja").render(values))


def settings_section(
    settings: Mapping[str, str], given: Sequence[str] = (), notes: Sequence[Notes] = ()
) -> Section:
    """Every setting, searchable; those `given` on the command line first."""
    order = sorted(settings, key=lambda name: name not in given)
    headings = [Column("setting", kept=True, code=True), Column("value", code=True)]
    rows = [[name, settings[name]] for name in order]
    settings_table = Table(
        "Settings",
        headings,
        rows,
        search=True,
        empty="Not kept.",
    )
    return Section("Configuration", [*notes, settings_table], detail=True)
