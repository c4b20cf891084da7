"""The files that a sweep's results are written to."""

import csv
import io
import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from omegaconf import OmegaConf
from optuna.distributions import IntDistribution

from hexlit.tuning.result_files import write_results
from hexlit.tuning.results import SweepResults, as_document, leaderboard, read_results
from tests.tuning.sweeps import (
    Made,
    comparable,
    complete,
    failed,
    losses,
    make_sweep,
    mark_alive,
    pruned,
    running,
)

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


def test_the_results_are_what_the_schema_says(sweep: Path) -> None:
    results = write_results(sweep, figures=False)
    document = read(sweep / "overall_results.json")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    assert document == as_document(results)
    assert (document["best"], document["ranking"]["order"], document["ranking"]["unranked"]) == (
        2,
        [2, 0],
        [4],
    )
    assert document["counts"] == {
        "complete": 3,
        "pruned": 1,
        "failed": 1,
        "running": 0,
        "interrupted": 0,
    }
    assert [trial["rank"] for trial in document["trials"]] == [1, 2, None, None, None]
    reason = "out of memory: asked for <b>2 GiB</b>"
    assert document["failures"] == [
        {"trial": 1, "state": "failed", "reason": reason, "folder": "trial-001"}
    ]
    trials = {trial["number"]: trial for trial in document["trials"]}
    assert (trials[1]["losses"]["policy_loss"], trials[1]["flags"]) == (None, ["nan"]), (
        "NaN and infinities are null"
    )
    assert (trials[3]["latest"], trials[4]["values"]) == (None, [None])


def test_results_are_written_while_the_sweep_goes_on(tmp_path: Path) -> None:
    trials = [running(intermediate={0: 0.2}), complete(0.5), running()]
    folder = make_sweep(tmp_path / "s", trials, n_trials=9, finished=None)
    mark_alive(folder)
    write_results(folder, figures=True)
    document = read(folder / "overall_results.json")
    assert (document["state"], document["finished"]) == ("running", None)
    assert (
        document["progress"]["done"],
        document["progress"]["of"],
        document["progress"]["running"],
    ) == (1, 9, 2)
    assert document["progress"]["eta_seconds"] > 0
    assert (folder / "report.html").is_file()


def rows_of(results: SweepResults) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(leaderboard(results))))


def test_the_successes_come_first_with_their_ranks(sweep: Path) -> None:
    rows = rows_of(read_results(sweep))
    assert [(row["rank"], row["trial"], row["state"]) for row in rows] == [
        ("1", "2", "complete"),
        ("2", "0", "complete"),
        ("", "4", "complete"),
        ("", "3", "pruned"),
        ("", "1", "failed"),
    ]
    assert list(rows[0]) == [
        *(
            "rank",
            "trial",
            "state",
            "strength.score",
            "comparable",
            "loss",
            "policy_loss",
            "value_loss",
        ),
        *(
            "latest",
            "epochs",
            "seconds",
            "host_peak_bytes",
            "device_peak_bytes",
            "flags",
            "failure",
            "folder",
        ),
        "optimizer.lr",
    ]
    assert (rows[0]["strength.score"], rows[0]["optimizer.lr"]) == ("0.9", "0.003")
    assert float(rows[0]["comparable"]) == pytest.approx(comparable(0.9, 0.3))
    assert (rows[0]["policy_loss"], rows[0]["value_loss"]) == ("0.9", "0.3")
    assert (rows[4]["flags"], rows[4]["failure"]) == (
        "nan",
        "out of memory: asked for <b>2 GiB</b>",
    )


def test_the_spread_over_seeds_stands_next_to_the_mean(tmp_path: Path) -> None:
    by_seed = [[0.2, 3.0], [0.4, 3.0], [0.9, 6.0]]
    trials = [
        Made(values=[0.5, 4.0], attrs={"seed_values": by_seed}),
        pruned(attrs={"seed_values": by_seed[:2]}),
    ]
    objectives = {"strength.score": "maximize", "cost.seconds": "minimize"}
    several = write_results(make_sweep(tmp_path / "s", trials, objectives, seeds=3), figures=False)
    mean, cut = rows_of(several)
    assert float(mean["strength.score sd"]) == pytest.approx(math.sqrt(0.13))
    assert float(mean["cost.seconds sd"]) == pytest.approx(math.sqrt(3))
    assert (cut["strength.score sd"], cut["cost.seconds sd"]) == ("", "")
    jsonschema.validate(read(tmp_path / "s" / "overall_results.json"), SCHEMA)


FIXED = [
    *(
        "experiment=hex7",
        "+sweep=lr",
        "sweep.n_trials=20",
        "sweep@_global_=lr",
        "hydra/sweeper=optuna",
    ),
    *(
        "hydra.sweeper.n_jobs=2",
        "trainer.max_epochs=6",
        "++trainer.max_time=00:01:00",
        "optimizer.lr=0.5",
    ),
    *("accelerator.threads=2", "~logger"),
]


def written(folder: Path) -> dict[str, Any]:
    write_results(folder, figures=False)
    found = OmegaConf.to_container(OmegaConf.load(folder / "best.yaml"))
    assert isinstance(found, dict)
    return {str(key): value for key, value in found.items()}


def test_the_best_trial_is_written_with_what_trains_like_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    attrs = {
        "overrides": [
            "experiment=hex7",
            "trainer.max_epochs=6",
            "optimizer.lr=1e-3",
            "accelerator.threads=1",
        ]
    }
    trials = [complete(0.3), complete(0.8, params={"optimizer.lr": 0.001}, attrs=attrs)]
    folder = make_sweep(Path("runs/hex7/s"), trials, overrides=FIXED)
    assert written(folder) == {
        "trial": 1,
        "value": 0.8,
        "objective": "strength.score",
        "params": {"optimizer.lr": 0.001},
        "overrides": ["experiment=hex7", "accelerator.threads=2", "~logger", "optimizer.lr=1e-3"],
        "left_out": ["trainer.max_epochs=6", "++trainer.max_time=00:01:00"],
    }
    assert (folder / "best.yaml").read_text().splitlines()[0] == "# hexlit train +best=runs/hex7/s"


def test_a_budget_that_was_sampled_is_kept(tmp_path: Path) -> None:
    epochs = IntDistribution(1, 50)
    made = complete(
        0.3, params={"trainer.max_epochs": 7}, distributions={"trainer.max_epochs": epochs}
    )
    found = written(make_sweep(tmp_path / "s", [made], overrides=["trainer.max_epochs=3"]))
    assert (found["overrides"], found["left_out"]) == (["trainer.max_epochs=7"], [])
