"""Scores beside those of scikit-learn, and small cases by hand."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss, precision_recall_fscore_support

from hexlit.tasks.classify.metrics import calibration_error, class_rows, confusion_of, scores_of, surprises

RANDOM = np.random.default_rng(0)
PROBABILITIES = RANDOM.dirichlet([0.5] * 4, 200)
TRUTH = RANDOM.choice(4, 200, p=[0.5, 0.3, 0.15, 0.05])


def test_scores_and_class_rows_are_those_of_scikit_learn() -> None:
    chosen = PROBABILITIES.argmax(1)
    found = scores_of(PROBABILITIES, TRUTH)
    assert found.accuracy == pytest.approx(accuracy_score(TRUTH, chosen))
    assert found.macro_f1 == pytest.approx(f1_score(TRUTH, chosen, average="macro"))
    assert found.log_loss == pytest.approx(log_loss(TRUTH, PROBABILITIES), rel=1e-6)
    confusion = confusion_of(TRUTH, chosen, 4)
    assert np.array_equal(confusion, confusion_matrix(TRUTH, chosen))
    expected = zip(*precision_recall_fscore_support(TRUTH, chosen), strict=True)
    for row, values in zip(class_rows(confusion), expected, strict=True):
        assert (row.precision, row.recall, row.f1, row.support) == pytest.approx(values)


def test_a_class_that_is_never_chosen_has_no_precision() -> None:
    rows = class_rows(np.array([[2, 0], [1, 0]]), ["a", "b"])
    assert (rows[1].name, rows[1].precision, rows[1].recall, rows[1].f1, rows[1].support) == ("b", 0.0, 0.0, 0.0, 1)


def test_calibration_by_hand() -> None:
    confidence = np.array([0.95, 0.95, 0.55, 0.55])
    right = np.array([True, True, True, False])
    assert calibration_error(confidence, right) == pytest.approx((2 * 0.05 + 2 * 0.05) / 4)
    assert calibration_error(np.array([1.0, 1.0]), np.array([True, True])) == 0
    assert calibration_error(np.array([1.0, 1.0]), np.array([False, False])) == 1


def test_brier_by_hand() -> None:
    found = scores_of(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), np.array([0, 0, 0]))
    assert found.brier == pytest.approx((0 + 0.5 + 2) / 3)


def test_the_most_confident_errors_come_first() -> None:
    found = surprises(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]), np.array([1, 1, 1, 0]), 2)
    assert found == [0, 3]
