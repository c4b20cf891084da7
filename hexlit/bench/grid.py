"""The measurements of one unit as a small table: ways as rows, batches as columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from hexlit.bench.measure import Measurement

DASH = "–"


@dataclass(frozen=True)
class Grid:
    """A table of medians, beside the longer list of measurements."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


def grid_of(lines: Sequence[Measurement], batches: Sequence[int]) -> Grid:
    """Medians of the forward pass by way and batch, and the longest refresh of each way.

    Args:
        lines: measurements whose `batch` is one of `batches`, of the same unit.
        batches: the columns.
    """
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
