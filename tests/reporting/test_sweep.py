"""A sweep for people, made from the content of `overall_results.json`."""

import io
import re
from typing import Any
from xml.etree import ElementTree

from rich.console import Console

from hexlit.reporting.figures import draw
from hexlit.reporting.html import render
from hexlit.reporting.page import Figure
from hexlit.reporting.study_figures import draw_history, draw_lines, draw_slices
from hexlit.reporting.sweep import SweepDisplay, sweep_page
from tests.reporting.documents import NASTY, checked, shown

COLUMNS: list[tuple[str, str | None, list[str | int], int | None]] = [
    ("strength.score", None, ["values", 0], None),
    ("comparable", None, ["comparable"], 5),
    ("policy", None, ["losses", "policy_loss"], 3),
    ("value", None, ["losses", "value_loss"], 3),
    ("epochs", "epochs", ["epochs"], 4),
    ("time", "seconds", ["seconds"], 6),
    ("memory", "bytes", ["host_peak_bytes"], 2),
    ("device memory", "bytes", ["device_peak_bytes"], 1),
]
"""Those of `columns` in `overall_results.json`."""


def trial(number: int, state: str = "complete", **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "number": number,
        "rank": None,
        "state": state,
        "folder": f"trial-{number:03d}",
    }
    found |= {
        "params": {"optimizer.lr": 0.01},
        "overrides": [],
        "values": None,
        "flags": [],
        "failure": None,
    }
    found |= dict.fromkeys(("loss", "comparable", "latest", "epochs", "max_epochs", "seconds"))
    found |= {"losses": {}}
    found |= {"started": None, "ended": None, "host_peak_bytes": None, "device_peak_bytes": None}
    return found | {"attempts": 1, "retry_of": None} | changes


def document(*trials: dict[str, Any], **changes: Any) -> dict[str, Any]:
    states = ("complete", "pruned", "failed", "running", "interrupted")
    counts = {state: sum(entry["state"] == state for entry in trials) for state in states}
    order = [entry["number"] for entry in trials if entry["rank"]]
    best = order[0] if order else None
    found: dict[str, Any] = {"version": 2, "name": "hex5", "folder": "runs/hex5/s", "kind": "tuned"}
    found |= {"sampler": "TPESampler", "pruner": "MedianPruner", "n_jobs": 2, "seeds": 1}
    found |= {"state": "finished", "started": 0.0, "finished": 600.0, "seconds": 600.0}
    found |= {
        "objectives": [{"name": "strength.score", "direction": "maximize"}],
        "counts": counts,
        "progress": {
            "done": counts["complete"] + counts["pruned"] + counts["failed"],
            "of": 8,
            "best": best,
        }
        | {
            "running": counts["running"],
            "eta_seconds": 90.0,
            "best_value": 0.75,
            "best_after_seconds": None,
        },
        "pruning": {"saved_seconds": 125.0, "estimated_trials": 1, "unknown_trials": 0},
        "ranking": {
            "by": "objective",
            "reason": "by strength.score, maximized",
            "direction": "maximize",
        }
        | {"order": order, "pareto_front": [], "unranked": []},
        "best": best,
        "split": "train",
        "comparable": "train.comparable_loss",
        "columns": [
            {"heading": heading, "unit": unit, "path": path, "dropped": dropped}
            for heading, unit, path, dropped in COLUMNS
        ],
        "parameters": [
            {
                "name": "optimizer.lr",
                "kind": "float",
                "log": True,
                "low": 0,
                "high": 1,
                "choices": [],
            }
        ],
        "trials": list(trials),
        "failures": [
            {
                "trial": entry["number"],
                "state": entry["state"],
                "reason": entry["failure"],
                "folder": entry["folder"],
            }
            for entry in trials
            if entry["state"] in ("failed", "interrupted")
        ],
        "problems": [],
    }
    return found | changes


USUAL = (
    trial(3, rank=1, values=[0.75], seconds=65.0),
    trial(0, rank=2, values=[0.25], flags=["rising"]),
    trial(1, "pruned", epochs=4),
    trial(2, "failed", failure="killed by SIGKILL", flags=["nan"]),
    trial(5, "running", epochs=3, max_epochs=20, latest=0.5, seconds=10.0),
)


def printed(found: dict[str, Any], rows: int = 20, width: int = 120) -> str:
    return shown(sweep_page(found, together=True), width, rows=rows)


def test_the_leaderboard_has_the_best_first_and_says_what_ranks() -> None:
    shown = printed(document(*USUAL))
    assert "Ranked by strength.score, maximized." in shown
    rows = [line.split() for line in shown.splitlines() if re.match(r" +[\d–]+ +\d ", line)]
    assert [row[:4] for row in rows[:3]] == [
        ["1", "3", "complete", "0.7500"],
        ["2", "0", "complete", "0.2500"],
        ["–", "1", "pruned", "–"],
    ]
    assert "best: trial 3 · strength.score 0.7500 · optimizer.lr=0.01" in shown


def test_a_narrow_terminal_goes_without_the_less_telling_columns() -> None:
    figures: dict[str, Any] = {"comparable": 0.6, "host_peak_bytes": 2**30, "epochs": 20}
    figures["losses"] = {"policy_loss": 1.5, "value_loss": 0.5}
    found = document(trial(0, rank=1, values=[0.75], seconds=65.0, **figures))

    def headings(width: int) -> list[str]:
        return next(
            line for line in printed(found, width=width).splitlines() if "rank " in line
        ).split()

    wide = ["comparable", "policy", "value", "epochs", "time", "memory", "parameters"]
    assert headings(140) == ["rank", "trial", "state", "strength.score", *wide]
    assert headings(80) == [
        "rank",
        "trial",
        "state",
        "strength.score",
        "comparable",
        "epochs",
        "time",
        "parameters",
    ]
    assert "0.7500" in printed(found, width=80)
    assert "…" not in printed(found, width=80)


def test_text_that_looks_like_markup_is_printed_as_it_is() -> None:
    found = document(trial(0, rank=1, values=[0.1], params={"optimizer.lr": "[red]x[/red] [/]"}))
    assert "[red]x[/red] [/]" in printed(found, width=200)


def test_without_a_terminal_a_line_comes_only_when_something_has_changed() -> None:
    file = io.StringIO()
    with SweepDisplay("s", console=Console(file=file)) as display:
        found = document(*USUAL, state="running")
        display.update(found)
        display.update({**found, "progress": {**found["progress"], "eta_seconds": 80.0}})
        display.update(document(*USUAL, trial(6, "pruned"), state="running"))
    lines = file.getvalue().splitlines()
    assert len(lines) == 2
    for part in (
        "4 of 8 done",
        "2 complete, 1 pruned, 1 failed",
        "1 running",
        "1:30 left",
        "0.7500 (trial 3)",
    ):
        assert part in lines[0]
    assert "\x1b" not in file.getvalue()


def test_a_sweep_tells_the_end_of_a_trial_in_one_line() -> None:
    """The study knows of it a moment before the sweep does."""
    file = io.StringIO()
    with SweepDisplay("s", console=Console(file=file)) as display:
        display.update(document(*USUAL, state="running"), [])
        done = document(*USUAL, trial(6, "pruned"), state="running")
        display.update(done, [])
        display.update(done, ["trial 6: pruned after 2 epochs"])
        display.update(done, [])
    lines = file.getvalue().splitlines()
    assert [line.endswith("trial 6: pruned after 2 epochs") for line in lines] == [False, True]


def test_everything_on_the_page_is_escaped() -> None:
    entries = (
        trial(0, rank=1, values=[0.5], params={NASTY: NASTY}, folder=NASTY),
        trial(1, "failed", failure=NASTY, folder=NASTY),
    )
    parameters = [
        {
            "name": NASTY,
            "kind": "categorical",
            "log": False,
            "low": None,
            "high": None,
            "choices": [NASTY],
        }
    ]
    found = document(
        *entries, name=NASTY, folder=NASTY, sampler=NASTY, problems=[NASTY], parameters=parameters
    )
    found["objectives"] = [{"name": NASTY, "direction": "maximize"}]
    found["columns"][0]["heading"] = NASTY
    found["ranking"]["reason"] = NASTY
    page = checked(render(sweep_page(found, [Figure(NASTY, NASTY, b"<svg/>")])))
    assert page.text.count(NASTY) >= 10


def test_the_page_tells_counts_the_leaderboard_failures_and_flags() -> None:
    page = checked(render(sweep_page(document(*USUAL), [], {3: "trial-003/report.html"})))
    for expected in (
        "4 of 8",
        "2:05",
        "saved by pruning (estimate)",
        "0.7500",
        "killed by SIGKILL",
        "trial-002",
    ):
        assert expected in page.text
    assert page.values("class").count("best") == 1
    assert re.search(r"nan\s+a loss was NaN or infinite\s+2", page.text)
    assert "trial-003/report.html" in page.values("href")
    assert "No trial has begun." in checked(render(sweep_page(document(), []))).text


def test_an_interrupted_trial_is_no_failure() -> None:
    entries = (
        trial(0, rank=1, values=[0.5]),
        trial(1, "interrupted", failure="interrupted with the sweep"),
    )
    found = document(*entries)
    page = checked(render(sweep_page(found, [])))
    assert "Interrupted: killed with the sweep, through no fault of their own" in page.text
    text = printed(found, width=140)
    assert re.search(
        r"1\s+interrupted\s+interrupted with the sweep",
        text.partition("Trials that failed or were")[2],
    )
    only_failed = document(trial(0, rank=1, values=[0.5]), trial(1, "failed", failure="no memory"))
    assert "no fault of their own" not in printed(only_failed, width=140)


def texts(svg: bytes) -> list[str]:
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(entry.itertext()).strip() for entry in found]


def test_a_name_with_markup_or_a_formula_is_drawn_as_text() -> None:
    target = {
        "name": "$\\frac$</text><script>",
        "direction": "minimize",
        "values": {0: 1.0, 1: 2.0},
    }
    states = {0: "complete", 1: "complete"}
    data = {"targets": [target], "states": states, "pruned": {}, "pruned_target": None, "best": 0}
    svg = draw(draw_history, data)
    assert "$\\frac$</text><script> (minimized)" in texts(svg)
    assert b"<script" not in svg


def test_a_parameter_searched_on_a_log_scale_has_a_log_axis() -> None:
    target = {"name": "score", "direction": "maximize", "values": {0: 0.4, 1: 0.5}}
    axis = {
        "name": "lr",
        "kind": "float",
        "low": 1e-5,
        "high": 1e-1,
        "choices": [],
        "values": {0: 1e-4, 1: 1e-2},
    }

    def ticks(log: bool) -> list[str]:
        return texts(
            draw(
                draw_slices, {"targets": [target], "parameters": [{**axis, "log": log}], "best": 1}
            )
        )

    assert {"0.001", "0.01"} <= set(ticks(log=True))
    assert "0.001" not in ticks(log=False)


def test_the_best_trial_is_named_in_the_legend() -> None:
    course = {"epochs": [0, 1, 2], "values": [3.0, 2.0, float("nan")]}
    lines = [{"trial": n, "state": "complete" if n else "pruned", **course} for n in range(3)]
    shown = texts(
        draw(
            draw_lines,
            {"panels": [{"name": "loss", "lines": lines, "may_be_log": True}], "best": 2},
        )
    )
    assert {"pruned", "complete", "best: trial 2", "epoch", "loss"} <= set(shown)
