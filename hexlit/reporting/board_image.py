"""Boards as small pictures for loggers: the map of openings, and a game with its stones numbered.

Pillow draws them in milliseconds and without a font of the system, so they can be made during training.
"""

from collections.abc import Iterator, Sequence
from math import isqrt, sqrt

from PIL import Image, ImageDraw, ImageFont

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.judging import judged_right
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.quantities import format_hundredths

SIDE = 20.0
"""Side of a hexagon in pixels."""

_SHARP = 2  # drawn larger by this factor, then scaled down: smooth edges
_WIDE = SIDE * sqrt(3)
_MARGIN = 1.7 * SIDE
_PAPER, _CELL, _GRID, _INK, _QUIET = "#faf7f0", "#efe6d2", "#b9a987", "#2b2722", "#8a8073"
_FILL = {BLACK: "#26242b", WHITE: "#fdfdfb"}
_NUMBER = {BLACK: "#f4f1ea", WHITE: "#26242b"}
_LAST, _WRONG = "#d6453d", "#c22f26"
_WINS, _LOSES, _EVEN = (78, 164, 120), (222, 116, 120), (239, 230, 210)

Point = tuple[float, float]


def openings_image(values: Sequence[float], truth: Sequence[bool] | None = None) -> Image.Image:
    """The map of an n×n board's openings: green cells win for the opener, red ones lose; the numbers are hundredths.

    Args:
        values: `[n*n]`, value of each opening for the opener, in [-1, 1].
        truth: `[n*n]`, whether the opening wins with best play; a wrong judgement gets a red ring.

    Raises:
        UsageError: `values` is not the map of a square board, or `truth` is not as long.
    """
    size = isqrt(len(values))
    if size * size != len(values) or size == 0 or (truth is not None and len(truth) != len(values)):
        raise UsageError(
            f"opening map of {len(values)} cells: an n x n board has 4, 9, 16, ... cells, as has its truth"
        )
    board = _Board(size)
    for cell, value in enumerate(values):
        board.hexagon(cell, _shade(value))
        board.label(cell, format_hundredths(value), _INK)
        if truth is not None and not judged_right(value, truth[cell]):
            board.ring(cell, 0.78, _WRONG)
    return board.image()


def game_image(moves: Sequence[int], size: int) -> Image.Image:
    """The position after `moves`, stones numbered, a ring around the last; a swap removes the first one."""
    board = _Board(size)
    for cell in range(size**2):
        board.hexagon(cell, _CELL)
    swapped = size**2 in moves[1:2]
    cells = stone_cells(moves, size)
    for ply, cell in enumerate(cells):
        if swapped and ply == 0:
            continue
        colour = BLACK if ply % 2 == 0 else WHITE
        board.stone(cell, colour)
        board.label(cell, str(ply + 1), _NUMBER[colour])
        if ply == len(cells) - 1:
            board.ring(cell, 0.66, _LAST)
    return board.image()


class _Board:
    """A canvas with the edges and coordinates of a board of `size`."""

    def __init__(self, size: int) -> None:
        self._size = size
        width = 2 * _MARGIN + _WIDE * (1.5 * size - 0.5)
        height = 2 * _MARGIN + SIDE * (1.5 * size + 0.5)
        self._extent = (round(width), round(height))
        self._image = Image.new("RGB", (self._extent[0] * _SHARP, self._extent[1] * _SHARP), _PAPER)
        self._draw = ImageDraw.Draw(self._image)
        self._font = ImageFont.load_default(round(0.68 * SIDE * _SHARP))
        for line, colour in self._edges():
            if colour == WHITE:  # an outline makes white stand out from the paper
                self._draw.line(line, _GRID, round(0.55 * SIDE * _SHARP), joint="curve")
            self._draw.line(line, _FILL[colour], round(0.45 * SIDE * _SHARP), joint="curve")
        for number in range(size):
            self._coordinates(number)

    def image(self) -> Image.Image:
        """The picture in its present state."""
        return self._image.resize(self._extent, Image.Resampling.LANCZOS)

    def hexagon(self, cell: int, colour: str | tuple[int, int, int]) -> None:
        self._draw.polygon([self._corner(cell, number) for number in range(6)], colour, _GRID, width=_SHARP)

    def stone(self, cell: int, colour: int) -> None:
        self._draw.ellipse(self._box(cell, 0.74), _FILL[colour], _INK, width=_SHARP)

    def ring(self, cell: int, radius: float, colour: str) -> None:
        self._draw.ellipse(self._box(cell, radius), None, colour, width=2 * _SHARP)

    def label(self, cell: int, text: str, colour: str) -> None:
        self._draw.text(self._centre(cell), text, colour, self._font, anchor="mm")

    def _coordinates(self, number: int) -> None:
        last, away = self._size - 1, 0.95 * SIDE * _SHARP
        letter, row = chr(ord("a") + number), str(number + 1)
        x, y = self._centre(number)
        low, high = self._centre(last * self._size + number), (x - away / 2, y - SIDE * _SHARP - 0.75 * away)
        self._draw.text(high, letter, _QUIET, self._font, anchor="mm")
        below = (low[0] + away / 2, low[1] + SIDE * _SHARP + 0.75 * away)
        self._draw.text(below, letter, _QUIET, self._font, anchor="mm")
        for cell, side in ((number * self._size, -1), (number * self._size + last, 1)):
            x, y = self._centre(cell)
            self._draw.text((x + side * (_WIDE * _SHARP / 2 + away), y), row, _QUIET, self._font, anchor="mm")

    def _edges(self) -> Iterator[tuple[list[Point], int]]:
        """White's borders at the left and the right, then Black's at top and bottom."""
        size, last = self._size, self._size - 1
        yield [self._corner(row * size, corner) for row in range(size) for corner in (5, 4)], WHITE
        yield [self._corner(row * size + last, corner) for row in range(size) for corner in (1, 2)], WHITE
        yield [self._corner(column, corner) for column in range(size) for corner in (5, 0)], BLACK
        yield [self._corner(last * size + column, corner) for column in range(size) for corner in (3, 2)], BLACK

    def _centre(self, cell: int) -> Point:
        row, column = divmod(cell, self._size)
        x = _MARGIN + _WIDE * (column + row / 2 + 0.5)
        return x * _SHARP, (_MARGIN + SIDE * (1.5 * row + 1)) * _SHARP

    def _corner(self, cell: int, number: int) -> Point:
        """A corner of a hexagon, clockwise from its top."""
        x, y = self._centre(cell)
        right, down = ((0, -1), (0.5, -0.5), (0.5, 0.5), (0, 1), (-0.5, 0.5), (-0.5, -0.5))[number]
        return x + right * _WIDE * _SHARP, y + down * SIDE * _SHARP

    def _box(self, cell: int, radius: float) -> tuple[float, float, float, float]:
        x, y = self._centre(cell)
        reach = radius * SIDE * _SHARP
        return x - reach, y - reach, x + reach, y + reach


def _shade(value: float) -> tuple[int, int, int]:
    """From red over the colour of an empty cell to green."""
    end = _WINS if value > 0 else _LOSES
    share = min(1.0, 0.25 + 0.75 * abs(value)) if value else 0.0
    red, green, blue = (round(even + share * (far - even)) for even, far in zip(_EVEN, end, strict=True))
    return red, green, blue
