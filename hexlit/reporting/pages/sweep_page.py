"""The report of a sweep: its leaderboard with a link to each trial, failures, flags, and the figures."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hexlit.reporting.pages.page import Block, Cell, Column, Drawing, Facts, Figures, Notes, Page, Section, Table
from hexlit.reporting.quantities import DASH
from hexlit.reporting.sweep import (
    FLAGS,
    INTERRUPTED,
    best_line,
    flagged_trials,
    headline_facts,
    shown_columns,
    value_text,
)


def sweep_page(
    document: Mapping[str, Any], drawings: Sequence[Drawing], links: Mapping[int, str] | None = None
) -> Page:
    """The whole page, from the content of `overall_results.json` and the figures.

    `links` are paths from the page to the reports of trials, by number.
    """
    lead: list[Block] = [Facts(headline_facts(document)), Notes([best_line(document)])]
    lead.append(Notes([f"Ranked {document['ranking']['reason']}."], "quiet"))
    lead.append(Notes(document["problems"], "problem"))
    sections = [Section("Leaderboard", [leaderboard(document, links or {})])]
    if drawings:
        sections.append(Section("Figures", [Figures(drawings)]))
    failures = [entry for entry in document["failures"] if entry["state"] != INTERRUPTED]
    interrupted = [entry for entry in document["failures"] if entry["state"] == INTERRUPTED]
    sections.append(Section("Failures", [ended_badly("Trials that failed", failures)]))
    if interrupted:
        line = "Killed with the sweep, through no fault of their own; a resumed sweep repeats them."
        blocks: list[Block] = [Notes([line], "quiet"), ended_badly("Trials that were interrupted", interrupted)]
        sections.append(Section("Interrupted", blocks))
    sections.append(Section("Sanity", [flags(document)]))
    name = document["name"] or document["folder"]
    return Page(name, f"{document['folder']} · {made_by(document)}", sections, lead=lead)


def made_by(document: Mapping[str, Any]) -> str:
    """The state of the sweep, its start, and its sampler and pruner."""
    parts = [document["state"]]
    if document["started"] is not None:
        parts.append(f"begun {datetime.fromtimestamp(document['started']):%Y-%m-%d %H:%M}")
    if document["kind"] == "sequential":
        return " · ".join([*parts, "a plain --multirun"])
    parts += [text for text in (document["sampler"], document["pruner"]) if text]
    return " · ".join(parts)


def leaderboard(document: Mapping[str, Any], links: Mapping[int, str]) -> Table:
    """All trials, the best first, with their figures and parameters."""
    shown = shown_columns(document)
    names = [parameter["name"] for parameter in document["parameters"]]
    columns = [Column("rank", number=True, kept=True), Column("trial", number=True, kept=True), Column("state")]
    columns += [Column(one.heading, number=True) for one in shown] + [Column(name, number=True) for name in names]
    columns += [Column("flags"), Column("folder", code=True)]
    front = document["ranking"]["pareto_front"]
    rows: list[list[str | Cell]] = []
    best = None
    for place, trial in enumerate(document["trials"]):
        best = place if trial["number"] == document["best"] else best
        rank = "front" if trial["number"] in front else DASH if trial["rank"] is None else str(trial["rank"])
        row: list[str | Cell] = [Cell(rank, sort=trial["rank"])]
        row.append(Cell(str(trial["number"]), sort=trial["number"], link=links.get(trial["number"])))
        row.append(Cell(trial["state"], state=trial["state"]))
        row += [Cell(one.text(trial), sort=_key(one.value(trial))) for one in shown]
        row += [_parameter(trial["params"], name) for name in names]
        rows.append([*row, ", ".join(trial["flags"]), trial["folder"] or DASH])
    return Table("Leaderboard", columns, rows, best=best, search=len(rows) > 1, empty="No trial has begun.")


def ended_badly(caption: str, entries: Sequence[Mapping[str, Any]]) -> Table:
    """Trials and the reasons for their ends."""
    columns = [Column("trial", number=True, kept=True), Column("state"), Column("reason"), Column("folder", code=True)]
    rows: list[list[str | Cell]] = [
        [str(entry["trial"]), Cell(entry["state"], state=entry["state"]), entry["reason"], entry["folder"] or DASH]
        for entry in entries
    ]
    return Table(caption, columns, rows, search=len(rows) > 10)


def flags(document: Mapping[str, Any]) -> Table:
    """The sanity flags with the trials that have them."""
    rows: list[list[str | Cell]] = [
        [flag, meaning, ", ".join(map(str, flagged_trials(document, flag))) or "none"]
        for flag, meaning in FLAGS.items()
    ]
    return Table("Sanity flags", [Column("flag", kept=True), Column("meaning"), Column("trials")], rows)


def _parameter(params: Mapping[str, Any], name: str) -> Cell:
    return Cell(value_text(params[name]), sort=_key(params[name])) if name in params else Cell(DASH)


def _key(value: Any) -> float | str | None:
    return value if isinstance(value, int | float | str) else None
