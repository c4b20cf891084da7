"""The sections `sweep` and `hydra.sweeper` of the configuration. Nothing heavy is imported here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from hexlit.errors import UsageError

COMPARED_AT = ("epochs", "budget")
BUDGET_STEPS = 20
"""Steps that a budget is divided into."""
DIRECTIONS = ("minimize", "maximize")
DIRECTION_OF_MODE = {"min": "minimize", "max": "maximize"}
"""Direction of an objective by the run's `trainer.monitor_mode`."""
_LARGER_IS_BETTER = ("score", "rollouts_share", "optimality", "accuracy", "_right", "per_second")
_SMALLER_IS_BETTER = ("loss", "error", "flops", "seconds", "bytes", "_mb")


@dataclass
class SweepConfig:
    """How trials are judged, and what each of them may take of the machine."""

    objective: Any = None
    """Metric that the sweep is about, or a list of several, by its name in `metrics.csv`; its value at the end of a
    trial counts. Null: the run's `trainer.monitor`."""
    comparable: str | None = None
    """Loss that all trials weigh alike, whatever weights they train with: a metric's name without `train.` or `val.`,
    such as `comparable_loss`. It ranks the trials where the objective is a total loss. Null: `loss` is compared."""
    monitor: str | None = None
    """Metric that pruning looks at after each epoch; null: the objective."""
    report_every: int | None = None
    """Steps after which the monitored metric is reported, as its mean over them: a loss of the training, or what is
    logged in every step. Null: after every epoch in which it was measured."""
    compare_at: str = "epochs"
    """When the pruner compares trials: after as many `epochs`, or after as much of the `budget`: twentieths of
    `trainer.max_time` or `trainer.max_flops`, whichever is further spent. Its settings count in the same steps."""
    seeds: int = 1
    """Trainings of each trial, with the seeds `seed`, `seed` + 1, ...; the mean over them is reported, pruned on, and
    the trial's value."""
    resume: bool = False
    """Whether to go on with the study that the same command began."""
    join: bool = False
    """Whether to work, from a folder of its own, on the study `hydra.sweeper.study_name` that another process has begun
    in `hydra.sweeper.storage`, on this machine or another. `hydra.sweeper.n_trials` counts the trials of all."""
    devices: list[str] | None = None
    """Devices to spread the trials over, such as [cuda:0,cuda:1]; null: the one of `accelerator`."""
    slots: int | None = None
    """Trials that share a device at most, whichever sweep of this machine they belong to; null: as many as
    `hydra.sweeper.n_jobs`."""
    memory_budget: float | None = None
    """GiB of host memory that a trial may take, its processes together, before it is stopped."""
    device_memory_budget: float | None = None
    """GiB of device memory, likewise. Where the driver does not tell what a process takes, as in containers and on a
    Mac, it is what torch holds in the trial; a warning says so."""
    trial_timeout: float | None = None
    """Seconds after which a trial is stopped."""
    storage_timeout: float = 300.0
    """Seconds that a sweep and its trials wait for a server's database that no longer answers, before they end."""

    def __post_init__(self) -> None:
        self.objectives()
        if self.join and self.resume:
            raise UsageError("sweep.join=true: sweep.resume=true goes on in a folder that has joined; choose one")
        if self.comparable is not None and (
            not self.comparable or "." in self.comparable or self.comparable.endswith(_LARGER_IS_BETTER)
        ):
            raise UsageError(
                f"sweep.comparable={self.comparable}: name a loss without its data, such as comparable_loss for "
                "train.comparable_loss and val.comparable_loss"
            )
        if self.compare_at not in COMPARED_AT:
            raise UsageError(f"sweep.compare_at={self.compare_at}: choose {' or '.join(COMPARED_AT)}")
        if self.compare_at == "budget" and self.report_every is not None:
            raise UsageError(
                f"sweep.report_every={self.report_every}: counts steps, and sweep.compare_at=budget does not"
            )
        if self.seeds > 1 and self.report_every is not None:
            raise UsageError(f"sweep.report_every={self.report_every}: counts steps of one seed; sweep.seeds must be 1")
        for name, least in (("seeds", 1), ("report_every", 1), ("slots", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"sweep.{name}={value}: must be {least} or more")
        for name in ("memory_budget", "device_memory_budget", "trial_timeout", "storage_timeout"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise UsageError(f"sweep.{name}={value}: must be above 0")

    def objectives(self) -> list[str]:
        """The names of the objectives; none where the run's own `trainer.monitor` is the one."""
        if self.objective is None:
            return []
        names = [self.objective] if isinstance(self.objective, str) else self.objective
        if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) and name for name in names):
            raise UsageError(f"sweep.objective={self.objective}: the name of a metric, or a list of names")
        return list(names)


def directions_of(direction: Any, objectives: Sequence[str]) -> list[str]:
    """`minimize` or `maximize` for each objective; where `direction` is None, what its name suggests.

    Names of scores, accuracies and rates are maximised, those of losses, errors and costs minimised.
    """
    if direction is None:
        for name in objectives:
            if not name.endswith((*_LARGER_IS_BETTER, *_SMALLER_IS_BETTER)):
                raise UsageError(f"hydra.sweeper.direction=null: say whether to minimize or maximize {name}")
        return ["maximize" if name.endswith(_LARGER_IS_BETTER) else "minimize" for name in objectives]
    given = [direction] if isinstance(direction, str) or not isinstance(direction, Sequence) else list(direction)
    names = [getattr(entry, "name", entry) for entry in given]
    for name in names:
        if name not in DIRECTIONS:
            raise UsageError(f"hydra.sweeper.direction={name}: choose {' or '.join(DIRECTIONS)}")
    if len(names) != len(objectives):
        raise UsageError(
            f"hydra.sweeper.direction={','.join(names)}: sweep.objective has {len(objectives)} "
            f"({', '.join(objectives)}); one direction for each"
        )
    return names


@dataclass
class OptunaSweeperConf:
    """The node `hydra/sweeper=optuna`: a superset of that of the sweeper which Hydra's own plugin has."""

    _target_: str = MISSING
    _recursive_: bool = False
    defaults: list[Any] = field(default_factory=lambda: [{"sampler": "tpe"}, {"pruner": "median"}])

    sampler: Any = MISSING
    """How the next trial is chosen: an entry of the group, or any class of `optuna.samplers` by `_target_`."""
    pruner: Any = MISSING
    """When a trial is given up: an entry of the group, or any class of `optuna.pruners` by `_target_`."""
    direction: Any = None
    """`minimize`, `maximize`, or a list with one for each objective; null: what the objective's name suggests."""
    storage: str | None = None
    """Where the study is kept: null is a journal in the sweep's folder; a path is a journal there; or a URL such as
    `sqlite:///study.db`, `postgresql://user@host/name` or `mysql://user@host/name`. The password of a server is in the
    environment variable HEXLIT_STORAGE_PASSWORD."""
    study_name: str | None = None
    """Name of the study, and of the sweep's folder; null: one of its own for every sweep."""
    n_trials: int = 20
    """Trials to bring to an end, failed and pruned ones included."""
    n_jobs: int = 2
    """Trials side by side; each has its share of the cores."""
    timeout: float | None = None
    """Seconds after which no further trial begins."""
    max_failure_rate: float = 0.5
    """Share of failed trials above which the sweep ends (five trials at least count)."""
    params: dict[str, Any] | None = field(default_factory=dict)
    """The search space: `interval(a, b)`, `range(a, b, step)`, `choice(a, b)`, `tag(log, interval(a, b))`; values."""
    search_space: dict[str, Any] | None = None
    """The search space in the form that Hydra's plugin had first."""
    custom_search_space: str | None = None
    """Dotted path of a function `(config, trial) -> None` that asks the trial for more parameters."""


@dataclass
class TPE:
    """Tree-structured Parzen estimator (Bergstra et al. 2011), for one objective or several."""

    _target_: str = "optuna.samplers.TPESampler"
    seed: int | None = None
    consider_prior: bool | None = None
    prior_weight: float | None = None
    consider_magic_clip: bool | None = None
    consider_endpoints: bool | None = None
    n_startup_trials: int = 10
    n_ei_candidates: int = 24
    multivariate: bool | None = None
    group: bool | None = None
    constant_liar: bool | None = None
    warn_independent_sampling: bool | None = None


@dataclass
class MultiObjectiveTPE(TPE):
    """The older name of TPE for several objectives."""

    n_ehvi_candidates: int | None = None


@dataclass
class RandomSearch:
    """Independent uniform draws."""

    _target_: str = "optuna.samplers.RandomSampler"
    seed: int | None = None


@dataclass
class CMAES:
    """Covariance matrix adaptation (Hansen 2016), for numbers."""

    _target_: str = "optuna.samplers.CmaEsSampler"
    seed: int | None = None
    x0: dict[str, Any] | None = None
    sigma0: float | None = None
    n_startup_trials: int | None = None
    independent_sampler: Any = None
    warn_independent_sampling: bool | None = None
    consider_pruned_trials: bool | None = None
    restart_strategy: Any = None
    popsize: int | None = None
    inc_popsize: int | None = None
    use_separable_cma: bool | None = None
    with_margin: bool | None = None
    lr_adapt: bool | None = None
    source_trials: Any = None


@dataclass
class NSGAII:
    """Genetic search for several objectives (Deb et al. 2002)."""

    _target_: str = "optuna.samplers.NSGAIISampler"
    seed: int | None = None
    population_size: int = 50
    mutation_prob: float | None = None
    crossover: Any = None
    crossover_prob: float = 0.9
    swapping_prob: float = 0.5
    constraints_func: Any = None


@dataclass
class NSGAIII(NSGAII):
    """Genetic search for many objectives (Deb and Jain 2014)."""

    _target_: str = "optuna.samplers.NSGAIIISampler"
    dividing_parameter: int = 3


@dataclass
class QMC:
    """A quasi-random sequence, which covers a space more evenly than random draws (Sobol or Halton)."""

    _target_: str = "optuna.samplers.QMCSampler"
    seed: int | None = None
    qmc_type: str = "sobol"
    scramble: bool = True
    independent_sampler: Any = None
    warn_asynchronous_seeding: bool = False
    warn_independent_sampling: bool | None = None


@dataclass
class GaussianProcess:
    """Bayesian optimisation with a Gaussian process, for few and expensive trials."""

    _target_: str = "optuna.samplers.GPSampler"
    seed: int | None = None
    n_startup_trials: int = 10
    deterministic_objective: bool = False
    independent_sampler: Any = None
    warn_independent_sampling: bool | None = None


@dataclass
class Grid:
    """Every combination of the discrete parameters, once."""

    _target_: str = "optuna.samplers.GridSampler"
    _partial_: bool = True
    seed: int | None = None


SAMPLERS = {
    "tpe": TPE,
    "motpe": MultiObjectiveTPE,
    "random": RandomSearch,
    "cmaes": CMAES,
    "nsgaii": NSGAII,
    "nsgaiii": NSGAIII,
    "qmc": QMC,
    "gp": GaussianProcess,
    "grid": Grid,
}
"""Entries of the group `hydra/sweeper/sampler`."""
