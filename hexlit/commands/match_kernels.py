"""The kernels of a match, by the kinds of its players."""

from collections.abc import Iterable

from hexlit.arena.player_spec import PlayerSpec
from hexlit.commands.kernels import SETS

SETS_OF: dict[str, tuple[str, ...]] = {
    "checkpoint": ("search", "roots"),
    "policy": (),
    "random": (),
    "rollouts": ("rollouts",),
    "two_distance": ("two_distance",),
    "solver": ("solver", "solver_parts", "two_distance"),
    "htp": (),
}
"""Kind of a player -> its sets of kernels."""


def sets_of(specs: Iterable[PlayerSpec]) -> list[str]:
    """The players' sets, the longest first, so that parallel processes end together."""
    needed = {name for spec in specs for name in SETS_OF[spec.kind]}
    return sorted(needed, key=lambda name: (-SETS[name].seconds, name))
