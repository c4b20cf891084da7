"""The cost of a run of any length: hours and money for N epochs, at measured rates."""

from collections.abc import Sequence
from dataclasses import dataclass

from hexlit.reporting.pages.page import Cell, Column, Notes, Section, Table
from hexlit.reporting.pages.run_files import RunFiles, numbers
from hexlit.reporting.quantities import DASH, format_count, format_duration, format_rate

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


def lengths_of(files: RunFiles, asked: Sequence[int]) -> list[int]:
    """Numbers of epochs for the rows: those asked for, else that of the run and larger round ones."""
    if asked:
        return sorted(set(asked))
    planned = files.setting("trainer.max_epochs")
    own = {files.epochs, planned if isinstance(planned, int) else 0} - {0}
    longest = max(own, default=1)
    return sorted(own | {number for number in (10, 100, 1000, 10000) if number > longest} - {100000})[:5]


def cost_section(files: RunFiles, epochs: Sequence[int] = (), price: float | None = None) -> Section:
    """Hours, operations and, with a `price` per hour, money for runs of these `epochs`."""
    rates = rates_of(files)
    columns = [Column("epochs", number=True, kept=True), Column("hours", number=True), Column("time", number=True)]
    columns += [Column("cost", number=True)] if price is not None else []
    columns += [Column("floating-point operations", number=True)]
    rows = []
    for number in lengths_of(files, epochs):
        seconds, flops = rates.seconds(number), rates.flops(number)
        hours = DASH if seconds is None else f"{seconds / 3600:,.2f}"
        row: list[str | Cell] = [format_count(number), hours, Cell(format_duration(seconds), sort=seconds)]
        if price is not None:
            row.append(DASH if seconds is None else f"{price * seconds / 3600:,.2f}")
        row.append(Cell(flops_text(flops), sort=flops))
        rows.append(row)
    pace = format_duration(rates.epoch_seconds)
    measured = f"Measured on this machine: {pace} an epoch over {rates.epochs} epochs, and once "
    lines = [measured + f"{format_duration(rates.once_seconds)} for starting and compiling."]
    if price is None:
        lines.append("hexlit report RUN price=2.50 epochs=[100,1000] adds what an hour costs.")
    else:
        lines.append(f"At {price:g} an hour.")
    table = Table("Hours and cost by epochs", columns, rows, empty="No epoch has ended.")
    return Section("Cost", [Notes(lines, "quiet"), table])


def flops_text(flops: float | None) -> str:
    """`11.1 TFLOP`."""
    if flops is None:
        return DASH
    for factor, unit in ((1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP")):
        if flops >= factor:
            return f"{format_rate(flops / factor)} {unit}"
    return f"{format_rate(flops)} FLOP"
