"""A search tree as SVG: stones for moves, lines as thick as visits, rings in the colour of the value."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt

from hexlit.hex.geometry import BLACK
from hexlit.reporting.board_svg import (
    BAD,
    GOOD,
    GRID,
    INK,
    LAST,
    ON_STONE,
    PAPER,
    QUIET,
    STONE,
    blend,
    opening_tag,
    text,
)
from hexlit.reporting.quantities import format_hundredths

_ACROSS, _DOWN = 58.0, 96.0  # from leaf to leaf, and from level to level
_MARGIN, _HEAD, _FOOT = 40.0, 62.0, 48.0
_LARGEST, _SMALLEST = 19.0, 11.0  # radius of a stone
_NARROWEST = 460.0
_HALO = f" stroke='{PAPER}' stroke-width='4' paint-order='stroke'"  # numbers stand out from the lines behind them


@dataclass
class DrawnNode:
    """A move in the picture of a tree."""

    label: str
    """Name of the move; at the root another word."""
    colour: int
    """`BLACK` or `WHITE`, the player of the move; 0 at the root."""
    visits: int
    value: float
    """Value for the player to move at the root, in [-1, 1]."""
    expected: bool = False
    """Whether it belongs to the expected line of play."""
    children: "list[DrawnNode]" = field(default_factory=list)


def tree_svg(root: DrawnNode, *, title: str = "", caption: str = "") -> str:
    """The picture of the tree, a complete SVG document; the root is at the top."""
    places: dict[int, tuple[float, float]] = {}
    leaves = _place(root, 0, 0, places)
    width = max(2 * _MARGIN + _ACROSS * leaves, _NARROWEST, 24 + 8.5 * len(title), 24 + 6.8 * len(caption))
    height = _HEAD + _DOWN * (_depth(root) - 1) + _FOOT + 30
    shift = (width - _ACROSS * leaves) / 2
    lines = [
        opening_tag(width, height),
        f"<rect width='100%' height='100%' rx='8' fill='{PAPER}'/>",
        text(width / 2, 26, title, 15, INK, " font-weight='bold'"),
        f"<g transform='translate({shift:.1f} {_HEAD:.1f})'>",
        *_lines(root, places, root.visits),
        *_stones(root, places, root.visits),
        "</g>",
        text(width / 2, height - 12, caption, 12, QUIET),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _place(node: DrawnNode, depth: int, first: int, places: dict[int, tuple[float, float]]) -> int:
    """Set the places of `node` and all below it, leaves from the number `first` on; returns its number of leaves."""
    leaves = 0
    for child in node.children:
        leaves += _place(child, depth + 1, first + leaves, places)
    if not node.children:
        across = (first + 0.5) * _ACROSS
        leaves = 1
    else:
        across = sum(places[id(child)][0] for child in (node.children[0], node.children[-1])) / 2
    places[id(node)] = across, 10 + depth * _DOWN
    return leaves


def _depth(node: DrawnNode) -> int:
    return 1 + max(map(_depth, node.children), default=0)


def _lines(node: DrawnNode, places: dict[int, tuple[float, float]], most: int) -> Iterator[str]:
    x, y = places[id(node)]
    for child in node.children:
        to_x, to_y = places[id(child)]
        thick = 1 + 9 * child.visits / max(1, most)
        colour = LAST if child.expected else GRID
        middle = (y + to_y) / 2
        path = f"M{x:.1f},{y:.1f} C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}"
        yield f"<path d='{path}' fill='none' stroke='{colour}' stroke-width='{thick:.1f}' opacity='0.75'/>"
        yield from _lines(child, places, most)


def _stones(node: DrawnNode, places: dict[int, tuple[float, float]], most: int) -> Iterator[str]:
    x, y = places[id(node)]
    radius = _SMALLEST + (_LARGEST - _SMALLEST) * sqrt(node.visits / max(1, most))
    if node.colour:
        ring = blend(GRID, GOOD if node.value > 0 else BAD, 0.25 + 0.75 * abs(node.value))
        fill, ink = STONE[BLACK if node.colour > 0 else -BLACK], ON_STONE[BLACK if node.colour > 0 else -BLACK]
        yield f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}' fill='{fill}' stroke='{ring}' stroke-width='4'/>"
        yield text(x, y + 4, node.label, 12 if radius > 13 else 10, ink)
        foot = y + radius + 15
        yield text(x, foot, f"{node.visits:,}", 10.5, INK, _HALO)
        yield text(x, foot + 12, format_hundredths(node.value), 10.5, ring, f" font-weight='bold'{_HALO}")
    else:
        yield f"<rect x='{x - 54:.1f}' y='{y - 16:.1f}' width='108' height='32' rx='8' fill='{GRID}'/>"
        yield text(x, y + 4.5, node.label, 12, INK)
    for child in node.children:
        yield from _stones(child, places, most)
