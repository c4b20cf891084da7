"""The table of tasks for `hexlit train task=NAME`. Nothing heavy is imported until a task is
chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from hexlit.commands.application import register_schema
from hexlit.errors import UsageError
from hexlit.settings import TASK_GROUP, entry_points_of, loaded
from hexlit.tasks.run_config import RunConfig
from hexlit.tasks.warmup import Warmup

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT = "hex"


@dataclass(frozen=True)
class TaskEntry:
    """The places of a task's parts, each written `module:name`."""

    settings: str
    """Its configuration, a dataclass derived from `hexlit.tasks.run_config.RunConfig`; imports no
    torch.
    """
    make: str
    """Makes the task: `make(settings, console)`, or `make(settings, console, warmup)` of a task
    with a `warmup`.
    """
    warmup: str | None = None
    """Its class derived from `hexlit.tasks.warmup.Warmup`, made by `warmup(settings)`."""
    predict: str | None = None
    """Applies a trained network to a file: `predict(checkpoint, source, target)`, all paths;
    returns text to print.
    """
    predict_text: str | None = None
    """Applies it to one text: `predict_text(checkpoint, text)`; returns the text to print."""
    evaluate: str | None = None
    """Measures a trained network again: `evaluate(checkpoint, **settings)`; returns plain
    values.
    """
    report: str | None = None
    """Its sections in the report of a run: `report(files)`, which reads
    `hexlit.reporting.run_files.RunFiles`.
    """
    data_table: str | None = None
    """The data of a run as a table of pyarrow: `data_table(settings)`, a row per example, with its
    `split`.
    """
    judged_table: str | None = None
    """Examples with the network's answers: `judged_table(settings, checkpoint, split)`."""
    conf: str | None = None
    """Package with the YAML files of an external task, such as `mine.conf`: `task/NAME.yaml` and
    others.
    """

    def make_warmup(self, settings: RunConfig) -> Warmup:
        """Start the work that needs no torch."""
        if self.warmup is None:
            return Warmup()
        warmup: Warmup = resolve_name(self.warmup)(settings)
        return warmup

    def make_task(self, settings: RunConfig, console: "Console", warmup: Warmup) -> Any:
        """Import and make the task, a `hexlit.training.task.Task`."""
        make = resolve_name(self.make)
        if self.warmup is None:
            return make(settings, console)
        return make(settings, console, warmup)


TASKS = {
    "hex": TaskEntry(
        settings="hexlit.tasks.hex.config:HexTrainConfig",
        make="hexlit.commands.hex_task:make",
        warmup="hexlit.tasks.hex.warmup:HexWarmup",
        evaluate="hexlit.commands.strength_run:evaluate",
        report="hexlit.tasks.hex.report:report_sections",
    ),
    "forecast": TaskEntry(
        settings="hexlit.tasks.forecast.config:ForecastTrainConfig",
        make="hexlit.tasks.forecast.task:ForecastTask",
        predict="hexlit.tasks.forecast.evaluation:predict",
        report="hexlit.reporting.forecasts:report_sections",
        data_table="hexlit.tasks.forecast.evaluation:data_table",
        judged_table="hexlit.tasks.forecast.evaluation:judged_table",
    ),
    "classify": TaskEntry(
        settings="hexlit.tasks.classify.config:ClassifyTrainConfig",
        make="hexlit.tasks.classify.task:ClassifyTask",
        predict="hexlit.tasks.classify.evaluation:predict",
        predict_text="hexlit.tasks.classify.evaluation:predict_text",
        report="hexlit.reporting.classification:report_sections",
        data_table="hexlit.tasks.classify.evaluation:data_table",
        judged_table="hexlit.tasks.classify.evaluation:judged_table",
    ),
}
"""hexlit's own tasks, by name."""


@cache
def known_tasks() -> Mapping[str, TaskEntry]:
    """The tasks of hexlit and of other packages by name; hexlit's own name takes precedence."""
    names = sorted(entry_points_of(TASK_GROUP).names)
    return {**{name: loaded(TASK_GROUP, name, "task") for name in names}, **TASKS}


def part_of(task: str, part: str) -> Any:
    """Import and return a part of a task, a field of `TaskEntry`.

    Raises:
        UsageError: the task has no such part; names those that have it.
    """
    place = getattr(known_tasks().get(task), part, None)
    if place is None:
        able = ", ".join(
            sorted(name for name, entry in known_tasks().items() if getattr(entry, part))
        )
        raise UsageError(f"task={task}: has no {part}; the tasks with one are {able}")
    return resolve_name(place)


class TaskConfigs(SearchPathPlugin):
    """Lets Hydra find the YAML files of tasks from other packages."""

    entries: ClassVar[dict[str, TaskEntry]] = {}
    """The tasks that Hydra knows."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for name, entry in self.entries.items():
            if entry.conf is not None:
                search_path.append(provider=f"task {name}", path=f"pkg://{entry.conf}")


def _named_tasks(arguments: Sequence[str]) -> set[str]:
    """The default task, and those of `task=NAME` or `task=NAME,NAME` in `arguments`."""
    names = {DEFAULT}
    for argument in arguments:
        if argument.startswith("task="):
            names.update(argument.removeprefix("task=").strip("'\"").split(","))
    return names - {""}


def register(arguments: Sequence[str] | None = None) -> None:
    """Make tasks known to Hydra: their schemas, each as `NAME_schema`, and the places of their YAML
    files.

    By default these are the tasks in `arguments` and the default one. All tasks are registered
    without arguments, for `--info`, and for an unknown name. Registering more than needed would
    slow the command line down.
    """
    needed = _named_tasks(arguments or ())
    if arguments is None or "--info" in arguments or not needed <= TASKS.keys():
        needed = set(known_tasks())
    for name in sorted(needed - TaskConfigs.entries.keys()):
        # The table of all tasks reads the entry points of all packages, which takes time.
        entry = TASKS[name] if name in TASKS else known_tasks()[name]
        TaskConfigs.entries[name] = entry
        register_schema(name, resolve_name(entry.settings))
    Plugins.instance().register(TaskConfigs)
