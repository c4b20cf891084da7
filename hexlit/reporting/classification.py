"""Text classification for people: the confusion matrix as a figure, and the results of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from hexlit.reporting.figures import INK, new_figure, shorten, whole_ticks
from hexlit.reporting.grid import Grid
from hexlit.reporting.quantities import format_count, format_figure, format_share
from hexlit.reporting.summary import print_folder, print_run

NUMBERED = 25
"""Most classes for numbers in the cells of the figure."""
SHOWN_CLASSES = 12
"""Most classes for the confusion matrix on the terminal; `summary.json` always has it."""


@dataclass(frozen=True)
class ConfusionMatrix:
    """Texts by true class (rows) and chosen class (columns)."""

    classes: Sequence[str]
    counts: Sequence[Sequence[int]]


def draw_confusion(data: ConfusionMatrix) -> Figure:
    """Each true class's shares as shades, the counts as numbers."""
    counts = np.array(data.counts)
    size = len(data.classes)
    side = min(12.0, 2.0 + 0.55 * size)
    figure = new_figure(side + 0.6, side)
    axes = figure.add_subplot()
    axes.grid(visible=False)
    shares = counts / np.maximum(1, counts.sum(1, keepdims=True))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    names = [shorten(name, 24) for name in data.classes]
    if size <= NUMBERED:
        axes.set_xticks(range(size), names, rotation=35, ha="right")
        axes.set_yticks(range(size), names)
        for row in range(size):
            for column in range(size):
                if counts[row, column]:
                    colour = "white" if shares[row, column] > 0.5 else INK
                    axes.text(column, row, str(counts[row, column]), ha="center", va="center", color=colour)
    else:
        whole_ticks(axes, "x")
        whole_ticks(axes, "y")
    axes.set_xlabel("predicted class")
    axes.set_ylabel("true class")
    axes.set_title("Test set: texts by class")
    return figure


def print_classify_summary(console: Console, summary: Mapping[str, Any], folder: Path) -> None:
    """Print the time by phase, the texts, the padding saved, the best validation and the report on the test set.

    `summary` holds `data`, `padding`, `val`, `best` and, where the test set was evaluated, `test`.
    """
    print_run(console, summary)
    console.print()
    lines = [*data_lines(summary["data"]), padding_line(summary["padding"])]
    best = summary["best"]["epoch"]
    epoch = f" after epoch {best}, the best" if best is not None else ""
    figures = {name: format_figure(value) for name, value in (summary.get("val") or {}).items()}
    lines.append(
        f"validation{epoch}: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
    )
    for line in lines:
        console.print(line, highlight=False, markup=False)
    if summary.get("test"):
        for grid in score_tables(summary["test"]):
            console.print()
            console.print(grid.as_table())
        for line in error_lines(summary["test"]):
            console.print(line, highlight=False, markup=False)
    print_folder(console, folder)


def data_lines(data: Mapping[str, Any]) -> list[str]:
    """Counts of texts read, dropped and cut."""
    texts = ", ".join(f"{format_count(count)} of {split}" for split, count in data["texts"].items())
    dropped = data["dropped"]
    lines = [
        f"texts: {texts}; dropped: {dropped['duplicate']} duplicates ({data['crossing']} of them across splits, "
        f"{dropped['conflicting']} with another label), {dropped['blank']} blank"
    ]
    cut = {split: count for split, count in data["cut"].items() if count}
    if cut:
        shown = ", ".join(f"{format_count(count)} of {split}" for split, count in cut.items())
        lines.append(f"cut to {data['max_length']} tokens: {shown}")
    if data["latin1"]:
        lines.append(f"files that are not UTF-8, read as Latin-1: {data['latin1']}")
    return lines


def padding_line(padding: Mapping[str, Any]) -> str:
    """The tokens saved by batches of similar lengths."""
    if padding["saved"] is None:
        return "padding: nothing was trained"
    return (
        f"padding: {format_count(padding['tokens'])} tokens trained instead of {format_count(padding['fixed_tokens'])} "
        f"with every text filled up to the maximum, {format_share(padding['saved'])} saved"
    )


def score_tables(test: Mapping[str, Any]) -> list[Grid]:
    """Scores beside the baseline's, a row per class, and the confusion matrix if it is small."""
    names = {"accuracy": "accuracy", "macro_f1": "macro F1", "log_loss": "log loss", "ece": "ECE", "brier": "Brier"}
    rows = [
        [title, *(f"{test[key][name]:.4f}" for name in names)]
        for key, title in (("model", "network"), ("baseline", "TF-IDF + logistic regression"))
    ]
    grids = [Grid(f"{test['texts']} texts of the test set", ["", *names.values()], rows)]
    classes = [
        [shorten(row["name"]), *(f"{row[name]:.3f}" for name in ("precision", "recall", "f1")), str(row["support"])]
        for row in test["classes"]
    ]
    grids.append(Grid("the network by class", ["", "precision", "recall", "F1", "support"], classes))
    confusion = test["confusion"]
    if len(confusion["classes"]) <= SHOWN_CLASSES:
        short = [shorten(name, 14) for name in confusion["classes"]]
        counts = [[name, *map(str, row)] for name, row in zip(short, confusion["counts"], strict=True)]
        grids.append(Grid("true class by row, predicted class by column", ["", *short], counts))
    return grids


def error_lines(test: Mapping[str, Any]) -> list[str]:
    """The most surprising errors, one per line."""
    if not test["errors"]:
        return []
    lines = ["", "most surprising errors:"]
    for row in test["errors"]:
        confidence = format_share(row["confidence"])
        lines.append(f"  {row['predicted']} ({confidence}) instead of {row['truth']}: {row['text']}")
    return lines
