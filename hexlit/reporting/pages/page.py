"""A report as one self-contained HTML file: its sections, the blocks in them, and the templates of both.

The templates lie in `templates/`. Names and reasons are plain text: they cannot run code or load anything. The
page's policy allows its one script, by its hash, and pictures that are part of the file.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE_FILE = "report.html"
_HALF_A_PAGE = 500.0  # points


class Block(Protocol):
    """A part of a section; `template` draws it, and gets it as `block`."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Facts:
    """First figures of a page: a name and a text each."""

    template: ClassVar[str] = "facts.html.jinja"
    entries: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Notes:
    """Sentences, one per paragraph; `kind` is `plain`, `quiet` or `problem`."""

    template: ClassVar[str] = "notes.html.jinja"
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


@dataclass(frozen=True)
class Cell:
    """A cell with more than text."""

    text: str
    sort: float | str | None = None
    """Sort key; None: the text."""
    link: str | None = None
    """A path relative to the page."""
    state: str | None = None
    """State whose colour marks the text."""
    shade: float | None = None
    """Shade of its background, from 0 to 1."""


@dataclass(frozen=True)
class Table:
    """Rows of cells; readers can search and sort a long one."""

    template: ClassVar[str] = "table.html.jinja"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Cell]]
    best: int | None = None
    """Index of the highlighted row."""
    search: bool = False
    empty: str = "None."
    """Text shown in place of a table without rows."""

    def cells(self, row: Sequence[str | Cell]) -> list[tuple[Column, Cell]]:
        """The cells of a row, with their columns."""
        whole = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
        return list(zip(self.columns, whole, strict=True))


@dataclass(frozen=True)
class Drawing:
    """One drawn figure; `data` is the file with the same values as JSON."""

    name: str
    title: str
    svg: bytes
    data: str = ""
    wide: bool = False
    """Whether it needs the whole width of the page."""

    @property
    def source(self) -> str:
        """The picture as a URL.

        As an image of its own: names cannot collide with those of other figures, and no script in it can run.
        """
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode('ascii')}"


def is_wide(svg: bytes) -> bool:
    """Whether a matplotlib figure is too wide to stand beside another one."""
    width = re.search(rb'<svg [^>]*?width="([0-9.]+)pt"', svg[:2000])
    return width is not None and float(width[1]) > _HALF_A_PAGE


@dataclass(frozen=True)
class Figures:
    """Figures, side by side if there is room."""

    template: ClassVar[str] = "figures.html.jinja"
    drawings: Sequence[Drawing]
    small: bool = False
    """Whether they are small pictures, such as boards."""


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    title: str
    blocks: Sequence[Block]

    @property
    def anchor(self) -> str:
        """Its place in the page's address."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str
    """The folder, and the things made there."""
    sections: Sequence[Section]
    lead: Sequence[Block] = field(default_factory=list)
    """Blocks before the first heading."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Other pages by name: paths relative to this one."""


def render(page: Page) -> str:
    """The page as HTML.

    Raises:
        ValueError: two sections have the same title (a bug): their anchors would be the same.
    """
    anchors = [section.anchor for section in page.sections]
    if len(set(anchors)) < len(anchors):
        raise ValueError(f"sections of a page with the same address: {anchors}")
    script = _resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    template = environment().get_template("page.html.jinja")
    return template.render(page=page, style=_resource("page.css"), script=script, digest=digest)


@cache
def environment() -> "Environment":
    """The environment that finds the templates and escapes all their values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("hexlit.reporting.pages", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _resource(name: str) -> Any:
    from markupsafe import Markup

    text = files("hexlit.reporting.pages").joinpath("templates", name).read_text(encoding="utf-8")
    return Markup(text)  # hexlit's own file, not a user's text, so it is not escaped
