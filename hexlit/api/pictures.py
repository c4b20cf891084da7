"""Pictures that a notebook shows, and that can be kept as files."""

import re
from pathlib import Path
from typing import Protocol

from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

IN_ONE_ROW = 3
"""Pictures that stay in one row, however narrow the page is."""
GAP = 16
"""Pixels between the pictures of a file."""


class Drawn(Protocol):
    """Whatever a notebook shows as SVG."""

    def _repr_svg_(self) -> str: ...


class Picture:
    """A picture as SVG."""

    def __init__(self, svg: str) -> None:
        """Of the document `svg`."""
        self.svg = svg

    def save(self, path: str | Path) -> Path:
        """Write the picture to `path`, which ends in `.svg`; returns it.

        Raises:
            UsageError: the name says another format.
        """
        path = Path(path)
        if path.suffix != ".svg":
            raise UsageError(f"{path}: pictures are SVG, so the name ends in .svg")
        write_text_atomic(path, self.svg)
        return path

    def _repr_svg_(self) -> str:
        return self.svg


class Row:
    """Pictures side by side; they break into lines where there is no room."""

    def __init__(self, pictures: list[str]) -> None:
        """Of SVG documents."""
        self.pictures = pictures

    def save(self, path: str | Path) -> Path:
        """Write all of them in one row to `path`, which ends in `.svg`; returns it.

        Raises:
            UsageError: the name says another format.
        """
        inner, left, height = [], 0, 0
        for svg in map(without_declaration, self.pictures):
            inner.append(svg.replace("<svg ", f"<svg x='{left}' ", 1))
            left, height = left + width_of(svg) + GAP, max(height, height_of(svg))
        size = f"viewBox='0 0 {left - GAP} {height}' width='{left - GAP}' height='{height}'"
        return Picture(f"<svg xmlns='http://www.w3.org/2000/svg' {size}>\n{''.join(inner)}</svg>\n").save(path)

    def _repr_html_(self) -> str:
        # With less room all shrink by the same factor; pictures beyond a full row continue in the next.
        wrap = "nowrap" if len(self.pictures) <= IN_ONE_ROW else "wrap"
        cells = "".join(
            f"<div style='flex:0 1 {width_of(svg)}px;min-width:0'>{without_declaration(svg)}</div>"
            for svg in self.pictures
        )
        return f"<div style='display:flex;flex-wrap:{wrap};gap:12px;align-items:flex-start'>{cells}</div>"


def side_by_side(*drawn: Drawn) -> Row:
    """Boards, games, searches and pictures in one row.

    >>> import hexlit
    >>> row = hexlit.side_by_side(hexlit.Board(3), hexlit.Board(3, moves="b2"))
    >>> row._repr_html_().count("<svg")
    2
    """
    return Row([one._repr_svg_() for one in drawn])


def without_declaration(svg: str) -> str:
    """The element of an SVG document, as it may stand in HTML."""
    return re.sub(r"\A.*?(?=<svg)", "", svg, flags=re.DOTALL)


def width_of(svg: str) -> int:
    """The width of an SVG document in pixels."""
    return _length(svg, "width")


def height_of(svg: str) -> int:
    """The height of an SVG document in pixels."""
    return _length(svg, "height")


def _length(svg: str, name: str) -> int:
    result = re.search(rf"<svg[^>]*\s{name}=['\"]([0-9.]+)", svg)
    return 0 if result is None else round(float(result[1]))
