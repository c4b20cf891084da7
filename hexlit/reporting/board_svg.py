"""Pictures as SVG: a Hex board with its stones and notes, a game with its moves numbered, and a
search tree.

A picture has its own background, so it reads alike on a light and on a dark page. The templates
`*.svg.jinja` draw it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from hexlit.hex.arrays import Int8Array
from hexlit.hex.board import GameBoard
from hexlit.hex.judging import judged_right
from hexlit.hex.notation import format_cell
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board import ShownGame, result_of
from hexlit.reporting.page import OpeningsBoard, PositionBoard, filled
from hexlit.reporting.quantities import format_hundredths

MARK = "#2e8b57"
"""Colour of a ring on a marked cell."""
SHARE, GOOD, BAD = "#d9541e", "#2c7fb8", "#c8552b"
"""Colours of a share, of a good value for the player to move, and of a bad one."""


@dataclass(frozen=True)
class CellNote:
    """Text, shade and ring of a cell, next to its stone."""

    text: str = ""
    """A few characters in the middle of an empty cell, or in the stone."""
    shade: str = ""
    """Colour on the cell, such as `#d9541e`, with its opacity as two more digits; empty: the colour
    of the board.
    """
    ring: str = ""
    """Colour of a ring that points the cell out, such as `MARK`; empty: none."""
    italic: bool = False


def board_svg(
    cells: Int8Array,
    size: int,
    *,
    notes: Mapping[int, CellNote] | None = None,
    last: int | None = None,
    title: str = "",
    caption: str = "",
    dark: bool = False,
) -> str:
    """The picture of a position, a complete SVG document.

    Args:
        cells: int8 `[size*size]`, +1 black, -1 white, 0 empty, row 0 at the top.
        size: side of the board.
        notes: by cell, see `CellNote`.
        last: cell of the last move, whose stone gets a ring.
        title: lines above the board; all but the first are small.
        caption: lines below it.
        dark: whether it has other colours on a dark screen; not for a notebook, whose page takes
            over its style.
    """
    look: dict[str, Any] = {
        "notes": notes or {},
        "last": last,
        "title": title,
        "caption": caption,
        "dark": dark,
    }
    return filled("board.svg", cells=cells.tolist(), size=size, **look)


def moves_svg(
    moves: Sequence[int], size: int, *, opening: int = 0, title: str = "", caption: str = ""
) -> str:
    """The position after `moves`, stones numbered, those of the `opening` in italics, a ring around
    the last.

    After a swap the number 1 stays on the cell of the first stone until another stone takes it.
    """
    cells = stone_cells(moves, size)
    notes = {}
    for ply, cell in enumerate(cells):
        notes[cell] = CellNote(str(ply + 1), italic=ply < opening)
    return board_svg(
        GameBoard(size, swap=True, moves=moves).cells,
        size,
        notes=notes,
        last=cells[-1] if cells else None,
        title=title,
        caption=caption,
    )


def game_svg(shown: ShownGame) -> str:
    """The picture of the game up to the shown move, a complete SVG document."""
    record, moves, size = shown.record, shown.moves, shown.record.size
    head = f"{record.black or 'Black'} – {record.white or 'White'}"
    head += "\n" + " · ".join([f"{size}×{size}", *shown.facts.values()])
    of = f" of {len(record.moves)}" if shown.ply < len(record.moves) else ""
    foot = f"{shown.ply}{of} moves · {result_of(record)}"
    if size * size in moves[1:2]:
        foot += "\nswap-pieces: " + " → ".join(
            format_cell(cell, size) for cell in stone_cells(moves, size)[:2]
        )
    return moves_svg(
        moves,
        size,
        opening=record.opening,
        title=head,
        caption=foot,
    )


def board_picture(
    board: OpeningsBoard | PositionBoard, *, dark: bool = False, titled: bool = False
) -> tuple[str, str]:
    """The title of a board in a report, and its SVG, in which it stands if `titled`; `dark` as of
    `board_svg`.
    """
    if isinstance(board, PositionBoard):
        cells = np.array(board.cells, np.int8)
        return board.title, board_svg(cells, isqrt(len(cells)), dark=dark)
    values = {
        cell: 0.75 * value if board.exact else value for cell, value in enumerate(board.values)
    }
    notes, title = value_notes(values), board.title
    if board.exact:
        notes = {
            cell: replace(note, text="W" if values[cell] > 0 else "L")
            for cell, note in notes.items()
        }
    if board.truth is not None:
        wrong = [
            cell
            for cell, value in enumerate(board.values)
            if not judged_right(value, board.truth[cell])
        ]
        notes |= {cell: replace(notes[cell], ring=MARK) for cell in wrong}
        title += f" ({len(board.values) - len(wrong)} of {len(board.values)} right)"
    empty = np.zeros(len(board.values), np.int8)
    return title, board_svg(
        empty, isqrt(len(board.values)), notes=notes, title=title * titled, dark=dark
    )


def share_notes(shares: npt.NDArray[np.floating], *, least: float = 0.01) -> dict[int, CellNote]:
    """Notes for shares of the cells such as a policy or visits, `[size*size]`: percents, darker for
    more.

    Cells below `least` stay unmarked.
    """
    most = max(float(np.max(shares)), 1e-9)
    return {
        cell: CellNote(f"{100 * share:.0f}", tint(SHARE, 0.15 + 0.85 * share / most))
        for cell, share in enumerate(shares.tolist())
        if share >= least
    }


def value_notes(values: Mapping[int, float]) -> dict[int, CellNote]:
    """Notes for values of moves in [-1, 1] as percents with sign: blue wins, red loses, darker when
    surer.
    """
    return {
        cell: CellNote(format_hundredths(value), tint(GOOD if value > 0 else BAD, abs(value)))
        for cell, value in values.items()
    }


def tint(colour: str, share: float) -> str:
    """A shade of a cell: `colour` with an opacity from 0 to 1."""
    return f"{colour}{round(255 * min(1.0, max(0.0, share))):02x}"


_ACROSS, _DOWN = 58.0, 96.0  # from leaf to leaf, and from level to level
_NARROWEST = 460.0


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
    spots: list[dict[str, Any]] = []
    leaves = _place(root, None, 0, spots)
    tree_width = _ACROSS * leaves
    text_width = 24 + max(8.5 * len(title), 6.8 * len(caption))
    width = max(80 + tree_width, _NARROWEST, text_width)
    return filled(
        "tree.svg",
        spots=spots,
        values=[format_hundredths(spot["node"].value) for spot in spots],
        width=width,
        height=max(spot["y"] for spot in spots) + 130,
        shift=(width - tree_width) / 2,
        title=title,
        caption=caption,
        good=GOOD,
        bad=BAD,
    )


def _place(
    node: DrawnNode, above: dict[str, Any] | None, first: int, spots: list[dict[str, Any]]
) -> int:
    """Set the places of `node` and all below it, leaves from the number `first` on; returns its
    number of leaves.
    """
    spot: dict[str, Any] = {
        "node": node,
        "above": above,
        "y": 10 if above is None else above["y"] + _DOWN,
    }
    spots.append(spot)
    leaves, below = 0, []
    for child in node.children:
        below.append(len(spots))
        leaves += _place(child, spot, first + leaves, spots)
    spot["x"] = (
        (spots[below[0]]["x"] + spots[below[-1]]["x"]) / 2 if below else (first + 0.5) * _ACROSS
    )
    return max(1, leaves)
