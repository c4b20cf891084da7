"""Games of a report: one board and a list of games, shown one move at a time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hexlit.hex.notation import format_cell
from hexlit.hex.record import GameRecord
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board_svg import ON_STONE, RADIUS, STONE, centre, empty_board, extent, opening_tag
from hexlit.reporting.game import result_of

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_GAMES = 400
"""Most games in one page."""


@dataclass(frozen=True)
class StepGame:
    """A game for the viewer, in plain values."""

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
    """Games on boards of one size."""

    template: ClassVar[str] = "games.html.jinja"
    size: int
    games: Sequence[StepGame]

    @property
    def board(self) -> "Markup":
        """The empty board, which the page's script fills with stones."""
        from markupsafe import Markup

        opening = opening_tag(*extent(self.size)).replace("<svg ", "<svg class='board' role='img' ", 1)
        lines = [opening, "<title>Board</title>", *empty_board(self.size), "<g class='stones'></g></svg>"]
        return Markup("\n".join(lines))

    @property
    def data(self) -> "Markup":
        """The games and the places of the cells for the script, as JSON; safe inside a script element."""
        from markupsafe import Markup

        content: dict[str, Any] = {
            "centres": [[round(place, 1) for place in centre(cell, self.size)] for cell in range(self.size**2)],
            "radius": round(RADIUS, 1),
            "stones": [STONE[1], STONE[-1]],
            "inks": [ON_STONE[1], ON_STONE[-1]],
            "games": [asdict(game) for game in self.games],
        }
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def step_game(record: GameRecord, title: str) -> StepGame:
    """The game of `record` under `title`, with its searches' values where it has them."""
    size = record.size
    names = ["swap" if move == size**2 else format_cell(move, size) for move in record.moves.tolist()]
    notes = {}
    for ply in range(1, len(names) + 1):
        if ply <= record.opening:
            notes[ply] = "drawn at random"
        elif ply <= len(record.values) and record.simulations[ply - 1] > 0:
            value, simulations = float(record.values[ply - 1]), int(record.simulations[ply - 1])
            notes[ply] = f"value {value:+.2f} for the player to move, {simulations} simulations"
    return StepGame(
        title=title,
        cells=stone_cells(record.moves.tolist(), size),
        names=names,
        swapped=record.swap and size**2 in record.moves[1:2],
        result=result_of(record),
        notes=notes,
    )
