"""A sweep: its report, and the display of a running one. All of it comes from the content of
`overall_results.json`.
"""

import shlex
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from hexlit.reporting import page as pages
from hexlit.reporting.page import (
    Cell,
    Column,
    Facts,
    Figures,
    Notes,
    Page,
    Section,
    Table,
    cell,
    entries,
    table,
)
from hexlit.reporting.quantities import DASH, format_duration, shown
from hexlit.reporting.screen import Bar, LiveDisplay, bars_table
from hexlit.reporting.text import table_for

FLAGS = {
    "nan": "a loss was NaN or infinite",
    "rising": "the training loss ended 5% above its lowest stretch",
    "overfitting": "the validation loss ended 5% above its lowest stretch while the training loss fell",
}
_LIVE_ROWS = 5

Trial = Mapping[str, Any]


def sweep_page(
    document: Mapping[str, Any],
    figures: Sequence[pages.Figure] = (),
    links: Mapping[int, str] | None = None,
    *,
    together: bool = False,
) -> Page:
    """The whole report.

    Args:
        document: the content of `overall_results.json`.
        figures: of the sweep.
        links: paths from the page to the reports of trials, by number.
        together: whether all parameters of a trial share a column, as a terminal needs it.
    """
    ranked = Notes([f"Ranked {document['ranking']['reason']}."], "quiet")
    command = Notes(next_lines(document), "command")
    lead = (
        Facts(headline_facts(document)),
        ranked,
        Notes([best_line(document)]),
        command,
    )
    sections = [Section("Leaderboard", [leaderboard(document, links or {}, together=together)])]
    sections += [Section("Figures", [Figures(figures)])] if figures else []
    line = "Interrupted: killed with the sweep, through no fault of their own; a resumed sweep repeats them."
    blocks: list[pages.Block] = [
        failures(document),
        Notes([line] * bool(document["counts"]["interrupted"]), "quiet"),
    ]
    sections.append(Section("Failures and interruptions", blocks, detail=not document["failures"]))
    rows = []
    for flag, meaning in FLAGS.items():
        numbers = sorted(one["number"] for one in document["trials"] if flag in one["flags"])
        rows.append([flag, meaning, ", ".join(map(str, numbers)) or "none"])
    flags = table("Sanity flags", ["flag", "meaning", "trials"], rows, names=3)
    flagged = any(one["flags"] for one in document["trials"])
    sections.append(Section("Sanity", [flags], detail=not flagged))
    return Page(
        document["name"] or document["folder"],
        f"{document['folder']} · {made_by(document)}",
        sections,
        lead,
    )


def next_lines(document: Mapping[str, Any]) -> list[str]:
    """The report of an ended sweep, and the command that trains its best trial in full."""
    if document["best"] is None or document["state"] == "running":
        return []
    folder = Path(document["folder"])
    lines = []
    report = folder / "report.html"
    if report.exists():
        lines.append(f"Its report: {report}")
    if (folder / "best.yaml").exists():
        lines.append(f"To train it in full: {best_command(document)}")
    return lines


def best_command(document: Mapping[str, Any]) -> str:
    """The shell command that trains the best trial in full, or runs it again with another
    program.
    """
    program = document["program"]
    if program.startswith("hexlit train"):
        return shlex.join(["hexlit", "train", f"+best={document['folder']}"])
    best = document["trials"][0]  # by rank
    return f"{program} {shlex.join(best['overrides'])}"


def made_by(document: Mapping[str, Any]) -> str:
    """The state of the sweep, its start, and its sampler and pruner."""
    started = document["started"]
    begun = "" if started is None else f"begun {datetime.fromtimestamp(started):%Y-%m-%d %H:%M}"
    parts = [document["state"], begun, document["sampler"], document["pruner"]]
    return " · ".join(filter(None, parts))


def leaderboard(
    document: Mapping[str, Any], links: Mapping[int, str], *, together: bool = False
) -> Table:
    """All trials, the best first, with their figures and parameters."""
    figures, trials = shown_columns(document), document["trials"]
    names = [parameter["name"] for parameter in document["parameters"]]
    short, flagged = short_names(names), any(trial["flags"] for trial in trials)
    columns = [
        Column("rank", number=True, kept=True),
        Column("trial", number=True, kept=True),
        Column("state"),
    ]
    columns += [
        Column(one["heading"], number=True, rank=99 - (one["dropped"] or 99)) for one in figures
    ]
    columns += (
        [Column("parameters")]
        if together and names
        else [Column(name, number=True) for name in names]
    )
    if flagged or not together:
        columns.append(Column("flags"))
    if not together:
        columns.append(Column("folder", code=True))
    rows = []
    for trial in trials:
        params, number = trial["params"], trial["number"]
        rank = (
            "front"
            if number in document["ranking"]["pareto_front"]
            else shown(trial["rank"], "count")
        )
        row = [Cell(rank, trial["rank"]), Cell(str(number), number, link=links.get(number))]
        row.append(Cell(trial["state"], state=trial["state"]))
        row += [cell(value_of(trial, one["path"]), one["unit"]) for one in figures]
        if together and names:
            row.append(
                Cell(
                    " ".join(
                        f"{short.get(name, name)}={value_text(params[name])}" for name in params
                    )
                )
            )
        else:
            row += [
                Cell(value_text(params[name]), params[name]) if name in params else Cell(DASH)
                for name in names
            ]
        row += [Cell(", ".join(trial["flags"])), Cell(trial["folder"] or DASH)]
        rows.append(row[: len(columns)])
    best = next(
        (place for place, trial in enumerate(trials) if trial["number"] == document["best"]), None
    )
    rest, empty = "leaderboard.csv", "No trial has begun."
    return Table(
        "Leaderboard", columns, rows, best=best, search=len(rows) > 1, rest=rest, empty=empty
    )


def failures(document: Mapping[str, Any]) -> Table:
    """Trials that failed or were interrupted, and the reasons."""
    columns = ["trial", Column("state"), Column("reason"), Column("folder", code=True, rank=1)]
    rows = [
        [
            str(entry["trial"]),
            Cell(entry["state"], state=entry["state"]),
            entry["reason"],
            entry["folder"] or DASH,
        ]
        for entry in document["failures"]
    ]
    caption, rest = "Trials that failed or were interrupted", "overall_results.json"
    return table(caption, columns, rows, names=0, search=len(rows) > 10, rest=rest)


def headline_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of the first numbers: trials by state, time, and time saved."""
    counts, progress, pruning = document["counts"], document["progress"], document["pruning"]
    of = "" if progress["of"] is None else f" of {progress['of']}"
    partly = f", {pruning['unknown_trials']} not known" if pruning["unknown_trials"] else ""
    facts = entries(
        *(
            (state, count if count or state == "complete" else None, "count")
            for state, count in counts.items()
        ),
        ("wall time", document["seconds"], "seconds"),
        (
            f"saved by pruning (estimate{partly})",
            pruning["saved_seconds"] if counts["pruned"] else None,
            "seconds",
        ),
        (
            "left (estimate)",
            progress["eta_seconds"] if document["state"] == "running" else None,
            "seconds",
        ),
    )
    return [("trials done", f"{progress['done']}{of}"), *facts]


def best_line(document: Mapping[str, Any]) -> str:
    """One line on the best trial, or on the Pareto front."""
    best = next(
        (trial for trial in document["trials"] if trial["number"] == document["best"]), None
    )
    if best is None:
        return (
            "no trial has succeeded yet"
            if document["state"] == "running"
            else "no trial has succeeded"
        )
    params = ", ".join(f"{name}={value_text(value)}" for name, value in best["params"].items())
    names, front = (
        [objective["name"] for objective in document["objectives"]],
        document["ranking"]["pareto_front"],
    )
    what = f"Pareto front: {', '.join(map(str, front))}; best in {names[0]}" if front else "best"
    values = [f"{n} {shown(v)}" for n, v in zip(names, best["values"] or [], strict=False)]
    if document["ranking"]["by"] == "comparable":
        values.insert(0, f"{document['comparable']} {shown(best['comparable'])}")
    seconds = document["progress"]["best_after_seconds"]
    after = "" if seconds is None else f"after {format_duration(seconds)}"
    return " · ".join(
        filter(None, [f"{what}: trial {best['number']}", ", ".join(values), params, after])
    )


def shown_columns(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The columns of the leaderboard (`heading`, `unit`, `path` of keys in a trial, place among the
    `dropped`).

    Those that no trial has are left out; objectives are always there.
    """
    kept = []
    for one in document["columns"]:
        values = [value_of(trial, one["path"]) for trial in document["trials"]]
        if one["dropped"] is None or any(value is not None for value in values):
            kept.append(one)
    return kept


def value_of(trial: Any, path: Sequence[str | int]) -> Any:
    """The value at the `path` of keys in a trial; None if there is none."""
    try:
        return reduce(getitem, path, trial)
    except (KeyError, IndexError, TypeError):
        return None


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Each name without its section, such as `lr` for `optimizer.lr`, unless another name ends in
    the same way.
    """
    ends = [name.rpartition(".")[2] for name in names]
    return {
        name: end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)
    }


def value_text(value: object) -> str:
    """A parameter's value with few digits."""
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())


class SweepDisplay(LiveDisplay):
    """Shows a running sweep: a live picture on a terminal, otherwise a line whenever a count has
    changed.

    with SweepDisplay("hexlit report · runs/hex5/...") as display:
        display.update(document)
    """

    def __init__(
        self, title: str, *, console: Console | None = None, live: bool | None = None
    ) -> None:
        """`live` None decides by the console."""
        super().__init__(console, live=live)
        self._title = title
        self._document: Mapping[str, Any] = {}
        self._told: tuple[object, ...] = ()

    def update(self, document: Mapping[str, Any], news: Sequence[str] | None = None) -> None:
        """Show the present results, and the `news`: lines on trials that have ended.

        Without a terminal a line comes with news, and at the beginning; if nobody collects news,
        with every change.
        """
        self._document, progress = document, document["progress"]
        changed = (
            document["state"],
            tuple(document["counts"].values()),
            progress["best"],
            progress["best_value"],
        )
        due = changed != self._told if news is None else bool(news) or not self._told
        if not self.live and due:
            self._told = changed
            self.line(
                f"{time.strftime('%H:%M:%S')}  {' · '.join([progress_line(document), *(news or ())])}"
            )

    def render(self) -> RenderableType:
        """The picture of this instant."""
        document, width = self._document, self.console.width - 4
        if not document:
            return self.framed(self._title, Text("reading", "dim"))
        progress = document["progress"]
        share = progress["of"] and min(1.0, progress["done"] / progress["of"])
        bar = Bar("trials", share, f"{progress['done']}", [progress_line(document)])
        parts: list[RenderableType] = [bars_table([bar], width), Text(best_line(document))]
        running = [trial for trial in document["trials"] if trial["state"] == "running"]
        if running:
            parts += [Text(), table_for(running_table(running), width)]
        ended = [trial for trial in document["trials"] if trial["state"] != "running"]
        if ended:
            ranking = leaderboard({**document, "trials": ended}, {}, together=True)
            parts += [Text(), table_for(ranking, width, _LIVE_ROWS)]
        return self.framed(self._title, *parts)


def progress_line(document: Mapping[str, Any]) -> str:
    """`7 of 20 done (5 complete, 2 pruned), 2 running, 12:30 left, best 0.8123 (trial 4)`."""
    progress, counts = document["progress"], document["counts"]
    of = "" if progress["of"] is None else f" of {progress['of']}"
    kinds = ", ".join(
        f"{counts[state]} {state}" for state in ("complete", "pruned", "failed") if counts[state]
    )
    parts = [f"{progress['done']}{of} done" + (f" ({kinds})" if kinds else "")]
    parts += [f"{counts[state]} {state}" for state in ("running", "interrupted") if counts[state]]
    parts += [f"{format_duration(progress['eta_seconds'])} left"] if progress["eta_seconds"] else []
    best = f"best {shown(progress['best_value'])} (trial {progress['best']})"
    if progress["best"] is not None:
        parts.append(best)
    return ", ".join(parts)


def running_table(running: Sequence[Trial]) -> Table:
    """The running trials: their epochs, their time, the latest value, and their parameters."""
    rows = []
    for trial in running:
        epochs = f"{trial['epochs'] or 0}" + (
            "" if trial["max_epochs"] is None else f"/{trial['max_epochs']}"
        )
        params = " ".join(f"{name}={value_text(value)}" for name, value in trial["params"].items())
        name = Cell(f"trial {trial['number']}", state="running")
        rows.append(
            [name, epochs, format_duration(trial["seconds"]), shown(trial["latest"]), params]
        )
    return table("", ["running", "epoch", "time", "latest", Column("parameters")], rows)
