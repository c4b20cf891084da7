"""Sweeps, as far as users set them: of Hydra's own groups and settings, those of hexlit's sweeper."""

import ast
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hexlit.commands.manual.composition import Composed
from hexlit.commands.manual.conf_files import Folders, described, head
from hexlit.commands.manual.schemas import Schema, Setting, schema_of
from hexlit.commands.manual.source import source_of
from hexlit.errors import UsageError

CONFIG = "hexlit.tuning.config"
"""Module with the dataclass of the sweeper."""
SAMPLERS = ("hexlit.tuning.samplers", "SAMPLERS")
LAUNCHING = "hexlit.commands.manual.launching"
LAUNCHERS = (LAUNCHING, "LAUNCHERS")

SECTION = "hydra.sweeper"
SETTINGS = ("direction", "storage", "study_name", "n_trials", "n_jobs", "timeout", "max_failure_rate", "params")
"""Those of the sweeper that are set by hand; sampler and pruner are groups."""

HYDRA_GROUPS = {
    "hydra/sweeper": "basic",
    "hydra/sweeper/sampler": "tpe",
    "hydra/sweeper/pruner": "median",
    "hydra/launcher": "basic",
}
"""Group -> its default option."""
_NO_SETTINGS = ("defaults", "sampler", "pruner")
"""Fields of the sweeper that other groups fill."""


@dataclass(frozen=True)
class Option:
    """One option of a group of Hydra."""

    text: str
    """Its purpose, in a few words."""
    settings: tuple[Setting, ...]
    """Its settings, by their whole keys."""


def hydra_options(group: str, folders: Folders) -> dict[str, Option]:
    """The options of one of Hydra's groups, with their settings."""
    prefix = group.replace("/", ".")
    match group:
        case "hydra/sweeper":
            return {
                "basic": _of_class(f"{LAUNCHING}:BasicSweeper", prefix),
                "optuna": replace(
                    _of_class(f"{CONFIG}:OptunaSweeperConf", prefix),
                    text="trials that Optuna chooses and prunes; sweep=NAME chooses it",
                ),
            }
        case "hydra/launcher":
            return {name: _of_class(place, prefix) for name, place in _table(*LAUNCHERS).items()}
        case "hydra/sweeper/sampler":
            return {name: _of_class(place, prefix) for name, place in _table(*SAMPLERS).items()}
    return {option: _of_file(group, option, folders) for option in folders.options(group)}


def _of_class(place: str, prefix: str) -> Option:
    """The option that a dataclass declares; fields with an underscore are Hydra's."""
    declared = schema_of(place)
    known = (one for one in declared.settings if not one.key.startswith("_") and one.key not in _NO_SETTINGS)
    return Option(declared.sections[""], tuple(replace(one, key=f"{prefix}.{one.key}") for one in known))


def _of_file(group: str, option: str, folders: Folders) -> Option:
    """The option that a YAML file holds, whose comments are the meanings."""
    path = folders.path(f"{group}/{option}")
    assert path is not None
    settings = tuple(
        Setting(f"{group.replace('/', '.')}.{key}", "Any" if value is None else type(value).__name__, value, meaning)
        for key, value, meaning in described(path)
        if not key.rpartition(".")[2].startswith("_")
    )
    return Option(head(path).text or head(path).summary, settings)


@cache
def _table(module: str, name: str) -> dict[str, str]:
    """Option -> place of its dataclass, out of the table `name`."""
    table = source_of(module).constants[name]
    assert isinstance(table, ast.Dict)
    pairs = zip(table.keys, table.values, strict=True)
    return {ast.literal_eval(key): f"{module}:{ast.unparse(value)}" for key, value in pairs if key is not None}


def add_sweeper(composed: Composed, folders: Folders, *, lenient: bool = False) -> None:
    """Add Hydra's groups, and the settings of hexlit's sweeper with their values, to what was composed.

    `lenient` takes the default of a group in place of an option that is not there.

    Raises:
        UsageError: one of the groups has no such option.
    """
    for group, option in HYDRA_GROUPS.items():
        composed.chosen[group] = composed.overridden.get(group, option)
        known = hydra_options(group, folders)
        if lenient and composed.chosen[group] not in known:
            composed.chosen[group] = option
        if composed.chosen[group] not in known:
            what = f"{group}={composed.chosen[group]}"
            raise UsageError(f"{what}: there is no such option; choose from {', '.join(known)}")
    declared = schema_of(f"{CONFIG}:OptunaSweeperConf")
    settings = [setting for setting in declared.settings if setting.key in SETTINGS]
    values = composed.values.setdefault("hydra", {}).setdefault("sweeper", {})
    for setting in settings:
        values.setdefault(setting.key, setting.default)
    composed.schema = Schema(
        (*composed.schema.settings, *(replace(setting, key=f"{SECTION}.{setting.key}") for setting in settings)),
        {**composed.schema.sections, SECTION: "Sweeps by Optuna, with --multirun: hydra/sweeper=optuna or sweep=NAME."},
    )


def in_use(settings: tuple[Setting, ...], composed: Composed) -> tuple[Setting, ...]:
    """The settings of a chosen option, with the values that files and the command line give them."""
    return tuple(replace(one, default=_value(composed, one)) for one in settings)


def _value(composed: Composed, setting: Setting) -> Any:
    try:
        return composed.value(setting.key)
    except (KeyError, TypeError):  # TypeError: the command line has set the whole node to a plain value
        return setting.default
