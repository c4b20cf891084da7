"""The plan of a sweep, read from its configuration and checked before anything runs; its folder is made or found."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from hexlit.accelerate.host import usable_cores
from hexlit.accelerate.machine import read_process_file
from hexlit.errors import UsageError
from hexlit.files import read_json
from hexlit.tuning.config import DIRECTION_OF_MODE, SweepConfig, directions_of
from hexlit.tuning.samplers import build_pruner, plain
from hexlit.tuning.space import arguments_of, fixed_overrides, grid_of, parse_space, render, space_from_mapping
from hexlit.tuning.storage import file_of, hidden_password, kind_of, refuse_password_in
from hexlit.tuning.sweep_folder import SWEEP_FILE

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner

VERSION = 1

_OF_THE_PARENT = (
    "hydra.sweeper.storage",
    "hydra.mode",
    "hydra.run",
    "hydra.sweep",
    "hydra.launcher",
    "hydra/launcher",
    "hydra.job.num",
)
"""Hydra's settings for the sweep itself, left out of its trials (`hydra.sweeper` does no harm there)."""
_OF_ONE_SESSION = (
    "storage",
    "sweep.resume",
    "sweep.join",
    "sweep.storage_timeout",
    "n_trials",
    "n_jobs",
    "timeout",
    "max_failure_rate",
    "hydra.sweep.dir",
)
"""Settings that may differ between the command that continues a sweep and the one that began it."""
_OF_THE_MACHINE = ("accelerator", "logger", "data.path")
"""Settings that may differ between processes that work on one study."""


@dataclass(frozen=True)
class Plan:
    """A sweep, checked."""

    folder: Path
    study_name: str
    storage: str | None
    resume: bool
    judged: SweepConfig
    objectives: list[str]
    directions: list[str]
    space: dict[str, "BaseDistribution"]
    custom: Callable[[DictConfig, Any], None] | None
    """Asks a trial for more parameters."""
    overrides: list[str]
    """The user's fixed overrides for all trials."""
    recipe: list[str]
    """Values and the experiment that the search space fixes; a full training has to name them."""
    own_overrides: list[str]
    """Overrides that the sweep adds itself: a trial's share of the machine."""
    hydra_overrides: list[str]
    """Hydra's own settings for the trials."""
    flags: list[str]
    """Flags of the command line for the trials."""
    command: list[str]
    """Identity of the sweep: two commands with the same list are the same sweep."""
    name: str
    """Name of the recipe."""
    sampler: Any
    """The node `hydra.sweeper.sampler`."""
    pruner: "BasePruner"
    pruner_node: dict[str, Any] | None
    """The node `hydra.sweeper.pruner`; None without pruning."""
    seed: int | None
    sweep_id: str
    """Tells the sweep from all others."""
    n_trials: int
    n_jobs: int
    timeout: float | None
    max_failure_rate: float

    @property
    def group(self) -> str:
        """Name that the sweep's runs share where they are logged."""
        return f"{self.name}-{self.folder.name}"

    @property
    def terms(self) -> dict[str, str]:
        """Settings that all processes of a study must share to keep trials comparable, by names for people."""
        judged = self.judged
        searched = {f"the space of {name}": str(result) for name, result in self.space.items()}
        custom = None if self.custom is None else f"{self.custom.__module__}.{self.custom.__qualname__}"
        message = {
            "sweep.objective": self.objectives,
            "sweep.monitor": self.monitor,
            "sweep.comparable": judged.comparable,
            "sweep.compare_at": judged.compare_at,
            "sweep.report_every": judged.report_every,
            "sweep.seeds": judged.seeds,
            "hydra.sweeper.custom_search_space": custom,
            "what is fixed": _without([*self.recipe, *self.overrides], _OF_THE_MACHINE),
        }
        return {name: str(value) for name, value in message.items()} | searched

    @property
    def monitor(self) -> str:
        """The metric that pruning looks at."""
        return self.judged.monitor or self.objectives[0]


def make_plan(config: DictConfig, settings: Mapping[str, Any], arguments: Sequence[str], loader: Any) -> Plan:
    """The plan of the composed `config`, the sweeper's `settings` and the task's overrides `arguments`.

    Makes the sweep's folder, or with `sweep.resume=true` finds it. `loader` is Hydra's, to compose with.

    Raises:
        UsageError: a setting is wrong, the study exists already, there is none to continue, or it was begun with
            other settings.
    """
    from optuna.pruners import NopPruner

    judged = _checked(config)
    params = plain(settings["params"]) or {}
    older = space_from_mapping(plain(settings["search_space"])) if settings["search_space"] and not params else {}
    swept, fixed = parse_space([*arguments_of(params), *arguments])
    space = {name: result for name, result in {**older, **swept}.items() if name not in fixed}
    custom = _function(settings["custom_search_space"])
    if not space and custom is None:
        raise UsageError(
            "hydra.sweeper.params: there is nothing to search; choose a space (sweep=NAME), or write KEY=interval(a,b)"
        )
    objectives, directions = _objectives(judged, config, plain(settings["direction"]))
    pruner = build_pruner(settings["pruner"])
    if len(objectives) > 1 or isinstance(pruner, NopPruner):
        if not isinstance(pruner, NopPruner) and _chosen(config, "hydra/sweeper/pruner"):
            raise UsageError("hydra/sweeper/pruner: with several objectives nothing can be pruned; choose none")
        pruner, pruner_node = NopPruner(), None
    else:
        pruner_node = plain(settings["pruner"])
    n_trials, n_jobs = (_at_least_one(settings, name) for name in ("n_trials", "n_jobs"))
    if str(plain(settings["sampler"]).get("_target_")).endswith(".GridSampler"):
        points = 1
        for values in grid_of(space).values():
            points *= len(values)
        n_trials = min(n_trials, points)
    rate, timeout = settings["max_failure_rate"], settings["timeout"]
    if not 0 <= rate <= 1:
        raise UsageError(f"hydra.sweeper.max_failure_rate={rate}: a share lies between 0 and 1")
    if timeout is not None and not timeout > 0:
        raise UsageError(f"hydra.sweeper.timeout={timeout}: must be above 0 seconds")
    hydra_overrides = [str(override) for override in config.hydra.overrides.hydra]
    refuse_password_in(list(OmegaConf.to_container(config.hydra.overrides.hydra, resolve=False)))  # type: ignore[arg-type]
    command = _without([*arguments, *hydra_overrides], _OF_ONE_SESSION)
    folder, study_name = find_place(config, settings, judged, hydra_overrides, command)
    plan = Plan(
        folder=folder,
        study_name=study_name,
        storage=absolute(settings["storage"]),
        resume=judged.resume,
        judged=judged,
        objectives=objectives,
        directions=directions,
        space=space,
        custom=custom,
        overrides=_without(fixed_overrides(fixed), ("sweep.resume", "sweep.join", "sweep.storage_timeout")),
        recipe=recipe_of(config, fixed, loader),
        own_overrides=_share_of_machine(config, n_jobs, [*fixed, *space]),
        hydra_overrides=_without(hydra_overrides, _OF_THE_PARENT),
        flags=_flags(config),
        command=command,
        name=str(config.get("name", "sweep")),
        sampler=settings["sampler"],
        pruner=pruner,
        pruner_node=pruner_node,
        seed=config.get("seed"),
        sweep_id=str(read_json(folder / SWEEP_FILE).get("id") or secrets.token_hex(4)),
        n_trials=n_trials,
        n_jobs=n_jobs,
        timeout=timeout,
        max_failure_rate=rate,
    )
    _refuse_changes(plan, read_json(folder / SWEEP_FILE))
    return plan


def _checked(config: DictConfig) -> SweepConfig:
    """The section `sweep`. The whole configuration is checked here, so that an error appears once, not per trial."""
    task = config.copy()
    with open_dict(task), read_write(task):
        del task["hydra"]
    try:
        settings: Any = OmegaConf.to_object(task)
    except OmegaConfBaseException as error:
        raise UsageError(str(error).splitlines()[0]) from error
    judged: SweepConfig = settings["sweep"] if isinstance(settings, dict) else settings.sweep
    return judged


def _objectives(judged: SweepConfig, config: DictConfig, direction: Any) -> tuple[list[str], list[str]]:
    """Names and directions of the objectives: those of the sweep, else the run's own `trainer.monitor`."""
    objectives = judged.objectives()
    if objectives:
        return objectives, directions_of(direction, objectives)
    monitor = OmegaConf.select(config, "trainer.monitor")
    if not isinstance(monitor, str):
        raise UsageError("sweep.objective=null: name a metric of metrics.csv; the run has no trainer.monitor")
    of_the_run = DIRECTION_OF_MODE.get(str(OmegaConf.select(config, "trainer.monitor_mode")))
    return [monitor], directions_of(of_the_run if direction is None else direction, [monitor])


def _refuse_changes(plan: Plan, facts: Mapping[str, Any]) -> None:
    """Raise `UsageError` where a setting that all trials of the study share has changed: they must stay comparable."""
    common = {
        "sweep.objective": ("objectives", plan.objectives),
        "sweep.monitor": ("monitor", plan.monitor),
        "sweep.comparable": ("comparable", plan.judged.comparable),
        "sweep.seeds": ("seeds", plan.judged.seeds),
        "the overrides": ("overrides", [*plan.recipe, *plan.overrides]),
    }
    for name, (key, value) in common.items():
        if key in facts and facts[key] != value:
            raise UsageError(f"sweep.resume=true: {name} was {facts[key]} in {plan.folder}, and is {value}; keep it")


def sweep_facts(plan: Plan, *, started: float, finished: float | None, seconds: float) -> dict[str, Any]:
    """The content of `sweep.json`."""
    return {
        "version": VERSION,
        "name": plan.name,
        "id": plan.sweep_id,
        "study_name": plan.study_name,
        "storage": None if plan.storage is None else hidden_password(plan.storage),
        "objectives": plan.objectives,
        "directions": plan.directions,
        "monitor": plan.monitor,
        "comparable": plan.judged.comparable,
        "n_trials": plan.n_trials,
        "n_jobs": plan.n_jobs,
        "sampler": str(plain(plan.sampler)["_target_"]).rpartition(".")[2],
        "pruner": None if plan.pruner_node is None else type(plan.pruner).__name__,
        "seeds": plan.judged.seeds,
        "started": started,
        "finished": finished,
        "seconds": seconds,
        "overrides": [*plan.recipe, *plan.overrides],
        "command": plan.command,
    }


def _share_of_machine(config: DictConfig, n_jobs: int, named: Sequence[str]) -> list[str]:
    """The trial's share of the cores, unless the user has set one; only where trials run side by side on this machine.

    The share is the same when no processes can be started and the trials run one after another.
    """
    if config.hydra.runtime.choices.get("hydra/launcher", "basic") != "basic":
        return []  # joblib's trials run one after another, those of other launchers elsewhere
    key = "accelerator.threads"
    if key in named or OmegaConf.select(config, "accelerator") is None or OmegaConf.select(config, key):
        return []
    return [f"{key}={max(1, usable_cores() // n_jobs)}"]


def _flags(config: DictConfig) -> list[str]:
    """The command line's flags that a trial needs too."""
    folders = [source.path for source in config.hydra.runtime.config_sources if source.provider == "command-line"]
    return [part for folder in folders for part in ("--config-dir", str(folder))]


def _chosen(config: DictConfig, group: str) -> bool:
    """Whether the user or a search space has chosen an option of `group`."""
    return str(config.hydra.runtime.choices.get(group)) not in ("None", "median")


def _function(path: str | None) -> Callable[[DictConfig, Any], None] | None:
    if path is None:
        return None
    from hydra.utils import get_method

    try:
        return get_method(path)
    except Exception as error:  # the import of foreign code may raise anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"hydra.sweeper.custom_search_space={path}: there is no such function ({reason})") from error


def _at_least_one(settings: Mapping[str, Any], name: str) -> int:
    value = int(settings[name])
    if value < 1:
        raise UsageError(f"hydra.sweeper.{name}={value}: must be 1 or more")
    return value


def _without(overrides: Sequence[str], keys: tuple[str, ...]) -> list[str]:
    """`overrides` without those of `keys`, of anything below them, and of settings of the sweeper with these names."""

    def dropped(override: str) -> bool:
        key = override.lstrip("+~").partition("=")[0].partition("@")[0]
        return any(key == one or key.startswith(f"{one}.") or key == f"hydra.sweeper.{one}" for one in keys)

    return [override for override in overrides if not dropped(override)]


def find_place(
    config: DictConfig,
    settings: Mapping[str, Any],
    judged: SweepConfig,
    hydra_overrides: Sequence[str],
    command: list[str],
) -> tuple[Path, str]:
    """Folder and name of the study; the folder is made.

    Raises:
        UsageError: the folder has a sweep already, or none to continue; or no setting names the study to join.
    """
    if judged.join and None in (settings["storage"], settings["study_name"]):
        raise UsageError(
            "sweep.join=true: name the study by hydra.sweeper.storage=URL and hydra.sweeper.study_name=NAME"
        )
    folder = Path(str(config.hydra.sweep.dir)).absolute()
    name = settings["study_name"]
    own_folder = any(override.startswith("hydra.sweep.dir=") for override in hydra_overrides)
    if name is not None and not own_folder:
        if not name or name.startswith(".") or not all(letter.isalnum() or letter in "-_." for letter in name):
            raise UsageError(
                f"hydra.sweeper.study_name={name}: it names a folder; use letters, digits, '-', '_' and '.' only"
            )
        folder = folder.parent / name
    if judged.resume:
        if name is None and not own_folder:
            folder = _latest_of(folder.parent, command)
        process = read_process_file(folder)
        if process is not None and process.alive:
            raise UsageError(f"sweep.resume=true: the sweep in {folder} is still running, in process {process.pid}")
    facts = read_json(folder / SWEEP_FILE)
    if facts and judged.join:
        raise UsageError(
            f"sweep.join=true: {folder} has a sweep already; continue it with sweep.resume=true, or give another "
            "folder with hydra.sweep.dir=FOLDER"
        )
    if facts and not judged.resume:
        raise UsageError(
            f"hydra.sweeper.study_name={facts.get('study_name')}: {folder} has this study already; add "
            "sweep.resume=true to continue it, or choose another name"
        )
    if not facts and judged.resume:
        hint = "" if settings["storage"] is None else "; sweep.join=true works on the study of another folder"
        raise UsageError(f"sweep.resume=true: {folder} holds no sweep to continue{hint}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"hydra.sweep.dir={folder}: cannot be made ({error.strerror})") from error
    study_name = facts.get("study_name") or name or f"{config.get('name', 'sweep')}-{folder.name}"
    return folder, str(study_name)


def _latest_of(runs: Path, command: list[str]) -> Path:
    """The latest sweep below `runs` that this `command` began."""
    sweeps = [(facts, path.parent) for path in runs.glob(f"*/{SWEEP_FILE}") if (facts := read_json(path))]
    same = [(facts["started"], folder) for facts, folder in sweeps if facts.get("command") == command]
    if not same:
        others = f"; there are {', '.join(sorted(folder.name for _, folder in sweeps))}" if sweeps else ""
        raise UsageError(
            f"sweep.resume=true: this command has begun no sweep in {runs}{others}; name one with "
            "hydra.sweep.dir=FOLDER"
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
        return f"{scheme.partition('://')[0]}:///{path.absolute()}{query}" if str(path) != "." else storage
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
    without = [line for line in fixed_overrides(fixed) if not line.startswith(("sweep=", "sweep."))]
    bare = loader.load_configuration(str(config.hydra.job.config_name), [*without, *recipe, "sweep=none"], RunMode.RUN)
    before, after = dict(_values(bare)), dict(_values(config))
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return recipe + [render(key, value) for key, value in changed.items() if not key.startswith(("hydra.", "sweep."))]


def _values(config: DictConfig, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of the configuration by its dotted key, as it is written."""
    for name, value in config.items_ex(resolve=False):
        key = str(name)
        if key == "hydra" and not prefix:
            continue
        if isinstance(value, DictConfig) and not (value._is_none() or value._is_missing() or value._is_interpolation()):
            yield from _values(value, f"{prefix}{key}.")
        else:
            plain_value = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
            yield f"{prefix}{key}", plain_value
