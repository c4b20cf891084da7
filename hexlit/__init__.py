"""hexlit: an open framework for research on the board game Hex.

    import hexlit

    run = hexlit.train("board=4", "trainer.max_epochs=10")
    run.metrics                      # a data frame
    run.search(hexlit.Board(4))      # a picture in a notebook

Names are imported on first use, so that `import hexlit` takes no time.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; at run time `__getattr__` below imports them
    from hexlit.api.boards import Board, Solver, side_by_side
    from hexlit.api.machine import doctor, measure, profiles
    from hexlit.api.records import games, load, match
    from hexlit.api.runs import data, sweep, train
    from hexlit.api.searches import Search
    from hexlit.api.training import datamodule, module, positions
    from hexlit.errors import UsageError

__all__ = [
    "Board",
    "Search",
    "Solver",
    "UsageError",
    "data",
    "datamodule",
    "doctor",
    "games",
    "load",
    "match",
    "measure",
]
__all__ += ["module", "positions", "profiles", "side_by_side", "sweep", "train"]

__version__ = "0.3.0"

# OpenMP's threads spin for a while after each piece of work, in the hope of the next. torch and
# Numba each have such threads, so on a machine with all cores in use they spin against each other
# and stall by a factor of ten and more. It is read when OpenMP is loaded, hence before torch; the
# user's own setting wins.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

_HOMES = {
    "hexlit.api.boards": ("Board", "Solver", "side_by_side"),
    "hexlit.api.machine": ("doctor", "measure", "profiles"),
    "hexlit.api.records": ("games", "load", "match"),
    "hexlit.api.runs": ("data", "sweep", "train"),
    "hexlit.api.searches": ("Search",),
    "hexlit.api.training": ("datamodule", "module", "positions"),
    "hexlit.errors": ("UsageError",),
}
"""Module -> its public names."""


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(
            f"module 'hexlit' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
