"""The plan of a sweep, read from its configuration and checked before anything runs; its folder is
made or found.
"""

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from hexlit.errors import UsageError
from hexlit.files import read_json
from hexlit.settings import RANGE, check_number
from hexlit.tuning.config import OptunaSweeperConf, SweepConfig
from hexlit.tuning.program import Program
from hexlit.tuning.samplers import build_pruner, plain
from hexlit.tuning.space import arguments_of, grid_of, parse_space
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
_JOINING_SETTINGS = ("resume", "join", "storage_timeout")
_SESSION_SETTINGS = (
    *("hydra.sweeper.storage", "hydra.sweeper.n_trials", "hydra.sweeper.n_jobs"),
    *("hydra.sweeper.timeout", "hydra.sweeper.max_failure_rate", "hydra.sweep.dir"),
)
"""Settings that may differ between the command that continues a sweep and the one that began it;
the former are those of its section.
"""


@dataclass(frozen=True)
class Plan:
    """A sweep, checked."""

    program: Program
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
    named: list[str]
    """The settings that the user has set for all trials, or searches."""
    hydra_overrides: list[str]
    """Hydra's settings for the trials."""
    command: list[str]
    """Identity of the sweep: two commands with the same list are the same sweep."""
    shown: str
    """The program as users type it, without overrides."""
    name: str
    """Name of the recipe, or of the program."""
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
            terms[f"{self.judged.section}.{name}"] = getattr(self.judged, name)
        terms["what is fixed"] = _without([*self.recipe, *self.overrides], self.program.per_machine)
        for name, distribution in self.space.items():
            terms[f"the space of {name}"] = distribution
        return {name: str(value) for name, value in terms.items()}


def make_plan(
    program: Program,
    config: DictConfig,
    settings: Mapping[str, Any],
    arguments: Sequence[str],
    loader: Any,
) -> Plan:
    """The plan for `program` of the composed `config`, the sweeper's `settings` and the task's
    overrides `arguments`.

    Makes the sweep's folder, or with `resume=true` finds it. `loader` is Hydra's, to compose with.

    Raises:
        UsageError: a setting is wrong, the study exists already, there is none to continue, or it
            was begun with other settings.
    """
    from optuna.pruners import NopPruner

    values = {name: plain(value) for name, value in settings.items()}
    names = [one.name for one in fields(OptunaSweeperConf)]
    sweeper = OptunaSweeperConf(**{name: values[name] for name in names if name in values})
    for one in fields(sweeper):
        if RANGE in one.metadata:
            check_number(
                f"hydra.sweeper.{one.name}", getattr(sweeper, one.name), one.metadata[RANGE]
            )
    space, fixed = parse_space([*arguments_of(sweeper.params or {}), *arguments])
    if not space:
        raise UsageError(
            "hydra.sweeper.params: nothing to search; write KEY=interval(a,b), or name a search "
            "space (hexlit train: sweep=NAME)"
        )
    judged, sweeper.direction = program.judged(config, values)
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
    joining = tuple(f"{judged.section}.{name}" for name in _JOINING_SETTINGS)
    command = _without([*arguments, *hydra_overrides], (*joining, *_SESSION_SETTINGS))
    folder, study_name = find_folder(config, sweeper, judged, hydra_overrides, command)
    name = program.name(config)
    sweeper.storage = absolute(sweeper.storage)
    return Plan(
        program=program,
        folder=folder,
        study_name=study_name or f"{name}-{folder.name}",
        judged=judged,
        settings=sweeper,
        pruner=pruner,
        space=space,
        overrides=_without([*fixed.values()], joining),
        recipe=program.recipe(config, fixed, loader),
        named=[*fixed, *space],
        hydra_overrides=[*_without(hydra_overrides, _PARENT_SETTINGS), *program.hydra_overrides],
        command=command,
        shown=program.shown(),
        name=name,
        seed=config.get("seed"),
        sweep_id=str(read_json(folder / SWEEP_FILE).get("id") or secrets.token_hex(4)),
    )


def sweep_facts(
    plan: Plan, *, started: float, finished: float | None, seconds: float
) -> dict[str, Any]:
    """The content of `sweep.json`."""
    settings = plan.settings
    facts: dict[str, Any] = {"version": VERSION, "id": plan.sweep_id, "storage": settings.storage}
    names = ("name", "study_name", "objectives", "command")
    facts |= {name: getattr(plan, name) for name in names}
    facts["program"] = plan.shown
    facts |= {name: getattr(plan.judged, name) for name in ("monitor", "comparable", "seeds")}
    facts |= {name: getattr(settings, name) for name in ("n_trials", "n_jobs")}
    for name in ("sampler", "pruner"):
        node = getattr(settings, name)
        facts[name] = node and str(node["_target_"]).rpartition(".")[2]
    facts |= {"directions": settings.direction, "overrides": [*plan.recipe, *plan.overrides]}
    return facts | {"started": started, "finished": finished, "seconds": seconds}


def _without(overrides: Sequence[str], keys: tuple[str, ...]) -> list[str]:
    """`overrides` without those of `keys`, and of anything below them."""

    def dropped(override: str) -> bool:
        key = override.lstrip("+~").partition("=")[0].partition("@")[0]
        return any(key == one or key.startswith(f"{one}.") for one in keys)

    return [override for override in overrides if not dropped(override)]


def find_folder(
    config: DictConfig,
    settings: OptunaSweeperConf,
    judged: SweepConfig,
    hydra_overrides: Sequence[str],
    command: list[str],
) -> tuple[Path, str | None]:
    """Folder and name of the study, None for a new name; the folder is made.

    Raises:
        UsageError: the folder has a sweep already, or none to continue; or no setting names the
            study to join.
    """
    if judged.join and None in (settings.storage, settings.study_name):
        raise UsageError(
            f"{judged.section}.join=true: needs hydra.sweeper.storage=URL and "
            "hydra.sweeper.study_name=NAME"
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
    resume = f"{judged.section}.resume=true"
    if judged.resume and name is None and not own_folder:
        folder = _latest_of(folder.parent, command, resume)
    facts = read_json(folder / SWEEP_FILE)
    if facts and not judged.resume:
        raise UsageError(
            f"hydra.sweeper.study_name={facts.get('study_name')}: {folder} has this study already; "
            f"{resume} continues it, hydra.sweep.dir=FOLDER begins another"
        )
    if judged.resume and not facts:
        raise UsageError(f"{resume}: {folder} holds no sweep to continue")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"hydra.sweep.dir={folder}: cannot be made ({error.strerror})") from error
    return folder, facts.get("study_name") or name


def _latest_of(runs: Path, command: list[str], resume: str) -> Path:
    """The latest sweep in `runs`, or next to it, that this `command` began: Hydra's own folders
    are DATE/TIME.
    """
    same = []
    for path in runs.parent.glob(f"*/*/{SWEEP_FILE}"):
        facts = read_json(path)
        if facts and facts.get("command") == command:
            same.append((facts["started"], path.parent))
    if not same:
        raise UsageError(
            f"{resume}: this command has begun no sweep in {runs}; name one with hydra.sweep.dir=FOLDER"
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
