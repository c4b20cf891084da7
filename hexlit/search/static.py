"""Evaluations of a position without network or search, as the classic programs used.

The type of its working space chooses the evaluation, so that a search compiles only its own.
"""

from collections.abc import Callable
from typing import Any

from numba.extending import overload
from numpy.typing import NDArray

from hexlit.hex.distance import DistanceRoom, distance_order, distance_room, distance_value
from hexlit.hex.engine import Stones
from hexlit.hex.geometry import Geometry
from hexlit.hex.resistance import BRIDGE, ResistanceRoom, resistance_order, resistance_room, resistance_value

TWO_DISTANCE, RESISTANCE = range(2)
"""The evaluations."""

Judge = DistanceRoom | ResistanceRoom
"""The working space of an evaluation; its type names the evaluation."""


def new_judge(evaluation: int, size: int) -> Judge:
    """The `evaluation` for boards of `size`."""
    return distance_room(size * size) if evaluation == TWO_DISTANCE else resistance_room(size)


def static_value(stones: Stones, g: int, colour: int, judge: Any, table: Geometry) -> float:
    """Value of the undecided position `g` for `colour`, above 0 if better than for the opponent.

    For kernels alone, as `static_order` is.
    """
    raise NotImplementedError


def static_order(stones: Stones, g: int, judge: Any, table: Geometry, scores: NDArray[Any]) -> None:
    """Score every empty cell as a move of either player, float64 `[size*size]`: the best first."""
    raise NotImplementedError


@overload(static_value, inline="always", strict=False)  # type: ignore[untyped-decorator]
def _value(stones: Any, g: Any, colour: Any, judge: Any, table: Any) -> Callable[..., Any]:
    if judge.instance_class is DistanceRoom:
        return lambda stones, g, colour, judge, table: distance_value(stones, g, colour, judge, table)
    return lambda stones, g, colour, judge, table: resistance_value(stones, g, colour, BRIDGE, judge, table)


@overload(static_order, inline="always", strict=False)  # type: ignore[untyped-decorator]
def _order(stones: Any, g: Any, judge: Any, table: Any, scores: Any) -> Callable[..., Any]:
    if judge.instance_class is DistanceRoom:
        return lambda stones, g, judge, table, scores: distance_order(stones, g, judge, table, scores)
    return lambda stones, g, judge, table, scores: resistance_order(stones, g, BRIDGE, judge, table, scores)
