"""The sections `sweep` and `hydra.sweeper` of the configuration. Nothing heavy is imported here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from hexlit.errors import UsageError
from hexlit.settings import Settings, check_word, number, one_of

COMPARED_AT = ("epochs", "budget")
BUDGET_STEPS = 20
"""Steps that a budget is divided into."""
DIRECTIONS = ("minimize", "maximize")
DIRECTION_OF_MODE = {"min": "minimize", "max": "maximize"}
"""Direction of an objective by the run's `trainer.monitor_mode`."""


@dataclass
class SweepSettings(Settings):
    """How a sweep of any Hydra program runs, and how much of the machine each trial may take."""

    objective: Any = None
    """Name of the number that the program returns, or a list of several. Null: `value`."""
    resume: bool = False
    """Whether to continue the study that the same command began."""
    join: bool = False
    """Whether to work on a study that another process has begun, on this machine or another.
    `hydra.sweeper.storage` and `hydra.sweeper.study_name` say which one. The sweep has a folder of
    its own; `hydra.sweeper.n_trials` counts the trials of all processes.
    """
    devices: list[str] | None = None
    """Devices to spread the trials over, such as [cuda:0,cuda:1]. Null: the one of `accelerator`;
    trials of programs without this section see all devices.
    """
    slots: int | None = number(None, "[1, inf)")
    """Most trials that share a device, counted over all sweeps of this machine. Null:
    `hydra.sweeper.n_jobs`.
    """
    memory_budget: float | None = number(None, "(0, inf)", unit="GiB")
    """Host memory that a trial may take, in GiB, over all its processes. A trial that takes more is
    stopped.
    """
    device_memory_budget: float | None = number(None, "(0, inf)", unit="GiB")
    """Device memory that a trial may take, in GiB. A trial that takes more is stopped. Drivers in
    containers and on a Mac do not report what a process takes. There torch's own figure counts, and
    a warning says so.
    """
    trial_timeout: float | None = number(None, "(0, inf)", unit="seconds")
    """Longest time of a trial, in seconds. A trial that takes longer is stopped."""
    storage_timeout: float = number(300.0, "(0, inf)", unit="seconds")
    """Longest wait for a database server that no longer answers, in seconds. Then the sweep and its
    trials end.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.objectives()
        if self.join and self.resume:
            key = self.section
            raise UsageError(
                f"{key}.join=true: {key}.resume=true continues a folder that has joined; choose one"
            )

    def objectives(self) -> list[str]:
        """The names of the objectives; none where the run's own `trainer.monitor` is the
        objective.
        """
        if self.objective is None:
            return []
        names = [self.objective] if isinstance(self.objective, str) else self.objective
        if (
            not isinstance(names, Sequence)
            or not names
            or not all(isinstance(name, str) and name for name in names)
        ):
            raise UsageError(
                f"{self.section}.objective={self.objective}: must be a name, or a list of names"
            )
        return list(names)


@dataclass
class SweepConfig(SweepSettings, section="sweep"):
    """How trials are judged, and how much of the machine each may take."""

    objective: Any = None
    """Metric to optimise, or a list of several, by name in `metrics.csv`. Its value at the end of a
    trial counts. Null: the run's `trainer.monitor`.
    """
    comparable: str | None = None
    """Loss that all trials weigh alike, whatever weights they train with. It is a metric's name
    without `train.` or `val.`, such as `comparable_loss`. It ranks the trials where the objective
    is a total loss. Null: `loss`.
    """
    monitor: str | None = None
    """Metric that the pruner compares. Null: the objective."""
    compare_at: str = one_of(COMPARED_AT, "epochs")
    """When the pruner compares trials. `epochs`: after equally many epochs. `budget`: after equally
    many twentieths of `trainer.max_time` or `trainer.max_flops`, whichever is spent further. The
    pruner's own settings count in the same steps.
    """
    seeds: int = number(1, "[1, inf)")
    """Trainings per trial, with the seeds `seed`, `seed` + 1, ... Their mean is reported and is the
    trial's value.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.comparable
        if name is not None and (not name or "." in name):
            raise UsageError(
                f"sweep.comparable={name}: name a loss without its data, such as comparable_loss"
            )


@dataclass
class ProgramSweep(SweepConfig, section="hydra.sweeper"):
    """The sweep of a program without a section `sweep`."""


def directions_of(direction: Any, judged: SweepConfig) -> list[str]:
    """`minimize` or `maximize` for each objective."""
    given = [direction]
    if isinstance(direction, Sequence) and not isinstance(direction, str):
        given = list(direction)
    names = [getattr(entry, "name", entry) for entry in given]
    objectives = judged.objectives()
    if direction is None:
        raise UsageError(
            f"{judged.section}.objective={','.join(objectives)}: needs hydra.sweeper.direction=minimize "
            "or maximize"
        )
    for name in names:
        check_word("hydra.sweeper.direction", name, DIRECTIONS)
    if len(names) != len(objectives):
        raise UsageError(
            f"hydra.sweeper.direction={','.join(names)}: {judged.section}.objective has "
            f"{len(objectives)} ({', '.join(objectives)}); one direction for each"
        )
    return names


@dataclass
class OptunaSweeperConf:
    """Sweeps by Optuna, with --multirun: hydra/sweeper=optuna or sweep=NAME."""

    _target_: str = MISSING
    _recursive_: bool = False
    defaults: list[Any] = field(default_factory=lambda: [{"sampler": "tpe"}, {"pruner": "median"}])

    sampler: Any = MISSING
    """Sampler of the next trial: an entry of the group, or any class of `optuna.samplers` by
    `_target_`.
    """
    pruner: Any = MISSING
    """Pruner that ends hopeless trials: an entry of the group, or any class of `optuna.pruners` by
    `_target_`.
    """
    direction: Any = one_of(DIRECTIONS, None)
    """`minimize`, `maximize`, or a list with one for each objective of `sweep.objective`. Null: the
    run's `trainer.monitor_mode`, for its `trainer.monitor`.
    """
    storage: str | None = None
    """Storage of the study: a path (a journal file) or a URL, such as `sqlite:///study.db`,
    `postgresql://user@host/name` or `mysql+pymysql://user@host/name`. The environment variable
    HEXLIT_STORAGE_PASSWORD holds a server's password. Null: a journal in the sweep's folder.
    """
    study_name: str | None = None
    """Name of the study, and of the sweep's folder. Null: a new name for every sweep."""
    n_trials: int = number(20, "[1, inf)")
    """Number of trials to finish, failed and pruned ones included."""
    n_jobs: int = number(2, "[1, inf)")
    """Trials that run at the same time; each gets its share of the cores."""
    timeout: float | None = number(None, "(0, inf)", unit="seconds")
    """Time limit for starting new trials, in seconds. Running trials still finish."""
    max_failure_rate: float = number(0.5, "[0, 1]")
    """Share of failed trials above which the sweep ends. It is taken over five trials or more."""
    params: dict[str, Any] | None = field(default_factory=dict)
    """Search space: values, `interval(a, b)`, `range(a, b, step)`, `choice(a, b)`, or `tag(log,
    interval(a, b))`.
    """


@dataclass
class ProgramSweeperConf(OptunaSweeperConf, SweepSettings, section="hydra.sweeper"):
    """Sweeps of any Hydra program; what hexlit's tasks have in the section `sweep` is here."""
