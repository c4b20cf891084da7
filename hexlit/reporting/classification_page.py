"""The text classifier's part of a run's report: scores, classes, confusion and errors."""

from hexlit.reporting.classification import data_lines, padding_line, score_tables
from hexlit.reporting.pages.page import Block, Cell, Column, Notes, Section, Table
from hexlit.reporting.pages.run_files import RunFiles
from hexlit.reporting.pages.written import figures_in, titled
from hexlit.reporting.quantities import format_share

FIGURE = "confusion.svg"


def report_sections(files: RunFiles) -> list[Section]:
    """Scores on the test set, the most surprising errors, and the texts, as far as the run has them."""
    summary = files.summary
    sections = []
    test = summary.get("test")
    if test:
        blocks: list[Block] = [block for grid in score_tables(test)[:2] for block in titled(grid)]
        blocks += figures_in(files.folder, {FIGURE: "True and predicted classes"})
        sections.append(Section("Test set", blocks))
        columns = [Column("predicted", kept=True), Column("confidence", number=True), Column("truth"), Column("text")]
        rows: list[list[str | Cell]] = [
            [row["predicted"], format_share(row["confidence"]), row["truth"], row["text"]] for row in test["errors"]
        ]
        sections.append(Section("Errors", [Table("The most surprising errors", columns, rows, search=len(rows) > 10)]))
    if summary.get("data"):
        lines = [*data_lines(summary["data"]), padding_line(summary["padding"])]
        sections.append(Section("Texts", [Notes([f"{line[:1].upper()}{line[1:]}." for line in lines])]))
    return sections
