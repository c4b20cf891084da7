"""The words that a shell offers after TAB: those that may stand there, and no others."""

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path

from hexlit.commands.manual.page import ALL, HELP, shown
from hexlit.commands.manual.taken import Setting, Taken, taken
from hexlit.settings import NUMBERED, entry_points_of

ACTION = "action"
"""A setting of this name is the first word of its command: `hexlit games import`."""
HYDRA = ("hydra.", "hydra/")
"""Hydra's settings and groups are offered once a word begins with `hydra`."""


def candidates(command: str, words: Sequence[str], word: str) -> list[str]:
    """The words that may stand for the unfinished `word` after `hexlit COMMAND WORDS`."""
    try:
        result = taken(command, words, lenient=True)
    except Exception:  # a line that is still being written may name what is not there
        return []
    if not {*HELP}.isdisjoint(words):
        names = [
            ALL,
            *result.sections,
            *(one.key for one in result.settings),
            *(group.name for group in result.groups),
        ]
        names += [group.name.rpartition("/")[2] for group in result.groups if group.settings]
        return [name for name in sorted({*filter(None, names)}) if name.startswith(word)]
    if word.startswith("-"):
        return [
            flag
            for flag in ("--help", "--cfg", "--multirun", "--config-dir")
            if flag.startswith(word)
        ]
    key, equals, value = word.partition("=")
    if equals:
        return [
            f"{key}={one}"
            for one in _values(result, key.lstrip("+"), value)
            if one.startswith(value)
        ]
    return [name for name in _names(result, word, first=not words) if name.startswith(word)]


def _settings(found: Taken) -> Iterator[Setting]:
    """The settings of the command, then those that the options in use add."""
    yield from found.settings
    for group in found.groups:
        yield from group.settings.get(group.chosen, ())


def _names(found: Taken, word: str, *, first: bool) -> list[str]:
    """Groups and settings, a section in place of its settings until it is named;
    or the actions, as the first word.
    """
    actions = next((setting.choices for setting in found.settings if setting.key == ACTION), ())
    if actions and first:
        return [*actions]
    keys = {
        _until_the_next_dot(setting.key, word)
        for setting in _settings(found)
        if setting.key != ACTION
    }
    names = sorted({*keys, *(f"{group.name}=" for group in found.groups)})
    return [name for name in names if word.startswith("hydra") or not name.startswith(HYDRA)]


def _until_the_next_dot(key: str, word: str) -> str:
    """`optimizer.` of `optimizer.lr` after `opt`; the whole key with its `=` after `optimizer.`."""
    depth = word.count(".") + 1
    parts = key.split(".")
    return f"{key}=" if len(parts) <= depth else f"{'.'.join(parts[:depth])}."


def _values(found: Taken, key: str, value: str) -> list[str]:
    """The options of a group, or the values of a setting:
    its words, files where it is a text, or the one in use.
    """
    options = next((group.options for group in found.groups if group.name == key), None)
    if options is not None:
        return [*options]
    setting = next((setting for setting in _settings(found) if setting.key == key), None)
    if setting is None:
        return []
    if setting.several and setting.choices:
        return [*(f"[{word}]" for word in setting.choices), f"[{','.join(setting.choices)}]"]
    words = ("true", "false") if setting.type.startswith("bool") else setting.choices
    if words:
        others = entry_points_of(setting.group).names - {*words} if setting.group else ()
        null = ["null"] if "None" in setting.type else []
        return [*(word for word in words if not word.endswith(NUMBERED)), *sorted(others), *null]
    files = _files(value) if setting.type.startswith(("str", "Any")) else []
    return files or [shown(setting.value)]


def _files(start: str) -> list[str]:
    """Files and folders whose path begins with `start`; folders end with a slash."""
    head = start[: start.rfind("/") + 1]
    name = start.rpartition("/")[2]
    result = sorted(glob.glob(f"{glob.escape(start)}*", include_hidden=name.startswith(".")))  # noqa: PTH207  # keeps ./ and //
    return [
        f"{path}/" if Path(path).is_dir() else path
        for path in result
        if " " not in path.removeprefix(head)
    ]
