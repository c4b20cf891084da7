"""Boards as small pictures for loggers: the map of openings, and a game with its stones numbered.

Pillow draws their SVG in milliseconds and without a font of the system, so they can be made during training.
"""

from collections.abc import Sequence
from math import isqrt
from xml.etree import ElementTree

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board_svg import PAPER, CellNote, board_picture, board_svg
from hexlit.reporting.page import OpeningsBoard

_SHARP = 2  # drawn larger by this factor, then scaled down: smooth edges


def openings_image(values: Sequence[float], truth: Sequence[bool] | None = None) -> Image.Image:
    """The map of an n×n board's openings: blue cells win for the opener, red ones lose; the numbers are hundredths.

    Args:
        values: `[n*n]`, value of each opening for the opener, in [-1, 1].
        truth: `[n*n]`, whether the opening wins with best play; a wrong judgement gets a ring.

    Raises:
        UsageError: `values` is not the map of a square board, or `truth` is not as long.
    """
    size = isqrt(len(values))
    if size * size != len(values) or size == 0 or (truth is not None and len(truth) != len(values)):
        raise UsageError(
            f"opening map of {len(values)} cells: an n x n board has 4, 9, 16, ... cells, as has its truth"
        )
    return _image(board_picture(OpeningsBoard("", values, truth))[1])


def game_image(moves: Sequence[int], size: int) -> Image.Image:
    """The position after `moves`, stones numbered, a ring around the last; a swap removes the first one."""
    position, numbers = np.zeros(size**2, np.int8), {}
    cells = stone_cells(moves, size)
    for ply, cell in enumerate(cells):
        if ply or size**2 not in moves[1:2]:
            position[cell] = WHITE if ply % 2 else BLACK
            numbers[cell] = CellNote(str(ply + 1))
    return _image(board_svg(position, size, notes=numbers, last=cells[-1] if cells else None))


def _image(svg: str) -> Image.Image:
    """The picture of a board without title and caption."""
    root = ElementTree.fromstring(svg)
    width, height = (round(float(root.get(name, 0))) for name in ("width", "height"))
    image = Image.new("RGB", (width * _SHARP, height * _SHARP), PAPER)
    draw = ImageDraw.Draw(image, "RGBA")  # which mixes shades with the cells below

    for element in root.iter():
        look = {name: _SHARP * float(element.get(name, 0)) for name in ("x", "y", "cx", "cy", "r", "font-size")}
        points = [_SHARP * float(part) for part in element.get("points", "").replace(",", " ").split()]
        stroke, thick = element.get("stroke"), max(1, round(_SHARP * float(element.get("stroke-width", 0))))
        fill = None
        if (colour := element.get("fill", "none")) != "none":
            fill = (*ImageColor.getrgb(colour)[:3], round(255 * float(element.get("fill-opacity", 1))))
        match element.tag.rpartition("}")[2]:
            case "polygon":
                draw.polygon(points, fill, stroke, width=thick)
            case "polyline":
                draw.line(points, stroke, thick, joint="curve")
            case "circle":
                x, y, radius = look["cx"], look["cy"], look["r"]
                draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill, stroke, width=thick)
            case "text":
                font = ImageFont.load_default(look["font-size"])
                draw.text((look["x"], look["y"]), element.text or "", fill, font, anchor="ms")
    return image.resize((width, height), Image.Resampling.LANCZOS)
