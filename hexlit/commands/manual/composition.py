"""The configuration that a command's YAML files make up: Hydra's rules for defaults lists, without Hydra.

Help and completion use it, as they cannot wait for Hydra's import and grammar. Commands run with what Hydra composes.
Tests compare the two for every command and task.
"""

import copy
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hexlit.commands.manual.conf_files import Folders, head, load, parsed
from hexlit.commands.manual.schemas import Schema, schema_of
from hexlit.errors import UsageError

SELF = "_self_"
ROOT = "_global_"
HYDRAS = "hydra/"
"""Groups that Hydra has by itself; hexlit's defaults lists only override them."""


@dataclass
class Composed:
    """A composed configuration."""

    values: dict[str, Any] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    """Group -> its option; only the groups of the defaults lists."""
    overridden: dict[str, str] = field(default_factory=dict)
    """Group -> the option that the command line or a file has asked for; Hydra's own groups among them."""
    schema: Schema = field(default_factory=lambda: Schema((), {}))
    """Of the whole."""

    def value(self, key: str) -> Any:
        """The value at a dotted key; raises `KeyError`."""
        node: Any = self.values
        for part in key.split("."):
            node = node[part]
        return node


def compose(
    name: str, overrides: list[str], schemas: Mapping[str, str], folders: Folders, *, lenient: bool = False
) -> Composed:
    """Compose the YAML file `name` with `overrides`, texts `KEY=VALUE` or `GROUP=OPTION`.

    Args:
        name: without its ending.
        overrides: of groups and settings, in any order.
        schemas: name in a defaults list -> `module:Class`.
        folders: where the files are.
        lenient: leave out overrides that do not fit, as on a line that is still being typed.

    Raises:
        UsageError: there is no such group, option or setting.
    """
    pairs = [_pair(override) for override in overrides if "=" in override]
    groups = {key: value.partition(",")[0] for key, value in pairs if folders.options(key) or key.startswith(HYDRAS)}
    if lenient:
        there = {key for key, value in groups.items() if folders.path(f"{key}/{value}")}
        groups = {key: value for key, value in groups.items() if key in there or key.startswith(HYDRAS)}
    tree = _Tree(schemas, folders, groups)
    steps = tree.expanded(name, "")
    result = Composed(chosen=tree.chosen, overridden=tree.overridden)
    for package, content in steps:
        if isinstance(content, Schema):
            result.schema = content
            content = content.defaults
        _merge(_at(result.values, package), content)
    for key, value in pairs:
        if key in groups:
            continue
        if key.startswith("hydra.") or _is_setting(key, result.schema):
            *parents, leaf = key.split(".")
            _at(result.values, ".".join(parents))[leaf] = parsed(value)
        elif not lenient:
            raise UsageError(_unknown(key, result))
    unused = [key for key in groups if key not in tree.chosen and not key.startswith(HYDRAS)]
    if unused and not lenient:
        raise UsageError(f"{unused[0]}={groups[unused[0]]}: no group of this command; {_known_groups(tree.chosen)}")
    return result


class _Tree:
    """One walk through the defaults lists."""

    def __init__(self, schemas: Mapping[str, str], folders: Folders, groups: dict[str, str]) -> None:
        self._schemas = schemas
        self._folders = folders
        self.overridden = dict(groups)
        """The first word on a group counts: the command line's, then that of the file nearest to the root."""
        self.chosen: dict[str, str] = {}

    def expanded(self, name: str, group: str) -> list[tuple[str, Any]]:
        """The content of the file and of its defaults lists, as (package, content), in the order of merging."""
        path = self._folders.path(name)
        if path is None:
            raise UsageError(f"{group}={name.rpartition('/')[2]}: there is no such option; {self._options(group)}")
        content = load(path)
        package = head(path).package
        where = "" if package == ROOT else (package or group.replace("/", "."))
        entries = list(content.get("defaults", []))
        if SELF not in entries:
            entries.append(SELF)
        for entry in entries:
            if isinstance(entry, dict):
                ((key, option),) = entry.items()
                if key.startswith("override "):
                    self.overridden.setdefault(key.removeprefix("override ").strip().lstrip("/"), option)
        steps: list[list[tuple[str, Any]]] = []
        # From the last on, as Hydra does: what an experiment overrides is known before the groups it speaks of.
        for entry in reversed(entries):
            if entry == SELF:
                steps.append([(where, {key: value for key, value in content.items() if key != "defaults"})])
            elif isinstance(entry, str):
                steps.append(self._config(entry, group))
            else:
                ((key, option),) = entry.items()
                if not key.startswith("override "):
                    steps.append(self._option(key, option, group))
        return [step for one in reversed(steps) for step in one]

    def _config(self, entry: str, group: str) -> list[tuple[str, Any]]:
        name = entry.lstrip("/") if entry.startswith("/") or not group else f"{group}/{entry}"
        if name in self._schemas:
            return [("", schema_of(self._schemas[name]))]
        return self.expanded(name, group)

    def _option(self, key: str, option: str, group: str) -> list[tuple[str, Any]]:
        name = key.lstrip("/") if key.startswith("/") or not group else f"{group}/{key}"
        taken = str(self.overridden.get(name, option))
        self.chosen[name] = taken
        return [] if taken == "???" else self.expanded(f"{name}/{taken}", name)

    def _options(self, group: str) -> str:
        return f"choose from {', '.join(self._folders.options(group))}"


def _pair(override: str) -> tuple[str, str]:
    key, _, value = override.partition("=")
    return key.lstrip("+"), value.strip("'\"") if "/" not in key else value


def _at(values: dict[str, Any], package: str) -> dict[str, Any]:
    """The node at the dotted `package`, made where it is not there."""
    for part in filter(None, package.split(".")):
        values = values.setdefault(part, {})
    return values


def _merge(into: dict[str, Any], content: Mapping[str, Any]) -> None:
    for key, value in content.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def _is_setting(key: str, schema: Schema) -> bool:
    parents = (setting for setting in schema.settings if key == setting.key or key.startswith(f"{setting.key}."))
    return any(key == setting.key or "dict" in setting.type or setting.type == "Any" for setting in parents)


def _unknown(key: str, composed: Composed) -> str:
    known = [*composed.chosen, *(setting.key for setting in composed.schema.settings)]
    near = difflib.get_close_matches(key, known, n=3)
    leaf = [name for name in known if name.rpartition(".")[2] == key]
    if near or leaf:
        return f"unknown key {key!r}: did you mean {' or '.join(map(repr, leaf[:3] or near))}?"
    return f"unknown key {key!r}: --help without it names the settings there are"


def _known_groups(chosen: Mapping[str, str]) -> str:
    names = [group for group in chosen if not group.startswith(HYDRAS)]
    return f"its groups are {', '.join(names)}" if names else "it has none"
