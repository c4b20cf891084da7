"""The content of a trial's `metrics.csv`."""

import math
from pathlib import Path

import pytest

from hexlit.tuning.trials import Curves, final_values, read_curves, sanity_flags
from tests.tuning.sweeps import write_metrics


def curves(**columns: list[float]) -> Curves:
    return {name.replace("__", "."): dict(enumerate(v)) for name, v in columns.items()}


def test_a_value_that_was_not_logged_is_left_out_and_nan_is_kept(tmp_path: Path) -> None:
    path = write_metrics(
        tmp_path, {"strength.score": [0.1, None, 0.3, None], "train.loss": [1, "nan", "inf", 2]}
    )
    found = read_curves(path)
    assert found["strength.score"] == {0: 0.1, 2: 0.3}
    assert math.isnan(found["train.loss"][1])
    assert final_values(found) == {"strength.score": 0.3, "train.loss": 2.0}
    assert final_values(found, 1) == {"strength.score": None, "train.loss": None}


@pytest.mark.parametrize("torn", ["2,20,0.5", "2,2", "2", "2,20,0."])
def test_a_torn_last_line_is_left_out(torn: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(f"epoch,step,train.loss\n0,0,3.0\n1,10,2.0\n{torn}")
    assert read_curves(path) == {"train.loss": {0: 3.0, 1: 2.0}}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {
                "train__loss": [3.0, 2.0, 1.5, 1.2, 1.0, 0.9],
            },
            set(),
        ),
        (
            {
                "train__loss": [3.0, math.nan, 1.5, 1.2],
            },
            {"nan"},
        ),
        ({"train__policy_loss": [3.0, 2.0, math.inf]}, {"nan"}),
        (
            {
                "train__loss": [3.0, 2.0, 1.0, 1.0, 1.5, 1.6],
            },
            {"rising"},
        ),
        (
            {
                "train__loss": [1.0, 1.01, 1.02, 1.0, 1.03, 1.02],
            },
            set(),
        ),  # it wavers
        (
            {
                "train__loss": [1.0, 2.0, 3.0],
            },
            set(),
        ),  # too short to say
        (
            {
                "train__loss": [3.0, 2.0, 1.0, 0.9, 0.8, 0.7],
                "val__loss": [3.0, 2.0, 2.0, 2.2, 2.4, 2.6],
            },
            {"overfitting"},
        ),
        (
            {
                "train__loss": [3.0, 2.0, 2.0, 2.2, 2.4, 2.6],
                "val__loss": [3.0, 2.0, 2.0, 2.2, 2.4, 2.6],
            },
            {"rising"},
        ),
        (
            {
                "train__loss": [3.0, 2.0, 1.0, 0.9],
                "val__loss": [3.0, 2.0, 1.5, 1.4],
            },
            set(),
        ),
    ],
)
def test_what_looks_wrong_gets_a_flag(columns: dict[str, list[float]], expected: set[str]) -> None:
    assert sanity_flags(curves(**columns)) == expected
