"""The table of measurements of `hexlit bench`: their names, and what measures each."""

from collections.abc import Callable

from hexlit.bench.forward import measure_forward
from hexlit.bench.loader import measure_loaders
from hexlit.bench.measure import Outcome, Subject
from hexlit.bench.play import (
    measure_actors,
    measure_games,
    measure_leaves,
    measure_pace,
    measure_search,
    measure_selfplay,
    measure_workers,
)
from hexlit.bench.solver_speed import measure_solver
from hexlit.bench.training import compare_devices, measure_batches, measure_train
from hexlit.bench.trials import measure_trials

MEASUREMENTS: dict[str, Callable[[Subject], Outcome]] = {
    "games": measure_games,
    "search": measure_search,
    "forward": measure_forward,
    "train": measure_train,
    "selfplay": measure_selfplay,
    "loader": measure_loaders,
    "workers": measure_workers,
    "leaves": measure_leaves,
    "batch": measure_batches,
    "compare": compare_devices,
    "solver": measure_solver,
    "trials": measure_trials,
    "pace": measure_pace,
    "actors": measure_actors,
}
"""Name, a value of `what`, -> its measurement; the unit stands in each line."""
