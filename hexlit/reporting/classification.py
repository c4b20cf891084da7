"""Text classification: the confusion matrix as a figure, and the sections of a run in its
report.
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure as Drawing

from hexlit.reporting.figures import INK, shorten
from hexlit.reporting.page import (
    Block,
    Column,
    Document,
    Figure,
    Figures,
    Notes,
    Section,
    Table,
    table,
)
from hexlit.reporting.quantities import format_count, format_share
from hexlit.reporting.run_files import RunFiles, validation_section

FIGURE = "confusion.svg"
NUMBERED = 25
"""Most classes for numbers in the cells of the figure."""
SHOWN_CLASSES = 12
"""Most classes for the confusion matrix as a table; `summary.json` always has it."""


def draw_confusion(confusion: Document) -> Drawing:
    """Each true class's shares as shades; the `counts`, by true and chosen one of the `classes`, as
    numbers.
    """
    counts, size = np.array(confusion["counts"]), len(confusion["classes"])
    side = min(12.0, 2.0 + 0.55 * size)
    figure = Drawing(figsize=(side + 0.6, side))
    axes = figure.add_subplot()
    axes.grid(visible=False)
    shares = counts / np.maximum(1, counts.sum(1, keepdims=True))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    numbered = size <= NUMBERED
    names = [shorten(name, 24) for name in confusion["classes"]] if numbered else []
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
    axes.set_yticks(range(len(names)), names)
    for row, column in np.argwhere(counts).tolist():
        if numbered:
            colour = "white" if shares[row, column] > 0.5 else INK
            count = str(counts[row, column])
            axes.text(
                column,
                row,
                count,
                ha="center",
                va="center",
                color=colour,
            )
    axes.set(xlabel="predicted class", ylabel="true class", title="Test set: texts by class")
    return figure


def report_sections(files: RunFiles) -> list[Section]:
    """Scores on the test set, the most surprising errors, and the texts, as far as the run has
    them.
    """
    summary, sections, others = files.summary, list[Section](), list[Block]()
    if (files.folder / FIGURE).is_file():
        drawing = (files.folder / FIGURE).read_bytes()
        others.append(Figures([Figure("confusion", "True and predicted classes", drawing)]))
    if test := summary.get("test"):
        scores, *tables = score_tables(test)
        sections = [
            Section("Test set", [scores]),
            Section("Classes", [*tables, *others], detail=True),
        ]
        sections.append(Section("Errors", [error_table(test)], detail=True))
    if summary.get("data"):
        lines = [*data_lines(summary["data"]), padding_line(summary["padding"])]
        sections.append(
            Section("Texts", [Notes([f"{line[:1].upper()}{line[1:]}." for line in lines])])
        )
    return [*sections, *validation_section(summary)]


def data_lines(data: Document) -> list[str]:
    """Counts of texts read, dropped and cut."""

    def by_split(counts: Mapping[str, int]) -> str:
        return ", ".join(f"{count:,} of {split}" for split, count in counts.items() if count)

    dropped, cut = data["dropped"], by_split(data["cut"])
    conflicting = (
        f"{dropped['duplicate']} duplicates ({dropped['conflicting']} of them with another label)"
    )
    lines = [f"texts: {by_split(data['texts'])}; dropped: {conflicting}, {dropped['blank']} blank"]
    lines += [f"cut to {data['max_length']} tokens: {cut}"] if cut else []
    return lines + [f"files that are not UTF-8, read as Latin-1: {data['latin1']}"] * bool(
        data["latin1"]
    )


def padding_line(padding: Document) -> str:
    """The tokens saved by batches of similar lengths."""
    if padding["saved"] is None:
        return "padding: nothing was trained"
    trained, fixed = format_count(padding["tokens"]), format_count(padding["fixed_tokens"])
    how = f"{fixed} with every text filled up to the maximum"
    return f"padding: {trained} tokens trained instead of {how}, {format_share(padding['saved'])} saved"


def score_tables(test: Document) -> list[Table]:
    """Scores next to the baseline's, a row per class, and the confusion matrix if it is small."""
    names = {
        "accuracy": "accuracy",
        "macro_f1": "macro F1",
        "log_loss": "log loss",
        "ece": "ECE",
        "brier": "Brier",
    }
    scorers = {"model": "network", "baseline": "TF-IDF + logistic regression"}
    rows = []
    for key, title in scorers.items():
        rows.append([title, *(f"{test[key][name]:.4f}" for name in names)])
    result = [table(f"{test['texts']} texts of the test set", ["", *names.values()], rows)]
    rows = []
    for row in test["classes"]:
        scores = [f"{row[name]:.3f}" for name in ("precision", "recall", "f1")]
        rows.append([shorten(row["name"]), *scores, str(row["support"])])
    result.append(table("The network by class", ["", "precision", "recall", "F1", "support"], rows))
    confusion = test["confusion"]
    if len(confusion["classes"]) <= SHOWN_CLASSES:
        short = [shorten(name, 14) for name in confusion["classes"]]
        rows = [
            [name, *map(str, row)] for name, row in zip(short, confusion["counts"], strict=True)
        ]
        result.append(table("True class by row, predicted class by column", ["", *short], rows))
    return result


def error_table(test: Document) -> Table:
    """The most surprising errors."""
    rows = [
        [row["predicted"], format_share(row["confidence"]), row["truth"], row["text"]]
        for row in test["errors"]
    ]
    headings: list[str | Column] = ["predicted", Column("confidence", number=True), "truth", "text"]
    return table(
        "The most surprising errors",
        headings,
        rows,
        names=4,
        search=len(rows) > 10,
    )
