"""The files of a run, read for its report. A missing file is empty; a broken one is empty too, and
named.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from hexlit.files import read_plain_yaml, read_regular
from hexlit.reporting.page import Document, Facts, Section
from hexlit.reporting.quantities import shown

Columns = Mapping[str, Sequence[str]]
GROUPS = (
    *("epoch", "step", "train", "val", "selfplay", "games", "strength", "rating"),
    *("cost", "memory", "steps"),
)
"""First parts of the metrics that hexlit logs."""


@dataclass(frozen=True)
class RunFiles:
    """A run's folder; files that it has not written yet are empty."""

    folder: Path
    summary: Document = field(default_factory=dict)
    """`summary.json`; empty until the run has ended."""
    metrics: Columns = field(default_factory=dict)
    phases: Columns = field(default_factory=dict)
    resources: Columns = field(default_factory=dict)
    steps: Columns = field(default_factory=dict)
    config: Document = field(default_factory=dict)
    overrides: Sequence[str] = ()
    unread: Sequence[str] = ()
    """Files that cannot be read, or not as a whole, each with the reason."""

    @property
    def name(self) -> str:
        """Name of the recipe."""
        return str(self.summary.get("name") or self.config.get("name") or self.folder.name)

    @property
    def task(self) -> str:
        """Name of the task."""
        return str(self.summary.get("task") or self.config.get("task") or "")

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return int(self.summary.get("epochs") or len(self.metrics.get("epoch", ())))

    def setting(self, dotted: str) -> Any:
        """A setting such as `trainer.max_epochs`; None if it does not exist."""
        return dict(flat(self.config)).get(dotted)

    def settings(self) -> dict[str, str]:
        """Every setting by its dotted name, as text."""
        return {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in flat(self.config)
        }

    def spans(self) -> list[tuple[str, float | None, float]]:
        """Name, epoch and seconds of each phase, in their order."""
        seconds = [value or 0.0 for value in numbers(self.phases, "wall_seconds")]
        return list(
            zip(self.phases.get("phase", ()), numbers(self.phases, "epoch"), seconds, strict=True)
        )

    def totals(self) -> dict[str, float]:
        """Seconds by phase."""
        result: dict[str, float] = defaultdict(float)
        for name, _, seconds in self.spans():
            result[name] += seconds
        return result

    def column(self, name: str) -> list[float | None]:
        """The values of a metric, one per epoch with a row."""
        return numbers(self.metrics, name)

    def known(self, name: str) -> list[float]:
        """The measured values of a metric."""
        return [value for value in self.column(name) if value is not None]

    @property
    def further_metrics(self) -> list[str]:
        """Metrics that hexlit does not log itself, such as those of the user's callbacks."""
        result = []
        for name in self.metrics:
            group, _, last = name.partition(".")
            of_losses = group == "train" and last != "lr" and not last.endswith("loss")
            if (of_losses or group not in GROUPS) and any(self.metrics[name]):
                result.append(name)
        return result


def read_run(folder: Path) -> RunFiles:
    """Everything that the run in `folder` has written."""
    unread: list[str] = []

    def read(name: str, reader: Callable[[Path], Any]) -> Any:
        try:
            return ((folder / name).is_file() and reader(folder / name)) or {}
        except Exception as error:  # whatever a broken file makes its reader raise
            reason = " ".join(str(error).split())[:120] or type(error).__name__
            unread.append(f"{name} cannot be read ({reason})")
            return {}

    config, overrides = (
        read(f".hydra/{name}.yaml", read_plain_yaml) for name in ("config", "overrides")
    )
    tables = {
        name: read(f"{name}.csv", read_columns)
        for name in ("metrics", "phases", "resources", "steps")
    }
    summary = read("summary.json", lambda path: json.loads(read_regular(path)))
    return RunFiles(folder, summary, **tables, config=config, overrides=overrides, unread=unread)


def read_columns(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file by their headings. A torn last line is left out: it is the mark of
    a kill.

    Raises:
        ValueError: the file is not UTF-8, or a line has another number of columns.
    """
    text = read_regular(path).decode("utf-8")
    headings, *rows = list(csv.reader(text[: text.rfind("\n") + 1].splitlines(keepends=True))) or [
        []
    ]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(headings):
            raise ValueError(f"line {number} has {len(row)} values, the heading {len(headings)}")
    columns = list(zip(*rows, strict=True)) or [()] * len(headings)
    return {name: list(values) for name, values in zip(headings, columns, strict=True)}


def numbers(table: Columns, name: str) -> list[float | None]:
    """A column as numbers; None for an empty cell."""
    return [float(text) if text else None for text in table.get(name, ())]


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of nested mappings by their dotted names, such as `optimizer.lr`."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from flat(entry, f"{prefix}.{key}" if prefix else str(key))
    elif prefix:
        yield prefix, value


ONCE = ("starting", "compiling", "finishing")
"""Phases that a run has once, for any number of epochs."""


LENGTHS = (10, 100, 1000)
"""Default epochs of the rows and columns in a table of costs."""


@dataclass(frozen=True)
class Rates:
    """Measured time and operations of an epoch; None where they are not known."""

    once_seconds: float
    epoch_seconds: float | None
    epoch_flops: float | None
    epochs: int
    """Number of epochs behind the rates."""

    def seconds(self, epochs: int) -> float | None:
        """Wall time of a run of `epochs` epochs."""
        return (
            None if self.epoch_seconds is None else self.once_seconds + epochs * self.epoch_seconds
        )

    def costs(self, epochs: int, price: float | None) -> list[str]:
        """Hours of such a run, and what they cost at a `price` per hour, if there is one."""
        seconds = self.seconds(epochs)
        factors = (1.0,) if price is None else (1.0, price)
        return [shown(seconds and factor * seconds / 3600, "{:,.2f}") for factor in factors]


def rates_of(files: RunFiles) -> Rates:
    """The rates over all epochs but the first, which fills caches; over the first if it is the only
    one.
    """
    by_epoch: dict[float | None, float] = defaultdict(float)
    for name, epoch, seconds in files.spans():
        by_epoch[None if name in ONCE else epoch] += seconds
    once, epochs = by_epoch.pop(None, 0.0), list(by_epoch.values())
    flops = files.known("cost.flops")
    epoch_seconds = fmean(epochs[1:] or epochs) if epochs else None
    return Rates(
        once, epoch_seconds, flops[-1] / len(flops) if flops else None, len(epochs[1:] or epochs)
    )


def validation_section(summary: Document) -> list[Section]:
    """The figures on validation data, and their epoch; empty without any."""
    figures = summary.get("val") or {}
    if not figures:
        return []
    best = summary.get("best") or {}
    title = "Validation"
    if best.get("epoch") is not None:
        title += f" after epoch {best['epoch']}, the best"
    entries = [(name.replace("_", " "), shown(value)) for name, value in figures.items()]
    return [Section(title, [Facts(entries)])]
