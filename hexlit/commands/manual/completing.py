"""The words that a shell offers after TAB: those that may stand there, and no others."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hexlit.commands.manual.answer import asks_for_help
from hexlit.commands.manual.page import shown
from hexlit.commands.manual.schemas import Setting
from hexlit.commands.manual.taken import Taken, taken
from hexlit.errors import UsageError
from hexlit.outside import entry_points_of
from hexlit.settings import NUMBERED

HYDRA = "hydra"
"""Hydra's groups and settings are offered once a word begins with this."""
ACTION = "action"
"""A setting of this name is the first word of its command: `hexlit games import`."""


def candidates(command: str, words: Sequence[str], word: str) -> list[str]:
    """The words that may stand for the unfinished `word` after `hexlit COMMAND WORDS`."""
    try:
        result = taken(command, words, lenient=True)
    except (UsageError, OSError, ImportError):  # a line that is still being written may name what is not there
        return []
    if asks_for_help(words):
        names = [*(setting.key for setting in result.settings), *(group.name for group in result.groups)]
        names += [group.name.rpartition("/")[2] for group in result.groups if group.settings]
        return [name for name in sorted({*names, *filter(None, result.sections)}) if name.startswith(word)]
    if word.startswith("-"):
        return [flag for flag in ("--help", "--cfg", "--multirun", "--config-dir") if flag.startswith(word)]
    key, equals, value = word.partition("=")
    if equals:
        return [f"{key}={one}" for one in _values(result, key.lstrip("+"), value)]
    return list(dict.fromkeys(name for name in _names(result, word, first=not words) if name.startswith(word)))


def _names(found: Taken, word: str, *, first: bool) -> Iterator[str]:
    """Groups and settings, a section in place of its settings until it is named; or the actions, as the first word."""
    actions = next((setting.choices for setting in found.settings if setting.key == ACTION), ())
    if actions and first:
        yield from actions
        return
    groups = [f"{group.name}=" for group in found.groups]
    known = {**found.values, **{setting.key: setting.default for setting in _of_options(found)}}
    settings = [_until_the_next_dot(key, word) for key in known if key != ACTION]
    for name in sorted([*groups, *settings]):
        if word.startswith(HYDRA) or not name.startswith((f"{HYDRA}/", f"{HYDRA}.")):
            yield name


def _until_the_next_dot(key: str, word: str) -> str:
    """`optimizer.` of `optimizer.lr` after `opt`; the whole key with its `=` after `optimizer.`."""
    depth = word.count(".") + 1
    parts = key.split(".")
    return f"{key}=" if len(parts) <= depth else f"{'.'.join(parts[:depth])}."


def _values(found: Taken, key: str, value: str) -> list[str]:
    for group in found.groups:
        if group.name == key:
            return [option for option in group.options if option.startswith(value)]
    for setting in found.settings:
        if setting.key == key:
            return [one for one in _choices(setting, found.values[key], value) if one.startswith(value)]
    for setting in _of_options(found):
        if setting.key == key:
            return [one for one in _choices(setting, setting.default, value) if one.startswith(value)]
    return []


def _of_options(found: Taken) -> Iterator[Setting]:
    """The settings that the options in use have beside those of the command."""
    for group in found.groups:
        yield from group.settings.get(group.chosen, ())


def _choices(setting: Setting, now: Any, value: str) -> list[str]:
    """The values of a setting: all that there are, or files where it is a text, or the one that it has."""
    null = ["null"] if "None" in setting.type else []
    if setting.several and setting.choices:
        return [*(f"[{word}]" for word in setting.choices), f"[{','.join(setting.choices)}]"]
    if setting.choices:
        others = entry_points_of(setting.group).names - {*setting.choices} if setting.group else ()
        return [*(word for word in setting.choices if not word.endswith(NUMBERED)), *sorted(others), *null]
    if setting.type.startswith("bool"):
        return ["true", "false", *null]
    files = _files(value) if setting.type.startswith(("str", "Any")) else []
    return files or [shown(now)]


def _files(start: str) -> list[str]:
    """Files and folders whose path begins with `start`; folders end with a slash."""
    folder, _, name = start.rpartition("/")
    before = start[: len(start) - len(name)]
    inside = Path(folder or ("/" if start.startswith("/") else "."))
    try:
        result = sorted(path for path in inside.iterdir() if path.name.startswith(name))
    except OSError:
        return []
    visible = [path for path in result if " " not in path.name and (name or not path.name.startswith("."))]
    return [f"{before}{path.name}{'/' if path.is_dir() else ''}" for path in visible]
