"""The results of a sweep for people: a leaderboard, failures, and a display of a running sweep.

All of it comes from the content of `overall_results.json`.
"""

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hexlit.reporting.display import Display
from hexlit.reporting.quantities import DASH, format_bytes, format_count, format_duration, format_figure

STATE_STYLES = {
    "complete": "blue",
    "pruned": "yellow",
    "failed": "red",
    "running": "green",
    "interrupted": "bright_black",
}
FLAGS = {
    "nan": "a loss was NaN or infinite",
    "rising": "the training loss ended 5% above its lowest stretch",
    "overfitting": "the validation loss ended 5% above its lowest stretch while the training loss fell",
}
INTERRUPTED = "interrupted"
"""State of a trial that was killed with its sweep: it did not fail, and is repeated."""
_LIVE_ROWS = 5
_FIXED, _PARAMETERS, _FLAGS = 26, 24, 13  # characters of rank, trial and state, for the parameters, for the flags

Trial = Mapping[str, Any]


def print_results(document: Mapping[str, Any], console: Console, rows: int) -> None:
    """Print counts, the best `rows` trials, failures and flags."""
    console.print(Text(f"{document['name'] or document['folder']} · {document['state']}", "bold"), soft_wrap=True)
    facts = " · ".join(f"{value} {name}" for name, value in headline_facts(document))
    console.print(Text(facts), soft_wrap=True)
    console.print(Text(f"ranked {document['ranking']['reason']}", "dim"), soft_wrap=True)
    for problem in document["problems"]:
        console.print(Text(problem, "red"), soft_wrap=True)
    if document["trials"]:
        console.print()
        console.print(leaderboard_table(document, rows, console.width))
        if len(document["trials"]) > rows:
            console.print(Text(f"and {len(document['trials']) - rows} more in leaderboard.csv", "dim"))
        console.print()
    console.print(Text(best_line(document), "bold"), soft_wrap=True)
    if document["best"] is not None and document["state"] != "running":
        folder = Path(document["folder"])
        if (folder / "report.html").exists():
            console.print(Text(f"Its report: {folder / 'report.html'}"), soft_wrap=True)
        if (folder / "best.yaml").exists():
            command = shlex.join(["hexlit", "train", f"+best={folder}"])
            console.print(Text(f"To train it in full: {command}"), soft_wrap=True)
    interrupted = [entry for entry in document["failures"] if entry["state"] == INTERRUPTED]
    failures = [entry for entry in document["failures"] if entry["state"] != INTERRUPTED]
    for title, entries in (("Failures", failures), ("Interrupted, to be repeated", interrupted)):
        _print_ended_badly(console, title, entries, rows)
    flagged = {flag: result for flag in FLAGS if (result := flagged_trials(document, flag))}
    if flagged:
        console.print(Text("\nSanity", "bold"))
        for flag, result in flagged.items():
            console.print(Text(f"  {flag} ({FLAGS[flag]}): {', '.join(map(str, result))}"), soft_wrap=True)


def _print_ended_badly(console: Console, title: str, entries: Sequence[Mapping[str, Any]], rows: int) -> None:
    if not entries:
        return
    console.print(Text(f"\n{title}", "bold"))
    for entry in entries[:rows]:
        where = f" ({entry['folder']})" if entry["folder"] else ""
        state = (entry["state"], STATE_STYLES[entry["state"]])
        console.print(Text.assemble(f"  trial {entry['trial']} ", state, f": {entry['reason']}{where}"), soft_wrap=True)
    if len(entries) > rows:
        console.print(Text(f"  and {len(entries) - rows} more in overall_results.json", "dim"))


def flagged_trials(document: Mapping[str, Any], flag: str) -> list[int]:
    """Numbers of the trials with the sanity flag `flag`."""
    return sorted(trial["number"] for trial in document["trials"] if flag in trial["flags"])


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
    front = document["ranking"]["pareto_front"]
    what = "best"
    if front:
        what = f"Pareto front: {', '.join(map(str, front))}; best in {document['objectives'][0]['name']}"
    names = [objective["name"] for objective in document["objectives"]]
    values = [f"{n} {figure_text(v)}" for n, v in zip(names, best["values"] or [], strict=False)]
    if document["ranking"]["by"] == "comparable":
        values.insert(0, f"{document['comparable']} {figure_text(best['comparable'])}")
    after = document["progress"]["best_after_seconds"]
    after = "" if after is None else f"after {format_duration(after)}"
    facts = " · ".join(text for text in (", ".join(values), params, after) if text)
    return f"{what}: trial {best['number']}" + (f" · {facts}" if facts else "")


@dataclass(frozen=True)
class ShownColumn:
    """A column of the leaderboard."""

    heading: str
    unit: str | None
    path: tuple[str | int, ...]
    """Keys of its value in a trial."""
    dropped: int | None
    """Position in the order of columns that a narrow terminal drops; None: it keeps this one."""

    def value(self, trial: Trial) -> Any:
        """The value for `trial`; None if it has none."""
        result: Any = trial
        for key in self.path:
            if result is None or (isinstance(result, Mapping) and key not in result):
                return None
            result = result[key]
        return result

    def text(self, trial: Trial) -> str:
        """The value for `trial` as people read it."""
        return _FORMATS[self.unit](self.value(trial))


def shown_columns(document: Mapping[str, Any]) -> list[ShownColumn]:
    """The columns of the leaderboard, without those that no trial has; objectives are always there."""
    columns = [ShownColumn(c["heading"], c["unit"], tuple(c["path"]), c["dropped"]) for c in document["columns"]]
    trials = document["trials"]
    return [one for one in columns if one.dropped is None or any(one.value(trial) is not None for trial in trials)]


def leaderboard_table(document: Mapping[str, Any], rows: int, width: int) -> Table:
    """The first `rows` trials; parameters get columns of their own if they fit into `width`, else one together."""
    names = [parameter["name"] for parameter in document["parameters"]]
    trials = document["trials"][:rows]
    flagged = any(trial["flags"] for trial in trials)
    room = width - _FIXED - (_PARAMETERS if names else 0) - (_FLAGS if flagged else 0)
    columns = _fitting(shown_columns(document), room)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("trial", justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for one in columns:
        table.add_column(Text(one.heading), justify="right", no_wrap=True)
    used = _FIXED + sum(max(len(one.heading), 8) + 2 for one in columns)
    apart = bool(names) and used + sum(max(len(name), 8) + 2 for name in names) <= width
    for name in names if apart else []:
        table.add_column(Text(name), justify="right", no_wrap=True)
    short = short_names(names)
    if names and not apart:
        table.add_column("parameters", overflow="fold", min_width=_PARAMETERS - 2)
    if flagged:
        table.add_column("flags", style="red", no_wrap=True)
    front = document["ranking"]["pareto_front"]
    for trial in trials:
        rank = "front" if trial["number"] in front else DASH if trial["rank"] is None else str(trial["rank"])
        cells = [Text(rank), Text(str(trial["number"])), Text(trial["state"], STATE_STYLES[trial["state"]])]
        cells += [Text(one.text(trial)) for one in columns]
        settings = {name: value_text(value) for name, value in trial["params"].items()}
        if apart:
            cells += [Text(settings.get(name, DASH)) for name in names]
        elif names:
            cells.append(Text(" ".join(f"{short.get(name, name)}={text}" for name, text in settings.items())))
        if flagged:
            cells.append(Text(" ".join(trial["flags"])))
        table.add_row(*cells, style="bold" if trial["number"] == document["best"] else "")
    return table


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Each name without its section, such as `lr` for `optimizer.lr`, unless another name ends in the same way."""
    ends = [name.rpartition(".")[2] for name in names]
    return {name: end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)}


def _fitting(columns: list[ShownColumn], room: int) -> list[ShownColumn]:
    """The columns that fit; the least important ones are dropped first."""
    for place in sorted({one.dropped for one in columns if one.dropped is not None}):
        if sum(max(len(one.heading), 8) + 2 for one in columns) <= room:
            break
        columns = [one for one in columns if one.dropped != place]
    return columns


def figure_text(value: float | None) -> str:
    """A loss or a score; a dash for a missing one."""
    return DASH if value is None else format_figure(value)


_FORMATS: dict[str | None, Callable[[Any], str]] = {
    None: figure_text,
    "epochs": format_count,
    "seconds": format_duration,
    "bytes": format_bytes,
}
"""Formats of figures, by unit."""


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
        super().__init__(console or Console(highlight=False), live=live, transient=True)
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
        self.console.file.write(f"{time.strftime('%H:%M:%S')}  {line}\n")
        self.console.file.flush()

    def render(self) -> RenderableType:
        """The picture of this instant."""
        document = self._document
        title = Text(self._title, "bold")
        if document is None:
            return Panel(Text("reading", "dim"), title=title, title_align="left", border_style="dim")
        progress = document["progress"]
        parts: list[RenderableType] = []
        line = Table.grid(padding=(0, 2, 0, 0))
        done = min(progress["done"], progress["of"] or progress["done"])
        bar = ProgressBar(total=progress["of"], completed=done, complete_style="green", width=24)
        line.add_row(*([bar] if progress["of"] else []), Text(progress_line(document), "cyan"))
        parts += [line, Text(best_line(document))]
        running = [trial for trial in document["trials"] if trial["state"] == "running"]
        if running:
            parts += [Text(), _running_table(running)]
        ended = [trial for trial in document["trials"] if trial["state"] != "running"]
        if ended:
            shown = {**document, "trials": ended}
            parts += [Text(), leaderboard_table(shown, _LIVE_ROWS, self.console.width - 4)]
        parts += [Text(problem, "red") for problem in document["problems"]]
        return Panel(Group(*parts), title=title, title_align="left", border_style="dim")


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
        parts.append(f"best {figure_text(progress['best_value'])} (trial {progress['best']})")
    return ", ".join(parts)


def _running_table(running: Sequence[Trial]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("running", "epoch", "time", "latest"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("parameters", overflow="fold")
    for trial in running:
        of = "" if trial["max_epochs"] is None else f"/{trial['max_epochs']}"
        table.add_row(
            Text(f"trial {trial['number']}", "green"),
            f"{trial['epochs'] or 0}{of}",
            format_duration(trial["seconds"]),
            figure_text(trial["latest"]),
            Text(" ".join(f"{name}={value_text(value)}" for name, value in trial["params"].items())),
        )
    return table
