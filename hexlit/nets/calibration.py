"""Calibration of the value: predicted chances of winning against exact results."""

from dataclasses import dataclass

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, FloatArray

SMALLEST_CHANCE = 1e-4
"""Clips chances in the log loss to [this, 1 minus this], so that one wrong certainty costs 9.2."""


@dataclass(frozen=True)
class Bin:
    """The positions with a predicted chance in [low, high); the last bin includes its end."""

    low: float
    high: float
    count: int
    predicted: float | None
    """Mean chance predicted; None for an empty bin."""
    won: float | None
    """Share of them that are won."""


@dataclass(frozen=True)
class Calibration:
    """Chances (value + 1) / 2 of the side to move against exact results 0 and 1."""

    count: int
    won: float
    """Share of the positions that are won: the best constant prediction."""
    brier: float
    """Mean squared error (Brier 1950): 0 is perfect, "half" gets 0.25, the best constant won * (1 -
    won).
    """
    log_loss: float
    """Mean of -log(predicted chance of the true result), in nats."""
    calibration_error: float
    """Mean distance between the prediction and the share won of a bin, by positions (Naeini et al.
    2015).
    """
    sign_accuracy: float
    """Share of the positions with the better chance on the winner's side; half counts as lost."""
    bins: list[Bin]


def calibrate(values: FloatArray, won: BoolArray, *, bins: int = 10) -> Calibration:
    """Compare `values` `[B]` in [-1, 1] for the side to move with whether it has `won` with best
    play, `[B]`.

    Raises:
        UsageError: no positions, or not as many results as values.
    """
    if len(values) == 0 or values.shape != won.shape:
        raise UsageError(
            f"{len(values)} values and {len(won)} results: one result per value is needed, 1 or more"
        )
    chance = np.clip((values.astype(np.float64) + 1) / 2, 0, 1)
    result = won.astype(np.float64)
    place = np.minimum((chance * bins).astype(int), bins - 1)
    found, distance = [], 0.0
    for number in range(bins):
        inside = place == number
        count = int(inside.sum())
        predicted, share = (
            (float(chance[inside].mean()), float(result[inside].mean())) if count else (None, None)
        )
        found.append(Bin(number / bins, (number + 1) / bins, count, predicted, share))
        distance += abs(float((chance - result)[inside].sum()))
    of_truth = np.clip(np.where(won, chance, 1 - chance), SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
    return Calibration(
        count=len(values),
        won=float(result.mean()),
        brier=float(((chance - result) ** 2).mean()),
        log_loss=float(-np.log(of_truth).mean()),
        calibration_error=distance / len(values),
        sign_accuracy=float(((values > 0) == won).mean()),
        bins=found,
    )
