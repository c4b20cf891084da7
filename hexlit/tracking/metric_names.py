"""The names of metrics: dots in `metrics.csv`, groups in Weights & Biases and TensorBoard. One
table maps them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

EPOCH = "epoch"


@dataclass(frozen=True)
class Metric:
    """A line of the table: metrics whose dotted names match `name`."""

    name: str
    """Dotted name, or a pattern of them such as `val.*_accuracy`."""
    shown: str | None = None
    """Grouped name; a `*` at its end is the text that the `*` of `name` matched. None: the first
    dot becomes the slash after the group.
    """
    best: str | None = None
    """Whether the highest (`max`) or the lowest (`min`) value is the best; None: neither end is
    better.
    """
    axis: bool = False
    """Whether it only grows, so that charts can be drawn over it."""


SHARED = (
    Metric("epoch", "epoch", axis=True),
    Metric("step", "train/step", axis=True),
    Metric("cost.flops", "cost/flops", axis=True),
    Metric("cost.actor_macs", "cost/actor_macs", axis=True),
    Metric("cost.seconds", "time/wall_seconds", axis=True),
    Metric("memory.*", "device/memory_*"),
    Metric("steps.skipped", "train/skipped_steps"),
    Metric("*.*loss", best="min"),
)
"""Lines that all tasks share."""


class MetricTable:
    """Looks names up: the lines of a task come before the common ones."""

    def __init__(self, lines: Iterable[Metric] = ()) -> None:
        """`lines` are the task's."""
        self._lines = (*lines, *SHARED)

    def grouped(self, name: str) -> str:
        """The name in groups, such as `train/loss` for `train.loss`; names without a dot stay."""
        line = next(
            (
                line
                for line in self._lines
                if line.shown is not None and fnmatchcase(name, line.name)
            ),
            None,
        )
        if line is None or line.shown is None:
            return name.replace(".", "/", 1)
        if not line.shown.endswith("*"):
            return line.shown
        return line.shown[:-1] + name.removeprefix(line.name.removesuffix("*"))

    def best(self, name: str) -> str | None:
        """`max` or `min` if that value of the metric with this dotted name is the best."""
        result = (
            line.best
            for line in self._lines
            if line.best is not None and fnmatchcase(name, line.name)
        )
        return next(result, None)

    @property
    def axes(self) -> list[str]:
        """Grouped names of the axes for charts, the common ones first."""
        return [
            self.grouped(line.name) for line in (*SHARED, *self._lines[: -len(SHARED)]) if line.axis
        ]
