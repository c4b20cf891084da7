"""The forecaster's part of a run's report: forecasts over the truth, and errors by horizon."""

from hexlit.reporting.forecasts import error_tables
from hexlit.reporting.pages.page import Block, Facts, Notes, Section
from hexlit.reporting.pages.run_files import RunFiles
from hexlit.reporting.pages.written import figures_in, titled
from hexlit.reporting.quantities import format_count, format_figure

FIGURE = "forecasts.svg"


def report_sections(files: RunFiles) -> list[Section]:
    """Forecasts, errors on the test set and the windows, as far as the run has them."""
    summary = files.summary
    sections = []
    drawn = figures_in(files.folder, {FIGURE: "Forecasts on the test set, their past and the truth"}, wide=True)
    if drawn:
        sections.append(Section("Forecasts", drawn))
    tables = [block for grid in error_tables(summary.get("test") or []) for block in titled(grid)]
    if tables:
        sections.append(Section("Errors", tables))
    data = summary.get("data")
    if data:
        entries = [(f"windows of {split}", format_count(count)) for split, count in data["windows"].items()]
        result = summary.get("val") or {}
        entries += [(f"validation: {name.replace('_', ' ')}", format_figure(value)) for name, value in result.items()]
        dropped = sum(sum(reasons.values()) for reasons in data["dropped"].values())
        blocks: list[Block] = [Facts(entries), Notes([f"{format_count(dropped)} windows left out for gaps."], "quiet")]
        sections.append(Section("Windows", blocks))
    return sections
