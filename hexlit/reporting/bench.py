"""The report of `hexlit bench`."""

from collections.abc import Sequence
from typing import Any

from hexlit.reporting.page import Column, Notes, Page, Section, Table, table
from hexlit.reporting.quantities import DASH


def bench_page(report: Any) -> Page:
    """The measurements of a `hexlit.bench.measure.Report`, some of them side by side, and the findings."""
    ranks = {"threads": 2, "quartiles": 4, "refresh": 5, "first call": 7, "compiling": 6, "peak": 3}
    names = ("device", "threads", "median", "quartiles", "ms", "refresh", "first call", "compiling", "peak")
    headings = [Column("what", kept=True), Column("precision")]
    headings += [Column(name, number=True, rank=ranks.get(name, 0)) for name in names]
    measured = table("", [*headings, Column("", rank=1)], [_cells(line) for line in report.lines])
    grids = [grid] if (grid := grid_of([line for line in report.lines if line.batch is not None])) else []
    sections = [Section("Measurements", [measured]), *(Section(one.caption, [one]) for one in grids)]
    return Page(report.title, "", [*sections, Section("Findings", [Notes(report.said)])])


def grid_of(lines: Sequence[Any]) -> Table | None:
    """Medians of the forward pass by way and batch, and the longest refresh of each way; the `lines` have one unit."""
    ways, batches = (list(dict.fromkeys(getattr(one, key) for one in lines)) for key in ("precision", "batch"))
    rows = []
    for way in ways:
        own = {one.batch: one for one in lines if one.precision == way}
        medians = [own[batch].median if batch in own else None for batch in batches]
        refresh = max((one.refresh_milliseconds or 0.0 for one in own.values()), default=0.0)
        reason = "" if any(medians) else next(iter(own.values())).detail
        figures = [DASH if value is None else f"{value:,.0f}" for value in medians]
        rows.append([way, *figures, f"{refresh:,.1f}" if refresh else DASH, reason])
    headings = ("backend", *(f"batch {batch}" for batch in batches), "refresh, ms", Column(""))
    return table(f"{lines[0].what.rpartition(',')[0]}, {lines[0].unit}", headings, rows) if lines else None


def _cells(line: Any) -> list[str]:
    def shown(value: float | None, form: str, unit: str = "") -> str:
        return DASH if value is None else f"{value:{form}}{unit}"

    spread = f"{shown(line.lower_quartile, ',.0f')} – {shown(line.upper_quartile, ',.0f')}"
    cells = [line.what, line.precision, line.device, str(line.threads or DASH)]
    cells += [shown(line.median, ",.0f", f" {line.unit}"), DASH if line.lower_quartile is None else spread]
    cells += [shown(line.milliseconds, ",.1f"), shown(line.refresh_milliseconds, ",.1f", " ms")]
    cells += [shown(line.first_call_seconds, ".2f", " s"), shown(line.compile_seconds, ".1f", " s")]
    return [*cells, shown(line.peak_bytes and line.peak_bytes / 2**20, ",.0f", " MiB"), line.detail]
