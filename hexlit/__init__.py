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
    from hexlit.api.boards import Board as Board
    from hexlit.api.boards import Solver as Solver
    from hexlit.api.boards import side_by_side as side_by_side
    from hexlit.api.loading import load as load
    from hexlit.api.machine import doctor as doctor
    from hexlit.api.machine import measure as measure
    from hexlit.api.machine import profiles as profiles
    from hexlit.api.matches import match as match
    from hexlit.api.records import games as games
    from hexlit.api.runs import data as data
    from hexlit.api.runs import train as train
    from hexlit.api.searching import Search as Search
    from hexlit.api.sweeps import sweep as sweep
    from hexlit.errors import UsageError as UsageError

__version__ = "0.2.0"

# OpenMP's threads spin for a while after each piece of work, in the hope of the next. torch and Numba each have such
# threads, so on a machine with all cores in use they spin against each other and stall by a factor of ten and
# more. It is read when OpenMP is loaded, hence before torch; the user's own setting wins.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

_HOMES = {
    "Board": "hexlit.api.boards",
    "Search": "hexlit.api.searching",
    "Solver": "hexlit.api.boards",
    "UsageError": "hexlit.errors",
    "data": "hexlit.api.runs",
    "doctor": "hexlit.api.machine",
    "games": "hexlit.api.records",
    "load": "hexlit.api.loading",
    "match": "hexlit.api.matches",
    "measure": "hexlit.api.machine",
    "profiles": "hexlit.api.machine",
    "side_by_side": "hexlit.api.boards",
    "sweep": "hexlit.api.sweeps",
    "train": "hexlit.api.runs",
}
"""Name -> its module."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hexlit' has no attribute {name!r}; it has {', '.join(_HOMES)}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
