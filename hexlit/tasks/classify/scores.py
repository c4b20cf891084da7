"""The quality of class probabilities: accuracy, F1, calibration, and the most surprising errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Probabilities = NDArray[np.floating[Any]]
Counts = NDArray[np.int64]
BINS = 15
"""Bins of equal width for the calibration error, as in Guo et al. 2017."""


@dataclass(frozen=True)
class Scores:
    """Scores over N texts."""

    accuracy: float
    macro_f1: float
    """Unweighted mean of the classes' F1."""
    log_loss: float
    """Mean of minus the logarithm of the true class's probability."""
    ece: float
    """Expected calibration error: the mean distance of confidence and accuracy, 0 at best."""
    brier: float
    """Mean squared distance from the true class, summed over classes: 0 at best, 2 at worst."""


@dataclass(frozen=True)
class ClassRow:
    """Figures of one class; 0 for a share of nothing."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    """Texts of this class."""


def scores_of(probabilities: Probabilities, truth: Counts) -> Scores:
    """The scores of `probabilities` `[N, C]`; `truth` `[N]` are the indices of the true classes."""
    chosen = probabilities.argmax(1)
    own = probabilities[np.arange(len(truth)), truth]
    confusion = confusion_of(truth, chosen, probabilities.shape[1])
    right = np.eye(probabilities.shape[1])[truth]
    return Scores(
        accuracy=float((chosen == truth).mean()),
        macro_f1=float(np.mean([row.f1 for row in class_rows(confusion)])),
        log_loss=float(-np.log(np.maximum(own, 1e-12)).mean()),
        ece=calibration_error(probabilities.max(1), chosen == truth),
        brier=float(((probabilities - right) ** 2).sum(1).mean()),
    )


def confusion_of(truth: Counts, chosen: Counts, classes: int) -> Counts:
    """Texts by true class (rows) and chosen class (columns), `[C, C]`."""
    return np.bincount(truth * classes + chosen, minlength=classes**2).reshape(classes, classes)


def class_rows(confusion: Counts, names: list[str] | None = None) -> list[ClassRow]:
    """Precision, recall and F1 of every class of a confusion matrix."""
    right, truth, chosen = confusion.diagonal(), confusion.sum(1), confusion.sum(0)
    return [
        ClassRow(
            name=str(label) if names is None else names[label],
            precision=float(right[label] / max(1, chosen[label])),
            recall=float(right[label] / max(1, truth[label])),
            f1=float(2 * right[label] / max(1, truth[label] + chosen[label])),
            support=int(truth[label]),
        )
        for label in range(len(confusion))
    ]


def calibration_error(confidence: Probabilities, right: NDArray[np.bool_], bins: int = BINS) -> float:
    """Mean distance over texts of a bin's confidence and accuracy; `confidence` and `right` are `[N]`."""
    numbers = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(numbers, confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(confidence))


def surprises(probabilities: Probabilities, truth: Counts, most: int) -> list[int]:
    """The numbers of at most `most` misclassified texts, the most confident first."""
    wrong = np.flatnonzero(probabilities.argmax(1) != truth)
    order = np.argsort(-probabilities[wrong].max(1), kind="stable")
    return [int(row) for row in wrong[order][:most]]
