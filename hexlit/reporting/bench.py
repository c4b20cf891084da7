"""The report of `hexlit bench`."""

from typing import Any

from hexlit.reporting.page import Column, Notes, Page, Section, table
from hexlit.reporting.quantities import DASH


def bench_page(report: Any) -> Page:
    """The measurements of a `hexlit.bench.report.Report`, some of them side by side, and the findings."""
    ranks = {"threads": 2, "quartiles": 4, "refresh": 5, "first call": 7, "compiling": 6, "peak": 3}
    names = ("device", "threads", "median", "quartiles", "ms", "refresh", "first call", "compiling", "peak")
    headings = [Column("what", kept=True), Column("precision")]
    headings += [Column(name, number=True, rank=ranks.get(name, 0)) for name in names]
    measured = table("", [*headings, Column("", rank=1)], [_cells(line) for line in report.lines])
    grids = [table(grid.title, grid.headings, grid.rows) for grid in report.grids]
    sections = [Section("Measurements", [measured]), *(Section(grid.caption, [grid]) for grid in grids)]
    return Page(report.title, "", [*sections, Section("Findings", [Notes(report.said)])])


def _cells(line: Any) -> list[str]:
    def shown(value: float | None, form: str, unit: str = "") -> str:
        return DASH if value is None else f"{value:{form}}{unit}"

    spread = DASH
    if line.lower_quartile is not None and line.upper_quartile is not None:
        spread = f"{line.lower_quartile:,.0f} – {line.upper_quartile:,.0f}"
    return [
        line.what,
        line.precision,
        line.device,
        str(line.threads or DASH),
        shown(line.median, ",.0f", f" {line.unit}"),
        spread,
        shown(line.milliseconds, ",.1f"),
        shown(line.refresh_milliseconds, ",.1f", " ms"),
        shown(line.first_call_seconds, ".2f", " s"),
        shown(line.compile_seconds, ".1f", " s"),
        DASH if line.peak_bytes is None else f"{line.peak_bytes / 2**20:,.0f} MiB",
        line.detail,
    ]
