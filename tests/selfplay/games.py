"""Games for the tests of what is done with recorded games."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hexlit.hex.notation import parse_moves
from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.sources import GameReader

SAMPLES = Path(__file__).parents[1] / "samples"

_FOLDERS = [
    os.environ.get("HEXLIT_GAMES"),
    str(Path(__file__).parents[2].parent / "shared" / "data"),
]
DATA = next((Path(folder) for folder in _FOLDERS if folder and Path(folder).is_dir()), None)
"""Real games, where they are at hand."""


# On a board of 10x10 in Wolve's words: a game that Black connects down column e, and the same
# turned by 180 degrees.
_CELLS = [f"{column}{row}" for row in range(1, 11) for column in "ea"][:-1]
_TURNED = [f"{column}{row}" for row in range(10, 0, -1) for column in "fj"][:-1]


def wolve_line(cells: Sequence[str], winner: str = "B") -> str:
    """A line of Wolve's text."""
    return ",".join([*(f"{'bw'[ply % 2]} {cell}" for ply, cell in enumerate(cells)), winner]) + "\n"


GAME = wolve_line(_CELLS)
TURNED = wolve_line(_TURNED)
OTHER = wolve_line([*_CELLS[:-2], "b9", "e10"])
UNFINISHED = wolve_line(_CELLS[:6])


def record(moves: str, size: int = 3, **fields: object) -> GameRecord:
    """An unfinished game of `moves`."""
    standard: dict[str, object] = {
        "game_id": 1,
        "swap": False,
        "winner": 0,
        "ending": Ending.UNFINISHED,
    }
    cells = np.array(parse_moves(moves, size), np.int16)
    return GameRecord(**{**standard, **fields}, size=size, moves=cells)  # type: ignore[arg-type]


def read(*paths: Path) -> GameReader:
    """A reader of what is at `paths`."""
    return GameReader(paths)
