"""The content of a trial's `metrics.csv`: its losses, the comparable loss, and signs that training went wrong."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean

RISE = 0.05
"""A loss counts as risen when it ends above its lowest stretch by more than this share."""

NAN, RISING, OVERFITTING = "nan", "rising", "overfitting"


@dataclass(frozen=True)
class Curves:
    """Metrics by epoch. None: nothing was logged. NaN or infinite: that value was logged."""

    epochs: tuple[int, ...] = ()
    columns: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    ends: Mapping[str, float | None] = field(default_factory=dict)
    """Final values that are not those of the last epoch."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The data with a known total loss, such as `train` and `val`."""
        return tuple(name.removesuffix(".loss") for name in self.columns if name.endswith(".loss"))

    def column(self, name: str) -> tuple[float | None, ...]:
        """The values of one metric, one for each epoch."""
        return self.columns.get(name, (None,) * len(self.epochs))

    def losses(self, split: str) -> dict[str, float | None]:
        """Final value of every loss over the data `split`, by its name without the split."""
        prefix = f"{split}."
        names = [name for name in self.columns if name.startswith(prefix) and name.endswith("loss")]
        return {name.removeprefix(prefix): self.last(name) for name in names}

    def last(self, name: str) -> float | None:
        """The final value of a metric; None where it was never logged or is no finite number."""
        return self.ends[name] if name in self.ends else last_of(self.column(name))

    def ended_with(self, epoch: int) -> "Curves":
        """The same of a run that restored the weights of `epoch`, whose metrics are the final ones."""
        if epoch not in self.epochs:
            return self
        place = self.epochs.index(epoch)
        return replace(self, ends={name: last_of(values[place : place + 1]) for name, values in self.columns.items()})


def last_of(values: Sequence[float | None]) -> float | None:
    """The last value that was logged; None without one, or where it is no finite number."""
    logged = [value for value in values if value is not None]
    return logged[-1] if logged and math.isfinite(logged[-1]) else None


def read_curves(path: Path) -> Curves:
    """The table at `path`. Unreadable parts, such as a torn last line, are left out; without a file it is empty."""
    try:
        result = path.stat()
        return _read(path, result.st_mtime_ns, result.st_size)
    except OSError:
        return Curves()


@lru_cache(maxsize=4096)
def _read(path: Path, changed: int, size: int) -> Curves:
    """Read once for each state of a file: the table of an ended trial is asked for often."""
    text = path.read_bytes().decode("utf-8", errors="replace")
    whole = text[: text.rfind("\n") + 1]  # the last line counts only when it is whole
    rows: dict[int, dict[str, float | None]] = {}
    columns: dict[str, None] = {}
    try:
        table = csv.reader(io.StringIO(whole))
        header = next(table, [])
        columns = dict.fromkeys(name for name in header if name not in ("epoch", "step"))
        for cells in table:
            row = dict(zip(header, cells, strict=False))
            epoch = _number(row.get("epoch", ""))
            if len(cells) == len(header) and epoch is not None and math.isfinite(epoch):
                rows[int(epoch)] = {name: _number(row[name]) for name in columns}
    except csv.Error:  # such as a line without an end; what came before it counts
        pass
    epochs = tuple(sorted(rows))
    return Curves(epochs, {name: tuple(rows[epoch][name] for epoch in epochs) for name in columns})


def mean_curves(parts: Sequence[Curves]) -> Curves:
    """The mean over the runs of one trial with several seeds, at each epoch over those that reached it."""
    if len(parts) == 1:
        return parts[0]
    epochs = tuple(sorted({epoch for part in parts for epoch in part.epochs}))
    places = [{epoch: place for place, epoch in enumerate(part.epochs)} for part in parts]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    columns = {}
    for name in names:
        values: list[float | None] = []
        for epoch in epochs:
            there = [
                value
                for part, place in zip(parts, places, strict=True)
                if epoch in place and (value := part.column(name)[place[epoch]]) is not None
            ]
            values.append(fmean(there) if there else None)
        columns[name] = tuple(values)
    ends = {}
    for name in names if any(part.ends for part in parts) else ():
        finals = [final for part in parts if (final := part.last(name)) is not None]
        ends[name] = fmean(finals) if finals else None
    return Curves(epochs, columns, ends)


def sanity_flags(parts: Iterable[Curves], comparable: str | None = None) -> tuple[str, ...]:
    """Signs of trouble in any run of a trial, by its loss `comparable`, or `loss` where it has no such column.

    `nan`: a loss was NaN or infinite in some epoch.
    `rising`: the mean training loss of the last quarter of the epochs (two at least) lies 5% above the lowest stretch
    of
    the same length.
    `overfitting`: the validation loss (`val.*`) has risen by as much, while the training loss continued to fall.
    """
    result: set[str] = set()
    for curves in parts:
        losses = [values for name, values in curves.columns.items() if name.endswith("loss")]
        if any(value is not None and not math.isfinite(value) for values in losses for value in values):
            result.add(NAN)
        training, validation = _judged(curves, "train", comparable), _judged(curves, "val", comparable)
        if _risen([value for value in training if value is not None and math.isfinite(value)]) is not None:
            result.add(RISING)
        both = [
            (t, v)
            for t, v in zip(training, validation, strict=True)
            if t is not None and v is not None and math.isfinite(t) and math.isfinite(v)
        ]
        lowest = _risen([v for _, v in both])
        if lowest is not None:
            width = _stretch(len(both))
            falls = fmean(t for t, _ in both[-width:]) < fmean(t for t, _ in both[lowest : lowest + width])
            if falls:
                result.add(OVERFITTING)
    return tuple(flag for flag in (NAN, RISING, OVERFITTING) if flag in result)


def _judged(curves: Curves, split: str, comparable: str | None) -> tuple[float | None, ...]:
    name = f"{split}.{comparable}"
    return curves.column(name if name in curves.columns else f"{split}.loss")


def _stretch(epochs: int) -> int:
    return max(2, epochs // 4)


def _risen(values: Sequence[float]) -> int | None:
    """First index of the lowest stretch if `values` end above it by more than `RISE`, else None."""
    width = _stretch(len(values))
    if len(values) < 2 * width:
        return None
    means = [fmean(values[start : start + width]) for start in range(len(values) - width + 1)]
    lowest = min(means)
    return means.index(lowest) if means[-1] > lowest + RISE * abs(lowest) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
