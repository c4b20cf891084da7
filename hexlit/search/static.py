"""Evaluations that need no network and no search: what the classic programs judged a position by."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.distance import DistanceRoom, distance_order, distance_room, distance_value
from hexlit.hex.engine import Stones
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import kernel
from hexlit.hex.resistance import BRIDGE, ResistanceRoom, resistance_order, resistance_room, resistance_value

TWO_DISTANCE, RESISTANCE = range(2)
"""The evaluations."""


class Judge(NamedTuple):
    """An evaluation with the space it works in."""

    evaluation: int
    """TWO_DISTANCE or RESISTANCE."""
    distance: DistanceRoom
    resistance: ResistanceRoom


@kernel
def new_judge(evaluation: int, size: int) -> Judge:
    """The `evaluation` for boards of `size`."""
    return Judge(evaluation, distance_room(size * size), resistance_room(size))


@kernel
def static_value(stones: Stones, g: int, colour: int, judge: Judge, table: Geometry) -> float:
    """How good the undecided position `g` is for `colour`, above 0 when better than for the opponent."""
    if judge.evaluation == TWO_DISTANCE:
        return distance_value(stones, g, colour, judge.distance, table)
    return resistance_value(stones, g, colour, BRIDGE, judge.resistance, table)


@kernel
def static_order(stones: Stones, g: int, judge: Judge, table: Geometry, scores: NDArray[np.float64]) -> None:
    """Score every empty cell as a move of either player, float64 `[size*size]`: the best first."""
    if judge.evaluation == TWO_DISTANCE:
        distance_order(stones, g, judge.distance, table, scores)
    else:
        resistance_order(stones, g, BRIDGE, judge.resistance, table, scores)
