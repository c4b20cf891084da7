"""The report of `hexlit bench`."""

from collections.abc import Sequence
from typing import Any

from hexlit.reporting.page import Column, Notes, Page, Section, Table, table
from hexlit.reporting.quantities import DASH, shown

FIGURES = {
    "ms": ("milliseconds", "{:,.1f}"),
    "refresh": ("refresh_milliseconds", "{:,.1f} ms"),
    "first call": ("first_call_seconds", "{:.2f} s"),
    "compiling": ("compile_seconds", "{:.1f} s"),
}
"""Heading -> field of a measurement, and its format."""


def bench_page(report: Any) -> Page:
    """The measurements of a `hexlit.bench.measure.Report`, some of them side by side, and the
    findings.
    """
    ranks = {
        "threads": 2,
        "quartiles": 4,
        "refresh": 5,
        "first call": 7,
        "compiling": 6,
        "peak": 3,
    }
    rows = []
    for line in report.lines:
        ends = [shown(one, "{:,.0f}") for one in (line.lower_quartile, line.upper_quartile)]
        row = [line.what, line.precision, line.device, str(line.threads or DASH)]
        row.append(shown(line.median, f"{{:,.0f}} {line.unit}"))
        row.append(DASH if line.lower_quartile is None else " – ".join(ends))
        row += [shown(getattr(line, key), form) for key, form in FIGURES.values()]
        row += [shown(line.peak_bytes, "bytes"), line.detail]
        rows.append(row)
    headings = ["what", "precision", "device", "threads", "median", "quartiles", *FIGURES, "peak"]
    measured = table(
        "",
        [*headings, Column("", rank=1)],
        rows,
        names=2,
        ranks=ranks,
    )
    sections = [Section("Measurements", [measured])]
    grid = grid_of([line for line in report.lines if line.batch is not None])
    if grid is not None:
        sections.append(Section(grid.caption, [grid]))
    sections.append(Section("Findings", [Notes(report.findings)]))
    return Page(report.title, "", sections)


def grid_of(lines: Sequence[Any]) -> Table | None:
    """Medians of the forward pass by way and batch, and the longest refresh of each way; the
    `lines` have one unit.
    """
    if not lines:
        return None
    ways = dict.fromkeys(line.precision for line in lines)
    batches = list(dict.fromkeys(line.batch for line in lines))
    rows = []
    for way in ways:
        own = {line.batch: line for line in lines if line.precision == way}
        medians = [own[batch].median if batch in own else None for batch in batches]
        refresh = max(line.refresh_milliseconds or 0.0 for line in own.values())
        reason = "" if any(medians) else next(iter(own.values())).detail
        figures = [shown(median, "{:,.0f}") for median in medians]
        rows.append([way, *figures, shown(refresh or None, "{:,.1f}"), reason])
    headings = ["backend", *(f"batch {batch}" for batch in batches), "refresh, ms", Column("")]
    what = lines[0].what.rpartition(",")[0]
    return table(f"{what}, {lines[0].unit}", headings, rows)
