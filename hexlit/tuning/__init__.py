"""Sweeps: a sweeper for Hydra that runs trials as processes, prunes them and survives.

Any program with `@hydra.main` that returns a number has it with `import hexlit.tuning.plugin` and
`hydra/sweeper=optuna`; see docs/tuning.md. The names here are for such programs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # at run time `__getattr__` imports them: Optuna and Lightning take seconds
    from optuna import TrialPruned

    from hexlit.tuning.job import report
    from hexlit.tuning.pruning import PruningCallback

__all__ = ["PruningCallback", "TrialPruned", "report"]

_HOMES = {
    "PruningCallback": "hexlit.tuning.pruning",
    "TrialPruned": "optuna",
    "report": "hexlit.tuning.job",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
