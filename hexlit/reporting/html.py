"""A report as one self-contained HTML file, and as the output of a notebook.

The templates lie in `templates/`. Names and reasons are plain text: they cannot run code or load
anything. The page's policy allows its one script, by its hash, and pictures that are part of the
file.
"""

import base64
import hashlib
import re
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from hexlit.reporting.board_svg import board_picture
from hexlit.reporting.page import Block, Boards, Figure, Figures, GameViewer, Page, filled


def render(page: Page) -> str:
    """The page as HTML; its sections have different titles."""
    script = _resource("page.js")
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return filled(
        "page.html",
        page=page,
        block_html=_block,
        style=_resource("page.css"),
        script=script,
        digest=base64.b64encode(digest).decode("ascii"),
    )


def notebook(page: Page, *, rows: int | None = None) -> str:
    """What a notebook shows of the page: titles, and the facts, notes and tables (`rows` of each)
    without details.
    """
    return filled("notebook.html", page=page, rows=rows, block_html=_block)


def _block(block: Block, place: str, rows: int | None = None) -> str:
    """A block of the page as HTML, at most `rows` rows of a table; `place` is a name for its
    parts.
    """
    values: dict[str, Any] = {"block": block, "place": place, "rows": rows}
    if isinstance(block, Figures):
        drawings = [(one, drawn(one)) for one in block.figures]
        values["pictures"] = [
            (one, is_wide(picture), _source(picture)) for one, picture in drawings
        ]
    elif isinstance(block, Boards):
        pictures = [board_picture(board, dark=True) for board in block.boards]
        values["pictures"] = [(title, _source(picture.encode())) for title, picture in pictures]
    elif isinstance(block, GameViewer):
        values["games"] = [asdict(game) for game in block.games]
    return filled(f"{type(block).__name__.lower()}.html", **values)


def drawn(figure: Figure) -> bytes:
    """The SVG of the figure."""
    from hexlit.reporting.figures import draw, draw_figure

    return figure.data if isinstance(figure.data, bytes) else draw(draw_figure, figure.data)


def is_wide(picture: bytes) -> bool:
    """Whether a figure is too wide, above 500 points, to stand next to another one."""
    width = re.search(rb'<svg [^>]*?width="([0-9.]+)pt"', picture[:2000])
    return width is not None and float(width[1]) > 500


def _source(picture: bytes) -> str:
    """A picture as a URL.

    As an image of its own: names cannot collide with those of other figures, and no script in it
    can run.
    """
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode('ascii')}"


@cache
def _resource(name: str) -> str:
    """A file of hexlit's own, which is not escaped."""
    return files("hexlit.reporting").joinpath("templates", name).read_text(encoding="utf-8")
