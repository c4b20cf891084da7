"""Networks that come along with the package, by name: `hexlit:small` and `hexlit:large`.

This module imports no torch: commands ask it for names before anything is loaded.
"""

import json
from functools import cache
from importlib import resources
from pathlib import Path

from hexlit.arena.player_spec import PACKAGED
from hexlit.errors import UsageError
from hexlit.training.checkpoint_files import checkpoint_file

FOLDER = Path(str(resources.files("hexlit.tasks.hex"))) / "networks"
"""Holds one file in safetensors for each name."""

LARGEST_BOARD = {"small": 7, "large": 13}
"""Networks that players take without being asked -> rows of the largest board that each is meant
for, ascending.
"""

FIRST_STONES = FOLDER / "first_stones.json"
"""The searched values of first stones: name of the network -> rows -> the values for Black, in
hundredths, row by row. `examples/first_stones.py` makes it.
"""


def is_packaged(where: str | Path) -> bool:
    """Whether `where` is written as the name of a packaged network."""
    return str(where).startswith(PACKAGED)


def packaged_networks() -> dict[str, Path]:
    """Full name, such as `hexlit:small` -> file, of each network that the package holds."""
    return {f"{PACKAGED}{file.stem}": file for file in sorted(FOLDER.glob("*.safetensors"))}


def packaged_file(name: str, key: str = "checkpoint") -> Path:
    """The file of the packaged network `name`, such as `hexlit:small`.

    Messages call it by the setting `key`.

    Raises:
        UsageError: the package holds no such network.
    """
    files = packaged_networks()
    if name not in files:
        known = ", ".join(files) or "none"
        raise UsageError(f"{key}={name}: no such network comes along with hexlit; there is {known}")
    return files[name]


def network_file(where: str | Path, key: str = "checkpoint") -> Path:
    """The file of the network that `where` names; every setting with a network of Hex uses this
    function.

    Args:
        where: a checkpoint, a file in safetensors, the folder of a run (see `checkpoint_file`), or
            the name of a network in the package, such as `hexlit:small`.
        key: the setting, for messages.

    Raises:
        UsageError: there is no such file, a folder has no checkpoint, or a name is unknown.
    """
    return (
        packaged_file(str(where), key) if is_packaged(where) else checkpoint_file(Path(where), key)
    )


def packaged_by_board() -> list[str]:
    """Full names of the networks that players take unasked, those of small boards first."""
    names = [f"{PACKAGED}{one}" for one in LARGEST_BOARD]
    files = packaged_networks()
    return [name for name in names if name in files]


def fitting_network(size: int) -> str | None:
    """Full name of the packaged network for boards of `size` rows, None if the package holds none.

    The smallest network whose boards reach `size` fits; above all of them, the one with the largest
    boards.
    """
    there = packaged_by_board()
    return next(
        (name for name in there if size <= largest_board(name)), there[-1] if there else None
    )


def largest_board(name: str) -> int:
    """Rows of the largest board that the packaged network `name` was trained for."""
    return LARGEST_BOARD[name.removeprefix(PACKAGED)]


@cache
def known_first_stones(name: str) -> dict[int, list[float]]:
    """The searched values for Black of all first stones, as the network `name` found them: rows of
    a board -> the values, row by row. Empty for a network that does not come along.
    """
    boards = json.loads(FIRST_STONES.read_text(encoding="utf-8")).get(name, {})
    return {int(rows): [value / 100 for value in values] for rows, values in boards.items()}
