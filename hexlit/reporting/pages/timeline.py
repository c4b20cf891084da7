"""The timeline of a run: its phases, and the load of its machine, on one axis of seconds."""

from itertools import accumulate

from hexlit.reporting.pages.charts import ChartLine, Spans
from hexlit.reporting.pages.run_files import RunFiles, numbers

GIB = 2.0**30
STARTING = "starting"
"""First phase of every session of a run; its samples begin after it."""

_SHORT = 0.002
"""Least share of the time for a phase to have a lane."""


def spans_of(files: RunFiles) -> Spans:
    """The phases in order from `phases.csv`, with the samples of `resources.csv`."""
    seconds = [value or 0.0 for value in numbers(files.phases, "wall_seconds")]
    names = list(files.phases.get("phase", ()))
    ends = list(accumulate(seconds))
    totals: dict[str, float] = {}
    for name, length in zip(names, seconds, strict=True):
        totals[name] = totals.get(name, 0.0) + length
    shown = [name for name, total in totals.items() if total >= _SHORT * (ends[-1] if ends else 0.0)]
    phases = {
        name: [
            (end - length, length)
            for other, length, end in zip(names, seconds, ends, strict=True)
            if other == name and length > 0
        ]
        for name in shown
    }
    begins = [end for name, end in zip(names, ends, strict=True) if name == STARTING]
    return Spans(phases, _meters(files, begins))


def _meters(files: RunFiles, begins: list[float]) -> list[tuple[str, ChartLine]]:
    samples = [value or 0.0 for value in numbers(files.resources, "seconds")]
    session, xs = 0, []
    for place, second in enumerate(samples):
        session += place > 0 and second < samples[place - 1]  # rows of another session begin near 0 again
        xs.append(second + (begins[min(session, len(begins) - 1)] if begins else 0.0))
    columns = {
        "CPU, % of a core": ("cpu_percent", 1.0),
        "device busy, %": ("device_utilisation", 0.01),
        "memory, GiB": ("host_bytes", GIB),
        "device memory, GiB": ("device_bytes", GIB),
    }
    result = []
    for title, (name, unit) in columns.items():
        values = numbers(files.resources, name)
        if any(value is not None for value in values):
            line = ChartLine(title, xs, [None if value is None else value / unit for value in values])
            result.append((title, line))
    return result
