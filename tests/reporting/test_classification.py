"""The display of a text classifier."""

from typing import Any

from hexlit.reporting.classification import (
    draw_confusion,
    error_table,
    report_sections,
    score_tables,
)
from hexlit.reporting.figures import draw
from tests.reporting.documents import shown_end

SCORES = {"accuracy": 0.9, "macro_f1": 0.8, "log_loss": 0.3, "ece": 0.05, "brier": 0.2}
TEST: dict[str, Any] = {
    "texts": 10,
    "model": SCORES,
    "baseline": SCORES | {"accuracy": 0.95, "strength": 10.0},
    "classes": [{"name": "a", "precision": 1.0, "recall": 0.5, "f1": 2 / 3, "support": 4}],
    "confusion": {"classes": ["a", "b"], "counts": [[2, 2], [0, 6]]},
    "errors": [{"text": "One [bold] text", "truth": "a", "predicted": "b", "confidence": 0.97}],
}
DATA: dict[str, Any] = {
    "texts": {"train": 1000, "validation": 20, "test": 10},
    "dropped": {"blank": 1, "duplicate": 3, "conflicting": 2},
    "cut": {"train": 7, "validation": 0, "test": 0},
    "latin1": 1,
    "max_length": 32,
}


def test_the_figure_has_the_count_of_every_cell_that_is_not_empty() -> None:
    content = draw(draw_confusion, TEST["confusion"]).decode()
    assert content.startswith("<?xml")
    assert [content.count(f">{count}<") for count in (2, 6)] == [2, 1]
    assert ">0<" not in content


def test_the_network_stands_beside_the_baseline() -> None:
    scores, by_class, confusion = score_tables(TEST)
    assert scores.rows == [
        ["network", "0.9000", "0.8000", "0.3000", "0.0500", "0.2000"],
        ["TF-IDF + logistic regression", "0.9500", "0.8000", "0.3000", "0.0500", "0.2000"],
    ]
    assert by_class.rows == [["a", "1.000", "0.500", "0.667", "4"]]
    assert confusion.rows == [["a", "2", "2"], ["b", "0", "6"]]
    assert error_table(TEST).rows == [["b", "97.0%", "a", "One [bold] text"]]


def test_a_summary_without_a_look_at_the_test_set_says_nothing_of_it() -> None:
    padding = {"tokens": 600, "fixed_tokens": 1000, "saved": 0.4}
    summary = {
        "data": DATA,
        "padding": padding,
        "val": {"accuracy": 0.9},
        "best": {"epoch": None},
        "wall_seconds": 1.0,
    }
    for test, is_there in (({}, False), ({"test": TEST}, True)):
        said = shown_end({**summary, **test}, report_sections, 200)
        assert ("TF-IDF" in said) is is_there
        assert "Validation" in said
        assert "0.9000" in said
