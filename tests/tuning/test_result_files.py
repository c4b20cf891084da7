"""The files that a sweep's results are written to."""

import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hexlit.tuning.result_files import as_document, write_results
from tests.tuning.sweeps import complete, failed, losses, make_job, make_sweep, mark_alive, pruned, running

SCHEMA = json.loads(files("hexlit.tuning").joinpath("overall_results.schema.json").read_text())


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    attrs = {"failure": "out of memory: asked for <b>2 GiB</b>"}
    trials = [
        complete(0.4, metrics=losses([2.0, 1.0], [0.5, 0.4])),
        failed(attrs=attrs, metrics=losses([2.0, math.nan], [0.5, 0.4])),
        complete(0.9, params={"optimizer.lr": 0.003}, metrics=losses([2.0, 0.9], [0.5, 0.3])),
        pruned(intermediate={0: 0.1, 1: math.nan}),
        complete(math.inf),
    ]
    return make_sweep(tmp_path / "runs" / "hex5" / "s", trials)


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(), parse_constant=pytest.fail)
    return found


@pytest.mark.row("D12")
def test_the_results_are_what_the_schema_says(sweep: Path) -> None:
    results = write_results(sweep, figures=False)
    document = read(sweep / "overall_results.json")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    assert document == as_document(results)
    assert (document["best"], document["ranking"]["order"], document["ranking"]["unranked"]) == (2, [2, 0], [4])
    assert document["counts"] == {"complete": 3, "pruned": 1, "failed": 1, "running": 0, "interrupted": 0}
    assert [trial["rank"] for trial in document["trials"]] == [1, 2, None, None, None]
    reason = "out of memory: asked for <b>2 GiB</b>"
    assert document["failures"] == [{"trial": 1, "state": "failed", "reason": reason, "folder": "trial-001"}]
    trials = {trial["number"]: trial for trial in document["trials"]}
    assert (trials[1]["losses"]["policy_loss"], trials[1]["flags"]) == (None, ["nan"]), "NaN and infinities are null"
    assert (trials[3]["latest"], trials[4]["values"]) == (None, [None])


@pytest.mark.row("D13")
def test_results_are_written_while_the_sweep_goes_on(tmp_path: Path) -> None:
    trials = [running(intermediate={0: 0.2}), complete(0.5), running()]
    folder = make_sweep(tmp_path / "s", trials, n_trials=9, finished=None)
    mark_alive(folder)
    write_results(folder, figures=True)
    document = read(folder / "overall_results.json")
    assert (document["state"], document["finished"]) == ("running", None)
    assert (document["progress"]["done"], document["progress"]["of"], document["progress"]["running"]) == (1, 9, 2)
    assert document["progress"]["eta_seconds"] > 0
    assert (folder / "report.html").is_file()


def test_a_plain_multirun_has_the_same_files(tmp_path: Path) -> None:
    for number in range(2):
        make_job(tmp_path / "s", number, [f"seed={number}"], strength__score=[0.1, 0.5 + number])
    write_results(tmp_path / "s", figures=True)
    document = read(tmp_path / "s" / "overall_results.json")
    jsonschema.validate(document, SCHEMA)
    assert (document["kind"], document["best"]) == ("sequential", 1)
    names = {path.name for path in (tmp_path / "s").iterdir() if path.is_file()}
    assert names == {"overall_results.json", "leaderboard.csv", "best.yaml", "report.html"}


def test_a_best_trial_older_than_the_sweep_came_with_the_study_it_joined(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", [complete(0.5)], started=4e9)
    write_results(folder, figures=False)
    document = read(folder / "overall_results.json")
    assert (document["best"], document["progress"]["best_after_seconds"]) == (0, None)
