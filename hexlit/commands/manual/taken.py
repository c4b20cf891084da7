"""The settings, values, groups, options and examples of one command line."""

import inspect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexlit.commands.manual.composition import Composed, compose
from hexlit.commands.manual.conf_files import Example, Folders, head, load
from hexlit.commands.manual.schema_places import other_tasks, places
from hexlit.commands.manual.schemas import Setting
from hexlit.commands.manual.source import source_of, value_of
from hexlit.commands.manual.sweeper import HYDRA_GROUPS, add_sweeper, hydra_options, in_use

FIRST = ("task", "experiment")
"""Groups that change most; the others follow by alphabet, then Hydra's own."""


@dataclass(frozen=True)
class Beside:
    """Settings of a command that another YAML file than its own composes."""

    config: str
    keys: frozenset[str] | None = None
    """Those of its settings that are meant; None is all of them."""


@dataclass(frozen=True)
class Group:
    """One group of configuration files."""

    name: str
    chosen: str
    options: dict[str, str]
    """Option -> what it is, in a few words."""
    settings: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    """Option -> the settings that it alone has, by their whole keys; the option in use with its values."""

    def is_called(self, name: str) -> bool:
        """Whether `name` is that of the group; of one of Hydra's groups the last word is enough."""
        return name == self.name or (self.name in HYDRA_GROUPS and name == self.name.rpartition("/")[2])


@dataclass(frozen=True)
class Taken:
    """Everything that a command takes, in the order of the page."""

    command: str
    text: str
    """The command's purpose, in several lines."""
    examples: tuple[Example, ...]
    settings: tuple[Setting, ...]
    values: dict[str, Any]
    """Key of each setting -> its value in the composed configuration."""
    sections: dict[str, str]
    """Section -> what it is about; the settings outside of all are in ''."""
    groups: tuple[Group, ...]


def taken(command: str, arguments: Sequence[str] = (), *, lenient: bool = False) -> Taken:
    """Everything that `hexlit COMMAND ARGUMENTS` takes; flags among the arguments are skipped.

    `lenient` leaves out overrides that do not fit.

    Raises:
        UsageError: the arguments name a group, an option or a setting that is not there.
    """
    overrides = [argument for argument in arguments if "=" in argument and not argument.startswith("-")]
    name, beside, more = _files(command, overrides)
    tasks = [override.removeprefix("task=") for override in overrides if override.startswith("task=")]
    schemas, folders = places(tasks, _own_folders(arguments))
    named = [*overrides, *([] if name != "bench_task" or tasks else ["task=hex"])]
    parts: list[tuple[Composed, frozenset[str] | None]] = []
    if beside is not None:
        first = compose(beside.config, [], schemas, folders)
        keys = beside.keys or frozenset(first.values)
        own = [override for override in named if override.partition("=")[0].partition(".")[0] in keys]
        named = [override for override in named if override not in own]
        parts.append((compose(beside.config, own, schemas, folders, lenient=lenient), keys))
    whole = compose(name, named, schemas, folders, lenient=lenient)
    if "sweep" in whole.chosen and command == "train":
        add_sweeper(whole, folders, lenient=lenient)
    parts.append((whole, None))
    settings, values, sections = _joined(parts)
    path = folders.path(command)
    assert path is not None
    return Taken(
        command,
        inspect.cleandoc(load(path)["hydra"]["help"]["header"]),
        head(path).examples,
        tuple(settings),
        values,
        sections,
        tuple(_groups(whole, folders, more)),
    )


def _files(command: str, overrides: Sequence[str]) -> tuple[str, Beside | None, tuple[str, ...]]:
    """The YAML file of the command, the one beside it, and groups that it takes by choosing another file."""
    if command == "plan":
        return command, Beside("plan_settings"), ()
    if command == "bench":
        if any(override.startswith(("task=", "experiment=")) and override != "task=hex" for override in overrides):
            module = "hexlit.commands.bench_task"
            keys = value_of(source_of(module).constants["OF_THE_BENCH"], module)
            return "bench_task", Beside("bench", frozenset(keys)), ()
        return command, None, ("task", "experiment")
    return command, None, ()


def _own_folders(arguments: Sequence[str]) -> list[Path]:
    """The folder that `--config-dir` names."""
    folders: list[Path] = []
    for word, following in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        flag, _, value = word.partition("=")
        if flag in ("--config-dir", "-cd"):
            folders.append(Path(value or following))
    return folders


def _joined(
    parts: Sequence[tuple[Composed, frozenset[str] | None]],
) -> tuple[list[Setting], dict[str, Any], dict[str, str]]:
    settings: list[Setting] = []
    values: dict[str, Any] = {}
    sections: dict[str, str] = {}
    for composed, keys in parts:
        for setting in composed.schema.settings:
            if (keys is None or setting.key.partition(".")[0] in keys) and setting.key not in values:
                settings.append(setting)
                values[setting.key] = composed.value(setting.key)
        sections |= composed.schema.sections
    return settings, values, sections


def _groups(composed: Composed, folders: Folders, more: Sequence[str]) -> list[Group]:
    groups = []
    named = [*composed.chosen.items(), *((name, "") for name in more)]
    for name, chosen in sorted(named, key=lambda pair: (pair[0] not in FIRST, pair[0].startswith("hydra/"), pair[0])):
        if name in HYDRA_GROUPS:
            known = hydra_options(name, folders)
            settings = {option: one.settings for option, one in known.items()}
            settings[chosen] = in_use(settings[chosen], composed)
            groups.append(Group(name, chosen, {option: one.text for option, one in known.items()}, settings))
            continue
        options = {}
        for option in folders.options(name):
            path = folders.path(f"{name}/{option}")
            assert path is not None
            if name in more or _fits(load(path), composed, at_root=head(path).package == "_global_"):
                options[option] = head(path).summary
        if name == "task":
            options |= dict.fromkeys(other_tasks(), "a task of another package")
        groups.append(Group(name, chosen, options))
    return groups


def _fits(content: dict[str, Any], composed: Composed, *, at_root: bool) -> bool:
    """Whether an option suits the other choices: it overrides, sets and searches only what is there."""
    entries = [next(iter(entry)) for entry in content.get("defaults", []) if isinstance(entry, dict)]
    overridden = [entry.removeprefix("override ").lstrip("/") for entry in entries if entry.startswith("override ")]
    if any(group not in composed.chosen and group not in HYDRA_GROUPS for group in overridden):
        return False
    keys = {setting.key for setting in composed.schema.settings}
    searched = content.get("hydra", {}).get("sweeper", {}).get("params") or {}
    if any(key not in keys and key not in composed.chosen for key in searched):
        return False
    sections = {key.partition(".")[0] for key in keys}
    return not at_root or set(content) - {"defaults", "hydra"} <= sections
