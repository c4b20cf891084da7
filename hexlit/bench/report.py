"""Measurements with their machine and their findings."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hexlit.bench.grid import Grid
from hexlit.bench.measure import Measurement


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
    grids: list[Grid] = field(default_factory=list)
    """Some of the lines again, side by side."""
    pace: Mapping[str, Any] = field(default_factory=dict)
    """The input of `hexlit plan`, from what=pace."""

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
