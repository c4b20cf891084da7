"""A sweep: its report, and the display of a running one. All of it comes from the content of `overall_results.json`."""

import shlex
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from hexlit.reporting.page import Block, Cell, Column, Facts, Figure, Figures, Notes, Page, Section, Table, cell, table
from hexlit.reporting.quantities import DASH, format_count, format_duration, shown
from hexlit.reporting.screen import Bar, Display, bars_table
from hexlit.reporting.text import table_for

FLAGS = {
    "nan": "a loss was NaN or infinite",
    "rising": "the training loss ended 5% above its lowest stretch",
    "overfitting": "the validation loss ended 5% above its lowest stretch while the training loss fell",
}
INTERRUPTED = "interrupted"
"""State of a trial that was killed with its sweep: it did not fail, and is repeated."""
_LIVE_ROWS = 5

Trial = Mapping[str, Any]


def sweep_page(
    document: Mapping[str, Any],
    figures: Sequence[Figure] = (),
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
    problems = Notes(document["problems"], "problem")
    command = Notes(next_lines(document), "command")
    lead = (Facts(headline_facts(document)), ranked, problems, Notes([best_line(document)]), command)
    sections = [Section("Leaderboard", [leaderboard(document, links or {}, together=together)])]
    if figures:
        sections.append(Section("Figures", [Figures(figures)]))
    failures = [entry for entry in document["failures"] if entry["state"] != INTERRUPTED]
    interrupted = [entry for entry in document["failures"] if entry["state"] == INTERRUPTED]
    sections.append(Section("Failures", [ended_badly("Trials that failed", failures)], detail=not failures))
    if interrupted:
        line = "Killed with the sweep, through no fault of their own; a resumed sweep repeats them."
        blocks: list[Block] = [Notes([line], "quiet"), ended_badly("Trials that were interrupted", interrupted)]
        sections.append(Section("Interrupted", blocks))
    flagged = any(trial["flags"] for trial in document["trials"])
    sections.append(Section("Sanity", [flags(document)], detail=not flagged))
    return Page(document["name"] or document["folder"], f"{document['folder']} · {made_by(document)}", sections, lead)


def next_lines(document: Mapping[str, Any]) -> list[str]:
    """The report of an ended sweep, and the command that trains its best trial in full."""
    folder, lines = Path(document["folder"]), []
    if document["best"] is not None and document["state"] != "running":
        if (folder / "report.html").exists():
            lines.append(f"Its report: {folder / 'report.html'}")
        if (folder / "best.yaml").exists():
            lines.append(f"To train it in full: {shlex.join(['hexlit', 'train', f'+best={folder}'])}")
    return lines


def made_by(document: Mapping[str, Any]) -> str:
    """The state of the sweep, its start, and its sampler and pruner."""
    parts = [document["state"]]
    if document["started"] is not None:
        parts.append(f"begun {datetime.fromtimestamp(document['started']):%Y-%m-%d %H:%M}")
    if document["kind"] == "sequential":
        return " · ".join([*parts, "a plain --multirun"])
    parts += [text for text in (document["sampler"], document["pruner"]) if text]
    return " · ".join(parts)


def leaderboard(document: Mapping[str, Any], links: Mapping[int, str], *, together: bool = False) -> Table:
    """All trials, the best first, with their figures and parameters."""
    figures, trials = shown_columns(document), document["trials"]
    names = [parameter["name"] for parameter in document["parameters"]]
    short = short_names(names)
    columns = [Column("rank", number=True, kept=True), Column("trial", number=True, kept=True), Column("state")]
    columns += [Column(one["heading"], number=True, rank=99 - (one["dropped"] or 99)) for one in figures]
    columns += [Column("parameters")] if together and names else [Column(name, number=True) for name in names]
    columns += [Column("flags")] if not together or any(trial["flags"] for trial in trials) else []
    columns += [] if together else [Column("folder", code=True)]
    rows = []
    for trial in trials:
        params, number = trial["params"], trial["number"]
        rank = "front" if number in document["ranking"]["pareto_front"] else shown(trial["rank"], "count")
        row = [Cell(rank, trial["rank"]), Cell(str(number), number, link=links.get(number))]
        row.append(Cell(trial["state"], state=trial["state"]))
        row += [cell(value_of(trial, one["path"]), one["unit"]) for one in figures]
        if together and names:
            row.append(Cell(" ".join(f"{short.get(name, name)}={value_text(params[name])}" for name in params)))
        else:
            row += [Cell(value_text(params[name]), params[name]) if name in params else Cell(DASH) for name in names]
        row += [Cell(", ".join(trial["flags"])), Cell(trial["folder"] or DASH)]
        rows.append(row[: len(columns)])
    best = next((place for place, trial in enumerate(trials) if trial["number"] == document["best"]), None)
    empty = "No trial has begun."
    more: dict[str, Any] = {"best": best, "search": len(rows) > 1, "rest": "leaderboard.csv", "empty": empty}
    return Table("Leaderboard", columns, rows, **more)


def ended_badly(caption: str, entries: Sequence[Mapping[str, Any]]) -> Table:
    """Trials and the reasons for their ends."""
    columns = [Column("trial", number=True, kept=True), Column("state"), Column("reason")]
    columns.append(Column("folder", code=True, rank=1))
    rows = [
        [str(entry["trial"]), Cell(entry["state"], state=entry["state"]), entry["reason"], entry["folder"] or DASH]
        for entry in entries
    ]
    return Table(caption, columns, rows, search=len(rows) > 10, rest="overall_results.json")


def flags(document: Mapping[str, Any]) -> Table:
    """The sanity flags with the trials that have them."""
    rows = []
    for flag, meaning in FLAGS.items():
        flagged = sorted(trial["number"] for trial in document["trials"] if flag in trial["flags"])
        rows.append([flag, meaning, ", ".join(map(str, flagged)) or "none"])
    return table("Sanity flags", ["flag", "meaning", "trials"], rows, names=3)


def headline_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of the first numbers: trials by state, time, and time saved."""
    counts, progress, pruning = document["counts"], document["progress"], document["pruning"]
    of = "" if progress["of"] is None else f" of {progress['of']}"
    facts = [("trials done", f"{progress['done']}{of}")]
    facts += [(state, format_count(count)) for state, count in counts.items() if count or state == "complete"]
    if document["seconds"] is not None:
        facts.append(("of wall time", format_duration(document["seconds"])))
    if counts["pruned"]:
        partly = f", {pruning['unknown_trials']} not known" if pruning["unknown_trials"] else ""
        facts.append((f"saved by pruning (estimate{partly})", format_duration(pruning["saved_seconds"])))
    if document["state"] == "running":
        facts.append(("left (estimate)", format_duration(progress["eta_seconds"])))
    return facts


def best_line(document: Mapping[str, Any]) -> str:
    """One line on the best trial, or on the Pareto front."""
    best = next((trial for trial in document["trials"] if trial["number"] == document["best"]), None)
    if best is None:
        return "no trial has succeeded yet" if document["state"] == "running" else "no trial has succeeded"
    params = ", ".join(f"{name}={value_text(value)}" for name, value in best["params"].items())
    names, front = [objective["name"] for objective in document["objectives"]], document["ranking"]["pareto_front"]
    what = f"Pareto front: {', '.join(map(str, front))}; best in {names[0]}" if front else "best"
    values = [f"{n} {shown(v)}" for n, v in zip(names, best["values"] or [], strict=False)]
    if document["ranking"]["by"] == "comparable":
        values.insert(0, f"{document['comparable']} {shown(best['comparable'])}")
    after = document["progress"]["best_after_seconds"]
    after = "" if after is None else f"after {format_duration(after)}"
    facts = " · ".join(text for text in (", ".join(values), params, after) if text)
    return f"{what}: trial {best['number']}" + (f" · {facts}" if facts else "")


def shown_columns(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The columns of the leaderboard (`heading`, `unit`, `path` of keys in a trial, place among the `dropped`).

    Those that no trial has are left out; objectives are always there.
    """
    known = {tuple(one["path"]) for one in document["columns"] for t in document["trials"] if _has(t, one["path"])}
    return [one for one in document["columns"] if one["dropped"] is None or tuple(one["path"]) in known]


def _has(trial: Trial, path: Sequence[str | int]) -> bool:
    return value_of(trial, path) is not None


def value_of(trial: Any, path: Sequence[str | int]) -> Any:
    """The value at the `path` of keys in a trial; None if there is none."""
    for key in path:
        if trial is None or (isinstance(trial, Mapping) and key not in trial):
            return None
        trial = trial[key]
    return trial


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Each name without its section, such as `lr` for `optimizer.lr`, unless another name ends in the same way."""
    ends = [name.rpartition(".")[2] for name in names]
    return {name: end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)}


def value_text(value: object) -> str:
    """A parameter's value with few digits."""
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())


class SweepDisplay(Display):
    """Shows a running sweep: a live picture on a terminal, elsewhere a line whenever a count has changed.

    with SweepDisplay("hexlit report · runs/hex5/...") as display:
        display.update(document)
    """

    def __init__(self, title: str, *, console: Console | None = None, live: bool | None = None) -> None:
        """`live` None decides by the console."""
        super().__init__(console, live=live)
        self._title = title
        self._document: Mapping[str, Any] | None = None
        self._told: tuple[object, ...] = ()

    def update(self, document: Mapping[str, Any], news: Sequence[str] = ()) -> None:
        """Show the present results, and the `news`."""
        self._document = document
        progress = document["progress"]
        changed = (document["state"], tuple(document["counts"].values()), progress["best"], progress["best_value"])
        if self.live or (changed == self._told and not news):
            return
        self._told = changed
        line = " · ".join([progress_line(document), *news])
        self.line(f"{time.strftime('%H:%M:%S')}  {line}")

    def render(self) -> RenderableType:
        """The picture of this instant."""
        document, width = self._document, self.console.width - 4
        if document is None:
            return self.framed(self._title, Text("reading", "dim"))
        progress = document["progress"]
        share = progress["of"] and min(1.0, progress["done"] / progress["of"])
        bars = bars_table([Bar("trials", share, f"{progress['done']}", [progress_line(document)])], width)
        parts: list[RenderableType] = [bars, Text(best_line(document))]
        ended = [trial for trial in document["trials"] if trial["state"] != "running"]
        running = [trial for trial in document["trials"] if trial["state"] == "running"]
        if running:
            parts += [Text(), table_for(running_table(running), width)]
        if ended:
            board = leaderboard({**document, "trials": ended}, {}, together=True)
            parts += [Text(), table_for(board, width, _LIVE_ROWS)]
        return self.framed(self._title, *parts, *(Text(problem, "red") for problem in document["problems"]))


def progress_line(document: Mapping[str, Any]) -> str:
    """`7 of 20 done (5 complete, 2 pruned), 2 running, 12:30 left, best 0.8123 (trial 4)`."""
    progress, counts = document["progress"], document["counts"]
    of = "" if progress["of"] is None else f" of {progress['of']}"
    kinds = [f"{counts[state]} {state}" for state in ("complete", "pruned", "failed") if counts[state]]
    parts = [f"{progress['done']}{of} done" + (f" ({', '.join(kinds)})" if kinds else "")]
    parts += [f"{counts[state]} {state}" for state in ("running", "interrupted") if counts[state]]
    if progress["eta_seconds"]:
        parts.append(f"{format_duration(progress['eta_seconds'])} left")
    if progress["best"] is not None:
        parts.append(f"best {shown(progress['best_value'])} (trial {progress['best']})")
    return ", ".join(parts)


def running_table(running: Sequence[Trial]) -> Table:
    """The running trials: their epochs, their time, the latest value, and their parameters."""
    rows = []
    for trial in running:
        epochs = f"{trial['epochs'] or 0}" + ("" if trial["max_epochs"] is None else f"/{trial['max_epochs']}")
        params = " ".join(f"{name}={value_text(value)}" for name, value in trial["params"].items())
        name = Cell(f"trial {trial['number']}", state="running")
        rows.append([name, epochs, format_duration(trial["seconds"]), shown(trial["latest"]), params])
    return table("", ["running", "epoch", "time", "latest", Column("parameters")], rows)
