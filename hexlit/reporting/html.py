"""A report as one self-contained HTML file, and as the output of a notebook.

The templates lie in `templates/`. Names and reasons are plain text: they cannot run code or load anything. The
page's policy allows its one script, by its hash, and pictures that are part of the file.
"""

import base64
import hashlib
import json
import re
from dataclasses import asdict, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hexlit.reporting import board_svg as svg
from hexlit.reporting.page import Block, Boards, Facts, Figure, Figures, GameViewer, Notes, Page, Table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


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
    template = _environment().get_template("page.html.jinja")
    return template.render(page=page, block_html=_block, style=_resource("page.css"), script=script, digest=digest)


def notebook(page: Page, *, rows: int | None = None) -> str:
    """What a notebook shows of the page: titles, and the facts, notes and tables (`rows` of each) without details."""
    parts: list[tuple[str, list[Markup]]] = []
    for title, blocks in page.brief:
        shown: list[Block] = []
        for block in blocks:
            if isinstance(block, Facts):
                shown.append(Notes([" · ".join(f"{value} {name}" for name, value in block.entries)]))
            elif isinstance(block, Table) and rows is not None and len(block.rows) > rows:
                more = f"and {len(block.rows) - rows} more{block.rest and f' in {block.rest}'}"
                shown += [replace(block, rows=block.rows[:rows]), Notes([more], "quiet")]
            elif not isinstance(block, Figures | GameViewer):
                shown.append(block)
        captions = [block.caption for block in shown if isinstance(block, Table)]
        parts.append(("" if title in captions or not shown else title, [_block(block, "") for block in shown]))
    return _environment().get_template("notebook.html.jinja").render(page=page, parts=parts)


def _block(block: Block, place: str) -> "Markup":
    """A block of the page as HTML; `place` is a name for its parts."""
    from markupsafe import Markup

    values: dict[str, Any] = {"block": block, "place": place}
    if isinstance(block, Figures):
        drawings = [(one, drawn(one)) for one in block.figures]
        values["pictures"] = [(one, one.wide or is_wide(picture), _source(picture)) for one, picture in drawings]
    elif isinstance(block, Boards):
        pictures = [svg.board_picture(board) for board in block.boards]
        values["pictures"] = [(title, _source(svg.for_dark_screens(one).encode())) for title, one in pictures]
    elif isinstance(block, GameViewer):
        values |= {"board": Markup(_viewer_board(block.size)), "data": _viewer_data(block)}
    name = type(block).__name__.lower()
    return Markup(_environment().get_template(f"{name}.html.jinja").render(values))


def drawn(figure: Figure) -> bytes:
    """The SVG of the figure."""
    if isinstance(figure.data, bytes):
        return figure.data
    from hexlit.reporting.figures import draw_data

    return draw_data(figure.data)


def is_wide(picture: bytes) -> bool:
    """Whether a figure is too wide, above 500 points, to stand beside another one."""
    width = re.search(rb'<svg [^>]*?width="([0-9.]+)pt"', picture[:2000])
    return width is not None and float(width[1]) > 500


def _viewer_board(size: int) -> str:
    """The empty board, which the page's script fills with stones."""
    opening = svg.opening_tag(*svg.extent(size)).replace("<svg ", "<svg class='board' role='img' ", 1)
    lines = [opening, "<title>Board</title>", *svg.empty_board(size), "<g class='stones'></g></svg>"]
    return svg.for_dark_screens("\n".join(lines))


def _viewer_data(viewer: GameViewer) -> "Markup":
    """The games and the places of the cells for the script, as JSON; safe inside a script element."""
    from markupsafe import Markup

    content: dict[str, Any] = {
        "centres": [[round(place, 1) for place in svg.centre(cell, viewer.size)] for cell in range(viewer.size**2)],
        "radius": round(svg.RADIUS, 1),
        "stones": [svg.STONE[1], svg.STONE[-1]],
        "inks": [svg.ON_STONE[1], svg.ON_STONE[-1]],
        "games": [asdict(game) for game in viewer.games],
    }
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _source(picture: bytes) -> str:
    """A picture as a URL.

    As an image of its own: names cannot collide with those of other figures, and no script in it can run.
    """
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode('ascii')}"


@cache
def _environment() -> "Environment":
    """The environment that finds the templates and escapes all their values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("hexlit.reporting", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _resource(name: str) -> "Markup":
    """A file of hexlit's own, which is not escaped."""
    from markupsafe import Markup

    return Markup(files("hexlit.reporting").joinpath("templates", name).read_text(encoding="utf-8"))
