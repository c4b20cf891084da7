"""The plan of a sweep, read from its configuration and checked before anything runs; its folder is
made or found.
"""

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from hexlit.accelerate.host import usable_cores
from hexlit.errors import UsageError
from hexlit.files import read_json
from hexlit.reporting.run_files import flat
from hexlit.settings import RANGE, check_number
from hexlit.tuning.config import DIRECTION_OF_MODE, OptunaSweeperConf, SweepConfig, directions_of
from hexlit.tuning.samplers import build_pruner, plain
from hexlit.tuning.space import arguments_of, grid_of, parse_space, render
from hexlit.tuning.storage import file_of, kind_of, refuse_password
from hexlit.tuning.sweep_folder import SWEEP_FILE

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner

VERSION = 1

_PARENT_SETTINGS = (
    *("hydra.sweeper.storage", "hydra.mode", "hydra.run", "hydra.sweep"),
    *("hydra.launcher", "hydra/launcher", "hydra.job.num"),
)
"""Hydra's settings for the sweep itself, left out of its trials (`hydra.sweeper` does no harm
there).
"""
_SESSION_SETTINGS = (
    *("storage", "sweep.resume", "sweep.join", "sweep.storage_timeout", "n_trials", "n_jobs"),
    *("timeout", "max_failure_rate", "hydra.sweep.dir"),
)
"""Settings that may differ between the command that continues a sweep and the one that began it."""
_PER_MACHINE_SETTINGS = ("accelerator", "logger", "data.path")
"""Settings that may differ between processes that work on one study."""


@dataclass(frozen=True)
class Plan:
    """A sweep, checked."""

    folder: Path
    study_name: str
    judged: SweepConfig
    """The section `sweep`, with the names of its objectives and of the monitored metric filled
    in.
    """
    settings: OptunaSweeperConf
    """The node `hydra.sweeper`, with a direction for each objective, and without a pruner where
    nothing is pruned.
    """
    pruner: "BasePruner"
    space: dict[str, "BaseDistribution"]
    overrides: list[str]
    """The user's fixed overrides for all trials."""
    recipe: list[str]
    """Values and the experiment that the search space fixes; a full training has to name them."""
    own_overrides: list[str]
    """Overrides that the sweep adds itself: a trial's share of the machine."""
    hydra_overrides: list[str]
    """Hydra's settings for the trials."""
    flags: list[str]
    """Flags of the command line for the trials."""
    command: list[str]
    """Identity of the sweep: two commands with the same list are the same sweep."""
    name: str
    """Name of the recipe."""
    seed: int | None
    sweep_id: str
    """Identifies the sweep."""

    @property
    def objectives(self) -> list[str]:
        return self.judged.objectives()

    @property
    def group(self) -> str:
        """Name that the sweep's runs share where they are logged."""
        return f"{self.name}-{self.folder.name}"

    @property
    def terms(self) -> dict[str, str]:
        """Settings that all processes of a study must share to keep trials comparable, by names for
        people.
        """
        terms: dict[str, Any] = {}
        for name in ("objective", "monitor", "comparable", "compare_at", "seeds"):
            terms[f"sweep.{name}"] = getattr(self.judged, name)
        terms["what is fixed"] = _without([*self.recipe, *self.overrides], _PER_MACHINE_SETTINGS)
        for name, distribution in self.space.items():
            terms[f"the space of {name}"] = distribution
        return {name: str(value) for name, value in terms.items()}


def make_plan(
    config: DictConfig, settings: Mapping[str, Any], arguments: Sequence[str], loader: Any
) -> Plan:
    """The plan of the composed `config`, the sweeper's `settings` and the task's overrides
    `arguments`.

    Makes the sweep's folder, or with `sweep.resume=true` finds it. `loader` is Hydra's, to compose
    with.

    Raises:
        UsageError: a setting is wrong, the study exists already, there is none to continue, or it
            was begun with other settings.
    """
    from optuna.pruners import NopPruner

    sweeper = OptunaSweeperConf(**{name: plain(value) for name, value in settings.items()})
    for one in fields(sweeper):
        if RANGE in one.metadata:
            check_number(
                f"hydra.sweeper.{one.name}", getattr(sweeper, one.name), one.metadata[RANGE]
            )
    space, fixed = parse_space([*arguments_of(sweeper.params or {}), *arguments])
    if not space:
        raise UsageError(
            "hydra.sweeper.params: nothing to search; choose sweep=NAME, or write KEY=interval(a,b)"
        )
    judged, sweeper.direction = _objectives(_checked(config), config, sweeper.direction)
    pruner = build_pruner(sweeper.pruner)
    if len(sweeper.direction) > 1 and not isinstance(pruner, NopPruner):
        if str(config.hydra.runtime.choices.get("hydra/sweeper/pruner")) not in ("None", "median"):
            raise UsageError(
                "hydra/sweeper/pruner: with several objectives nothing can be pruned; choose none"
            )
        pruner = NopPruner()
    if isinstance(pruner, NopPruner):
        sweeper.pruner = None
    if str(sweeper.sampler.get("_target_")).endswith(".GridSampler"):
        sweeper.n_trials = min(sweeper.n_trials, math.prod(map(len, grid_of(space).values())))
    hydra_overrides = [str(override) for override in config.hydra.overrides.hydra]
    refuse_password(sweeper.storage or "")
    command = _without([*arguments, *hydra_overrides], _SESSION_SETTINGS)
    folder, study_name = find_folder(config, sweeper, judged, hydra_overrides, command)
    sweeper.storage = absolute(sweeper.storage)
    return Plan(
        folder=folder,
        study_name=study_name,
        judged=judged,
        settings=sweeper,
        pruner=pruner,
        space=space,
        overrides=_without(
            [*fixed.values()], ("sweep.resume", "sweep.join", "sweep.storage_timeout")
        ),
        recipe=recipe_of(config, fixed, loader),
        own_overrides=_share_of_machine(config, sweeper.n_jobs, [*fixed, *space]),
        hydra_overrides=_without(hydra_overrides, _PARENT_SETTINGS),
        flags=_flags(config),
        command=command,
        name=str(config.get("name", "sweep")),
        seed=config.get("seed"),
        sweep_id=str(read_json(folder / SWEEP_FILE).get("id") or secrets.token_hex(4)),
    )


def _checked(config: DictConfig) -> SweepConfig:
    """The section `sweep`. The whole configuration is checked here, so that an error appears once,
    not per trial.
    """
    task = config.copy()
    with open_dict(task), read_write(task):
        del task["hydra"]
    try:
        settings: Any = OmegaConf.to_object(task)
    except OmegaConfBaseException as error:
        raise UsageError(str(error).splitlines()[0]) from error
    judged: SweepConfig = settings["sweep"] if isinstance(settings, dict) else settings.sweep
    return judged


def _objectives(
    judged: SweepConfig, config: DictConfig, direction: Any
) -> tuple[SweepConfig, list[str]]:
    """The sweep's objectives and their directions, filled in.

    Without objectives it is the run's `trainer.monitor`, which has its direction from
    `trainer.monitor_mode`.
    """
    monitor = OmegaConf.select(config, "trainer.monitor")
    objectives = judged.objectives() or [monitor]
    if objectives == [None]:
        raise UsageError(
            "sweep.objective=null: name a metric of metrics.csv; the run has no trainer.monitor"
        )
    if direction is None and objectives == [monitor]:
        direction = DIRECTION_OF_MODE.get(str(OmegaConf.select(config, "trainer.monitor_mode")))
    filled = replace(judged, objective=objectives, monitor=judged.monitor or objectives[0])
    return filled, directions_of(direction, objectives)


def sweep_facts(
    plan: Plan, *, started: float, finished: float | None, seconds: float
) -> dict[str, Any]:
    """The content of `sweep.json`."""
    settings = plan.settings
    facts: dict[str, Any] = {"version": VERSION, "id": plan.sweep_id, "storage": settings.storage}
    facts |= {name: getattr(plan, name) for name in ("name", "study_name", "objectives", "command")}
    facts |= {name: getattr(plan.judged, name) for name in ("monitor", "comparable", "seeds")}
    facts |= {name: getattr(settings, name) for name in ("n_trials", "n_jobs")}
    for name in ("sampler", "pruner"):
        node = getattr(settings, name)
        facts[name] = node and str(node["_target_"]).rpartition(".")[2]
    facts |= {"directions": settings.direction, "overrides": [*plan.recipe, *plan.overrides]}
    return facts | {"started": started, "finished": finished, "seconds": seconds}


def _share_of_machine(config: DictConfig, n_jobs: int, named: Sequence[str]) -> list[str]:
    """The trial's share of the cores, unless the user has set one; only where trials run side by
    side on this machine.

    The share is the same when no processes can be started and the trials run one after another.
    """
    if config.hydra.runtime.choices.get("hydra/launcher", "basic") != "basic":
        return []  # they run remotely
    key = "accelerator.threads"
    if (
        key in named
        or OmegaConf.select(config, "accelerator") is None
        or OmegaConf.select(config, key)
    ):
        return []
    return [f"{key}={max(1, usable_cores() // n_jobs)}"]


def _flags(config: DictConfig) -> list[str]:
    """The command line's flags that a trial needs too."""
    folders = [
        source.path
        for source in config.hydra.runtime.config_sources
        if source.provider == "command-line"
    ]
    flags = []
    for folder in folders:
        flags += ["--config-dir", str(folder)]
    return flags


def _without(overrides: Sequence[str], keys: tuple[str, ...]) -> list[str]:
    """`overrides` without those of `keys`, of anything below them, and of settings of the sweeper
    with these names.
    """

    def dropped(override: str) -> bool:
        key = override.lstrip("+~").partition("=")[0].partition("@")[0]
        return any(
            key == one or key.startswith(f"{one}.") or key == f"hydra.sweeper.{one}" for one in keys
        )

    return [override for override in overrides if not dropped(override)]


def find_folder(
    config: DictConfig,
    settings: OptunaSweeperConf,
    judged: SweepConfig,
    hydra_overrides: Sequence[str],
    command: list[str],
) -> tuple[Path, str]:
    """Folder and name of the study; the folder is made.

    Raises:
        UsageError: the folder has a sweep already, or none to continue; or no setting names the
            study to join.
    """
    if judged.join and None in (settings.storage, settings.study_name):
        raise UsageError(
            "sweep.join=true: needs hydra.sweeper.storage=URL and hydra.sweeper.study_name=NAME"
        )
    folder = Path(str(config.hydra.sweep.dir)).absolute()
    name = settings.study_name
    own_folder = any(override.startswith("hydra.sweep.dir=") for override in hydra_overrides)
    if name is not None and not own_folder:
        if not re.fullmatch(r"[\w-][\w.-]*", name):
            raise UsageError(
                f"hydra.sweeper.study_name={name}: names a folder; use letters, digits, '-', '_' and '.'"
            )
        folder = folder.parent / name
    if judged.resume and name is None and not own_folder:
        folder = _latest_of(folder.parent, command)
    facts = read_json(folder / SWEEP_FILE)
    if facts and not judged.resume:
        raise UsageError(
            f"hydra.sweeper.study_name={facts.get('study_name')}: {folder} has this study already; sweep.resume=true "
            "continues it, hydra.sweep.dir=FOLDER begins another"
        )
    if judged.resume and not facts:
        raise UsageError(f"sweep.resume=true: {folder} holds no sweep to continue")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"hydra.sweep.dir={folder}: cannot be made ({error.strerror})") from error
    study_name = facts.get("study_name") or name or f"{config.get('name', 'sweep')}-{folder.name}"
    return folder, str(study_name)


def _latest_of(runs: Path, command: list[str]) -> Path:
    """The latest sweep below `runs` that this `command` began."""
    same = []
    for path in runs.glob(f"*/{SWEEP_FILE}"):
        facts = read_json(path)
        if facts and facts.get("command") == command:
            same.append((facts["started"], path.parent))
    if not same:
        raise UsageError(
            f"sweep.resume=true: this command has begun no sweep in {runs}; name one with hydra.sweep.dir=FOLDER"
        )
    return max(same)[1]


def absolute(storage: str | None) -> str | None:
    """A storage in a file by its absolute path, wherever trials and readers are."""
    path = None if storage is None else file_of(storage)
    if storage is None or path is None or str(path).startswith(("file:", ":")):
        return storage
    if kind_of(storage)[0] == "sqlite":
        scheme, _, query = storage.partition("?")
        query = f"?{query}" if query else ""
        return (
            f"{scheme.partition('://')[0]}:///{path.absolute()}{query}"
            if str(path) != "."
            else storage
        )
    return str(path.absolute())


def recipe_of(config: DictConfig, fixed: Mapping[str, str], loader: Any) -> list[str]:
    """The overrides that turn the configuration without the search space into this one.

    A full training can start with them, without the search space.
    """
    from hydra.types import RunMode

    choices = config.hydra.runtime.choices
    if str(choices.get("sweep", "none")) == "none":
        return []
    chosen = choices.get("experiment")
    recipe = [] if chosen is None or "experiment" in fixed else [f"experiment={chosen}"]
    without = [line for line in fixed.values() if not line.startswith(("sweep=", "sweep."))]
    bare = loader.load_configuration(
        str(config.hydra.job.config_name), [*without, *recipe, "sweep=none"], RunMode.RUN
    )
    before, after = (
        dict(flat(OmegaConf.to_container(one, resolve=False))) for one in (bare, config)
    )
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return recipe + [
        render(key, value)
        for key, value in changed.items()
        if not key.startswith(("hydra.", "sweep."))
    ]
