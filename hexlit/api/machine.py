"""`hexlit.doctor`: devices, precisions, memory and versions of this machine."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hexlit.api.interface import DataFrame, frame, overrides, pandas_here
from hexlit.bench.config import BenchConfig
from hexlit.commands.application import typed
from hexlit.commands.bench import OWN_KEYS, measured
from hexlit.commands.composing import is_for_train, settings_apart
from hexlit.commands.in_process import settings_of, untouched_process
from hexlit.commands.tasks import register
from hexlit.commands.train import whole_arguments
from hexlit.reporting.bench import bench_page
from hexlit.reporting.doctor import doctor_page
from hexlit.reporting.html import notebook
from hexlit.reporting.text import markdown
from hexlit.tasks.run_config import RunConfig

if TYPE_CHECKING:
    from hexlit.bench.measure import Report


@dataclass(repr=False)
class Checkup:
    """Findings on this machine; a notebook shows the report of `hexlit doctor`.

    Attributes:
        found: all of it, the plain values of `hexlit doctor json=true`.
    """

    found: dict[str, Any]

    @property
    def devices(self) -> DataFrame:
        """Each device with what works on it; a missing one says why in `reasons`."""
        return frame(self.found["devices"])

    @property
    def versions(self) -> DataFrame:
        """`package` and `version` of all that counts; None where it is not installed."""
        return frame(self.found["versions"].items(), ("package", "version"))

    def __str__(self) -> str:
        """The report of `hexlit doctor` as Markdown."""
        return markdown(doctor_page(self.found))

    def _repr_html_(self) -> str:
        return notebook(doctor_page(self.found))


def profiles(*arguments: str, **settings: Any) -> DataFrame:
    """Settings that a run would have on each type of device: a column a device, also of those that
    are not here.

    Args:
        arguments: overrides of `hexlit.train` as on the command line.
        settings: overrides with values of Python, such as `task="classify"`.

    Raises:
        UsageError: a mistake, in one line that says what would be right.

    >>> import hexlit
    >>> hexlit.profiles(task="classify").loc["train_batch"].to_dict()
    {'cpu': 16, 'cuda': 32, 'mps': 64}
    """
    chosen = settings_of(
        "train", overrides(arguments, settings), RunConfig, prepare=whole_arguments
    )
    from hexlit.accelerate.profile import every_profile

    with untouched_process():
        result = every_profile(chosen.hardware, chosen.device_defaults)
    columns = {
        kind: {"on this machine": "no" if lacks else "yes", **vars(one)}
        for kind, (one, lacks) in result.items()
    }
    return pandas_here().DataFrame(columns, dtype=object).drop(index="config")


def doctor(compile: bool = False) -> Checkup:
    """Look at this machine as `hexlit doctor` does: devices, precisions, memory, versions.

    Args:
        compile: whether `torch.compile` is tried, too, which takes most of the time.

    >>> import hexlit
    >>> checkup = hexlit.doctor()
    >>> "cpu" in checkup.devices["device"].tolist(), "torch" in checkup.versions["package"].tolist()
    (True, True)
    """
    from hexlit.accelerate.inspection import inspect_machine

    with untouched_process():
        return Checkup(inspect_machine(compile=compile))


@dataclass
class Bench:
    """The results of one measurement.

    Attributes:
        report: all of it.
    """

    report: "Report"

    @property
    def lines(self) -> DataFrame:
        """A row a measurement: `what`, `device`, `precision`, `median` work a second, and
        others.
        """
        return frame(asdict(line) for line in self.report.lines)

    @property
    def findings(self) -> list[str]:
        """Conclusions from the figures, one sentence each."""
        return list(self.report.findings)

    def _repr_html_(self) -> str:
        return notebook(bench_page(self.report))


def measure(*arguments: str, **settings: Any) -> Bench:
    """Measure this machine as `hexlit bench` does with the same settings.

    Args:
        arguments: overrides as on the command line, such as `"what=forward"`.
        settings: overrides with values of Python, such as `what="train"`, `task="forecast"` or
            `seconds=0.1`.

    Raises:
        UsageError: a mistake, in one line that says what would be right.

    >>> import hexlit
    >>> hexlit.measure(what="nothing")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: what=nothing: choose one of search, forward, train, ...
    """
    with untouched_process():
        argv = overrides(arguments, settings)
        if not is_for_train(argv):
            return Bench(
                measured(
                    settings_of("bench", [one for one in argv if one != "task=hex"], BenchConfig)
                )
            )
        register(argv)
        own, rest = settings_apart(argv, OWN_KEYS, "bench")
        return Bench(measured(typed(own, BenchConfig), settings_of("bench_task", rest, RunConfig)))
