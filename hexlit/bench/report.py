"""Measurements as a table, as JSON and as Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from hexlit.bench.measure import Measurement

HEADINGS = (
    "what",
    "device",
    "threads",
    "precision",
    "median",
    "quartiles",
    "ms",
    "refresh",
    "first call",
    "compiling",
    "peak",
)
DASH = "–"


@dataclass(frozen=True)
class Grid:
    """A table of medians, beside the longer list of measurements."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def to_markdown(self) -> str:
        """The table with its title above it."""
        lines = [self.headings, tuple("---" for _ in self.headings), *self.rows]
        return f"{self.title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)


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

    def to_markdown(self) -> str:
        """A table for a README or an issue."""
        rows = [(*HEADINGS, ""), tuple("---" for _ in range(len(HEADINGS) + 1))]
        rows += [_cells(line) for line in self.lines]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
        findings = "".join(f"\n- {sentence}" for sentence in self.said)
        grids = "".join(f"\n{grid.to_markdown()}\n" for grid in self.grids)
        return f"{self._title()}\n\n{table}\n{grids}" + (f"{findings}\n" if findings else "")

    def print(self) -> None:
        """A table for people."""
        console = Console()
        console.width = max(console.width, 180)
        table = Table(title=self._title(), title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim")
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading in ("what", "precision") else "right")
        table.add_column("")
        for line in self.lines:
            table.add_row(*_cells(line))
        console.print(table)
        for grid in self.grids:
            console.print(_table(grid))
        for sentence in self.said:
            console.print(sentence, highlight=False)

    def _title(self) -> str:
        where = " · ".join(f"{name} {value}" for name, value in self.machine.items())
        return f"{self.subject} · {where}"


def _table(grid: Grid) -> Table:
    table = Table(title=grid.title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for number, heading in enumerate(grid.headings):
        table.add_column(heading, justify="left" if number == 0 else "right")
    for row in grid.rows:
        table.add_row(*row)
    return table


def _cells(line: Measurement) -> tuple[str, ...]:
    spread = DASH
    if line.lower_quartile is not None and line.upper_quartile is not None:
        spread = f"{line.lower_quartile:,.0f} – {line.upper_quartile:,.0f}"
    return (
        line.what,
        line.device,
        str(line.threads or DASH),
        line.precision,
        DASH if line.median is None else f"{line.median:,.0f} {line.unit}",
        spread,
        DASH if line.milliseconds is None else f"{line.milliseconds:,.1f}",
        DASH if line.refresh_milliseconds is None else f"{line.refresh_milliseconds:,.1f} ms",
        DASH if line.first_call_seconds is None else f"{line.first_call_seconds:.2f} s",
        DASH if line.compile_seconds is None else f"{line.compile_seconds:.1f} s",
        DASH if line.peak_bytes is None else f"{line.peak_bytes / 2**20:,.0f} MiB",
        line.detail,
    )
