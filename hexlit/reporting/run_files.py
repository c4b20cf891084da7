"""The files of a run, read for its report. A missing file is empty; a broken one is empty too, and named."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexlit.reporting.page import Facts, Section
from hexlit.reporting.quantities import format_figure

Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class RunFiles:
    """A run's folder; files that it has not written yet are empty."""

    folder: Path
    summary: Mapping[str, Any] = field(default_factory=dict)
    """`summary.json`; empty until the run has ended."""
    metrics: Columns = field(default_factory=dict)
    phases: Columns = field(default_factory=dict)
    resources: Columns = field(default_factory=dict)
    steps: Columns = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
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
        result: Any = self.config
        for key in dotted.split("."):
            result = result.get(key) if isinstance(result, Mapping) else None
        return result

    def settings(self) -> dict[str, str]:
        """Every setting by its dotted name, as text."""
        return dict(_flat(self.config))

    def column(self, name: str) -> list[float | None]:
        """The values of a metric, one per epoch with a row."""
        return numbers(self.metrics, name)


def read_run(folder: Path) -> RunFiles:
    """Everything that the run in `folder` has written."""
    from omegaconf import OmegaConf

    unread: list[str] = []

    def read(name: str, reader: Callable[[Path], Any], empty: Any) -> Any:
        try:
            return reader(folder / name) if (folder / name).is_file() else empty
        except Exception as error:  # whatever a broken file makes its reader raise
            unread.append(f"{name} cannot be read ({' '.join(str(error).split())[:120] or type(error).__name__})")
            return empty

    def read_table(name: str, key: str) -> Columns:
        columns: Columns
        columns, broken = read(f"{name}.csv", lambda path: read_columns(path, key), ({}, 0))
        if broken:
            unread.append(f"{name}.csv: {broken} of its lines cannot be read")
        return columns

    config = read(".hydra/config.yaml", lambda path: OmegaConf.to_container(OmegaConf.load(path)), {})
    overrides = read(".hydra/overrides.yaml", lambda path: OmegaConf.to_container(OmegaConf.load(path)), [])
    keys = {"metrics": "epoch", "phases": "phase", "resources": "seconds", "steps": "epoch"}
    tables = {name: read_table(name, key) for name, key in keys.items()}
    summary = read("summary.json", read_object, {})
    return RunFiles(folder, summary, **tables, config=config or {}, overrides=overrides or [], unread=unread)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in the file.

    Raises:
        ValueError: it holds none.
    """
    result = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(result, dict):
        raise ValueError("no JSON object")
    return result


def read_columns(path: Path, key: str) -> tuple[dict[str, list[str]], int]:
    """The columns of a CSV file by their headings, and the number of broken lines.

    A torn last line is left out: it is the mark of a kill.

    Raises:
        ValueError: the file is not UTF-8, or has no column `key`.
    """
    text = path.read_bytes().decode("utf-8")
    rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1])))
    if not rows:
        return {}, 0
    if key not in rows[0]:
        raise ValueError(f"no column {key}")
    whole = [row for row in rows[1:] if len(row) == len(rows[0])]
    columns = {name: [row[place] for row in whole] for place, name in enumerate(rows[0])}
    return columns, len(rows) - 1 - len(whole)


def numbers(table: Columns, name: str) -> list[float | None]:
    """A column as numbers; None for an empty cell."""
    return [_number(text) for text in table.get(name, ())]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from _flat(entry, f"{prefix}.{key}" if prefix else str(key))
    elif prefix:
        yield prefix, "null" if value is None else json.dumps(value) if not isinstance(value, str) else value


ONCE = ("starting", "compiling", "finishing")
"""Phases that a run has once, for any number of epochs."""


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
        return None if self.epoch_seconds is None else self.once_seconds + epochs * self.epoch_seconds

    def flops(self, epochs: int) -> float | None:
        """Floating-point operations of such a run."""
        return None if self.epoch_flops is None else epochs * self.epoch_flops


def rates_of(files: RunFiles) -> Rates:
    """The rates over all epochs but the first, which fills caches; over the first if it is the only one."""
    names = list(files.phases.get("phase", ()))
    of_epoch = numbers(files.phases, "epoch")
    seconds = [value or 0.0 for value in numbers(files.phases, "wall_seconds")]
    rows = list(zip(names, of_epoch, seconds, strict=True))
    once = sum(length for name, _, length in rows if name in ONCE)
    by_epoch: dict[float, float] = {}
    for name, epoch, length in rows:
        if name not in ONCE and epoch is not None:
            by_epoch[epoch] = by_epoch.get(epoch, 0.0) + length
    first = min(by_epoch, default=0.0)
    later = [length for epoch, length in by_epoch.items() if epoch > first] or list(by_epoch.values())
    flops = [value for value in files.column("cost.flops") if value is not None]
    return Rates(
        once_seconds=once,
        epoch_seconds=sum(later) / len(later) if later else None,
        epoch_flops=flops[-1] / len(flops) if flops else None,
        epochs=len(later),
    )


def validation_section(summary: Mapping[str, Any]) -> list[Section]:
    """The figures on validation data, and their epoch; empty without any."""
    figures, best = summary.get("val") or {}, (summary.get("best") or {}).get("epoch")
    entries = [(name.replace("_", " "), format_figure(value)) for name, value in figures.items()]
    title = "Validation" if best is None else f"Validation after epoch {best}, the best"
    return [Section(title, [Facts(entries)])] if entries else []
