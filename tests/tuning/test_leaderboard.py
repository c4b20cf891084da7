"""The leaderboard of a sweep, as CSV and as the columns that people are shown."""

import csv
import io
import math
from pathlib import Path

import pytest

from hexlit.tuning.result_files import leaderboard, shown_columns
from hexlit.tuning.results import SweepResults, read_results
from tests.tuning.sweeps import Made, comparable, complete, failed, losses, make_sweep, pruned


@pytest.fixture
def results(tmp_path: Path) -> SweepResults:
    trials = [
        complete(0.4, metrics=losses([2.0, 1.0], [0.5, 0.4])),
        failed(attrs={"failure": "out of memory"}, metrics=losses([2.0, math.nan], [0.5, 0.4])),
        complete(0.9, params={"optimizer.lr": 0.003}, metrics=losses([2.0, 0.9], [0.5, 0.3])),
        pruned(intermediate={0: 0.1, 1: math.nan}),
        complete(math.inf),
    ]
    return read_results(make_sweep(tmp_path / "s", trials))


def rows_of(results: SweepResults) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(leaderboard(results))))


def test_the_successes_come_first_with_their_ranks(results: SweepResults) -> None:
    rows = rows_of(results)
    assert [(row["rank"], row["trial"], row["state"]) for row in rows] == [
        ("1", "2", "complete"),
        ("2", "0", "complete"),
        ("", "4", "complete"),
        ("", "3", "pruned"),
        ("", "1", "failed"),
    ]
    assert (rows[0]["strength.score"], rows[0]["optimizer.lr"]) == ("0.9", "0.003")
    assert float(rows[0]["comparable"]) == pytest.approx(comparable(0.9, 0.3))
    assert (rows[0]["policy_loss"], rows[0]["value_loss"]) == ("0.9", "0.3")
    assert (rows[4]["flags"], rows[4]["failure"]) == ("nan", "out of memory")


def test_the_columns_are_those_of_the_fields_in_their_order(results: SweepResults) -> None:
    assert list(rows_of(results)[0]) == [
        *("rank", "trial", "state", "strength.score", "comparable", "loss", "policy_loss", "value_loss"),
        *("epochs", "seconds", "host_peak_bytes", "device_peak_bytes", "flags", "failure", "folder", "optimizer.lr"),
    ]


def test_the_pareto_front_is_named(tmp_path: Path) -> None:
    trials = [Made(values=(0.9, 9.0)), Made(values=(0.4, 10.0)), Made(values=(0.5, 1.0))]
    ways = {"strength.score": "maximize", "seconds": "minimize"}
    folder = make_sweep(tmp_path / "s", trials, ways)
    lines = leaderboard(read_results(folder)).splitlines()
    assert [line.split(",")[0] for line in lines] == ["rank", "front", "front", ""]
    assert [line.split(",")[3:5] for line in lines[1:3]] == [["0.9", "9.0"], ["0.5", "1.0"]]


def test_people_are_shown_objectives_losses_and_costs_with_the_way_to_each(results: SweepResults) -> None:
    columns = shown_columns(results)
    assert [column["heading"] for column in columns] == [
        *("strength.score", "comparable", "policy", "value", "epochs", "time", "memory", "device memory")
    ]
    assert columns[0] == {"heading": "strength.score", "unit": None, "path": ["values", 0], "dropped": None}
    assert columns[2] == {"heading": "policy", "unit": None, "path": ["losses", "policy_loss"], "dropped": 3}
    assert [column["unit"] for column in columns[4:]] == ["epochs", "seconds", "bytes", "bytes"]
