"""`hexlit.measure`: how fast this machine works, as a data frame."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hexlit.api.arguments import overrides
from hexlit.api.frames import frame
from hexlit.bench.config import BenchConfig
from hexlit.commands.bench import measured, of_train, split
from hexlit.commands.in_process import settings_of, untouched_process
from hexlit.commands.tasks import register
from hexlit.tasks.run_config import RunConfig

if TYPE_CHECKING:
    import pandas as pd

    from hexlit.bench.report import Report


class Bench:
    """The results of one measurement.

    Attributes:
        report: all of it.
    """

    def __init__(self, report: "Report") -> None:
        """As above."""
        self.report = report

    @property
    def lines(self) -> "pd.DataFrame":
        """A row a measurement: `what`, `device`, `precision`, `median` work a second, and others."""
        return frame(asdict(line) for line in self.report.lines)

    @property
    def findings(self) -> list[str]:
        """Conclusions from the figures, one sentence each."""
        return list(self.report.said)

    def _repr_html_(self) -> str:
        from hexlit.reporting.bench import bench_page
        from hexlit.reporting.html import notebook

        return notebook(bench_page(self.report))


def measure(*arguments: str, **settings: Any) -> Bench:
    """Measure this machine as `hexlit bench` does with the same settings.

    Args:
        arguments: overrides as on the command line, such as `"what=forward"`.
        settings: overrides with values of Python, such as `what="train"`, `task="forecast"` or `seconds=0.1`.

    Raises:
        UsageError: a mistake, in one line that says what would be right.

    >>> import hexlit
    >>> hexlit.measure(what="nothing")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: what=nothing: choose one of games, search, forward, ...
    """
    with untouched_process():
        return Bench(_report(overrides(arguments, settings)))


def _report(argv: list[str]) -> "Report":
    if not of_train(argv):
        return measured(settings_of("bench", [argument for argument in argv if argument != "task=hex"], BenchConfig))
    whole = argv if any(argument.startswith("task=") for argument in argv) else ["task=hex", *argv]
    register(whole)
    asked, rest = split(whole)
    return measured(asked, settings_of("bench_task", rest, RunConfig))
