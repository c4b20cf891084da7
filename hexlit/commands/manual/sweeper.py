"""Sweeps, as far as users set them: of Hydra's own groups and settings, those of hexlit's sweeper."""

import ast
from dataclasses import replace
from functools import cache

from hexlit.commands.manual.composition import Composed
from hexlit.commands.manual.conf_files import Folders, head
from hexlit.commands.manual.schemas import Schema, schema_of
from hexlit.commands.manual.source import source_of
from hexlit.errors import UsageError

CONFIG = "hexlit.tuning.config"
"""Module with the dataclasses of the sweeper and its samplers."""

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

_SWEEPERS = {
    "basic": "every combination of the values on the command line",
    "optuna": "trials that Optuna chooses and prunes; sweep=NAME chooses it",
}
_LAUNCHERS = {
    "basic": "trials on this machine",
    "joblib": "by joblib; needs the package hydra-joblib-launcher",
    "submitit_local": "by submitit on this machine, as on Slurm",
    "submitit_slurm": "each trial is a job of Slurm; needs the extra slurm",
}


def hydra_options(group: str, folders: Folders) -> dict[str, str]:
    """The options of one of Hydra's groups, each in a few words."""
    if group == "hydra/sweeper":
        return dict(_SWEEPERS)
    if group == "hydra/launcher":
        return dict(_LAUNCHERS)
    if group == "hydra/sweeper/pruner":
        found = {}
        for option in folders.options(group):
            path = folders.path(f"{group}/{option}")
            assert path is not None
            found[option] = head(path).text or head(path).summary
        return found
    return _samplers()


@cache
def _samplers() -> dict[str, str]:
    """Sampler -> the docstring of its dataclass."""
    table = source_of(CONFIG).constants["SAMPLERS"]
    assert isinstance(table, ast.Dict)
    names = {
        ast.literal_eval(key): ast.unparse(value) for key, value in zip(table.keys, table.values, strict=True) if key
    }
    return {name: schema_of(f"{CONFIG}:{place}").sections[""] for name, place in names.items()}


def add_sweeper(composed: Composed, folders: Folders) -> None:
    """Add Hydra's groups, and the settings of hexlit's sweeper with their values, to what was composed.

    Raises:
        UsageError: one of the groups has no such option.
    """
    for group, option in HYDRA_GROUPS.items():
        composed.chosen[group] = composed.overridden.get(group, option)
        known = hydra_options(group, folders)
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
