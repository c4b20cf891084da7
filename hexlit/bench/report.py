"""Measurements with their machine and their findings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hexlit.bench.measure import Measurement

DASH = "–"


@dataclass(frozen=True)
class Grid:
    """A table of medians, beside the longer list of measurements."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


def grid_of(lines: Sequence[Measurement]) -> Grid:
    """Medians of the forward pass by way and batch, and the longest refresh of each way; the `lines` have one unit."""
    batches = list(dict.fromkeys(line.batch for line in lines))
    ways = list(dict.fromkeys(line.precision for line in lines))
    result = {(line.precision, line.batch): line for line in lines}
    rows = []
    for way in ways:
        own = [line for line in lines if line.precision == way]
        refreshes = [line.refresh_milliseconds for line in own if line.refresh_milliseconds is not None]
        reason = "" if any(line.median is not None for line in own) else own[0].detail
        rows.append(
            (
                way,
                *(_median(result.get((way, batch))) for batch in batches),
                f"{max(refreshes):,.1f}" if refreshes else DASH,
                reason,
            )
        )
    headings = ("backend", *(f"batch {batch}" for batch in batches), "refresh, ms", "")
    return Grid(f"{lines[0].what.rpartition(',')[0]}, {lines[0].unit}", headings, rows)


def _median(line: Measurement | None) -> str:
    return DASH if line is None or line.median is None else f"{line.median:,.0f}"


@dataclass(frozen=True)
class Report:
    """Measurements, their machine, and their findings."""

    subject: str
    """Subject of the measurements: `11x11 board`, or a task."""
    about: Mapping[str, str | int]
    """The same for programs: `board`, or `task`."""
    machine: Mapping[str, str | int]
    """Device, threads, processor, and the versions of torch, numba and hexlit."""
    lines: list[Measurement]
    said: list[str] = field(default_factory=list)
    """Findings, one sentence each."""
    pace: dict[str, Any] = field(default_factory=dict)
    """The input of `hexlit plan`, from what=pace."""

    @property
    def grids(self) -> list[Grid]:
        """The lines of the forward pass again, side by side."""
        lines = [line for line in self.lines if line.batch is not None]
        return [grid_of(lines)] if lines else []

    def to_json(self) -> str:
        """Everything, for programs: `machine`, `board` or `task`, `measurements`, `findings`, for what=pace `pace`."""
        measurements = [{**asdict(line), "torch": self.machine["torch"]} for line in self.lines]
        whole: dict[str, Any] = {
            "machine": dict(self.machine),
            **self.about,
            "measurements": measurements,
            "findings": self.said,
            **({"pace": dict(self.pace)} if self.pace else {}),
        }
        return json.dumps(whole, indent=2, allow_nan=False)

    @property
    def title(self) -> str:
        """The subject and the machine, on one line."""
        where = " · ".join(f"{name} {value}" for name, value in self.machine.items())
        return f"{self.subject} · {where}"
