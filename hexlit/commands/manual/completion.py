"""The words that a shell offers after TAB."""

import glob
from collections.abc import Sequence
from pathlib import Path

from hexlit.commands.manual.contents import Contents, contents_of
from hexlit.commands.manual.page import ALL, HELP, short_name, shown
from hexlit.settings import NAMED, NUMBERED, entry_points_of

ACTION = "action"
"""A setting of this name is the first word of its command: `hexlit games import`."""
FLAGS = ["--help", "--cfg", "--multirun", "--config-dir"]


def candidates(command: str, words: Sequence[str], word: str) -> list[str]:
    """The words that may stand for the unfinished `word` after `hexlit COMMAND WORDS`."""
    try:
        contents = contents_of(command, words, lenient=True)
    except Exception:  # a line that is still being written may name what is not there
        return []
    key, equals, value = word.partition("=")
    if not {*HELP}.isdisjoint(words):
        names = [ALL, *filter(None, contents.sections), *(one.key for one in contents.settings)]
        for group in contents.groups:
            names += {group.name, short_name(group)}
    elif word.startswith("-"):
        names = FLAGS
    elif equals:
        names = [f"{key}={one}" for one in _values(contents, key.lstrip("+"), value)]
    else:
        names = _keys(contents, word, first=not words)
    return [name for name in dict.fromkeys(names) if name.startswith(word)]


def _keys(contents: Contents, word: str, *, first: bool) -> list[str]:
    """Groups and settings, a section in place of its settings until it is named; or the actions, as
    the first word.
    """
    names = {f"{group.name}=" for group in contents.groups}
    for setting in contents.settings:
        if setting.key == ACTION and first:
            return [*setting.choices]
        if setting.key != ACTION:
            names.add(_until_the_next_dot(setting.key, word))
    if not word.startswith("hydra"):  # few need them
        names = {name for name in names if not name.startswith("hydra")}
    return sorted(names)


def _until_the_next_dot(key: str, word: str) -> str:
    """`optimizer.` of `optimizer.lr` after `opt`; the whole key with its `=` after `optimizer.`."""
    depth = word.count(".") + 1
    parts = key.split(".")
    return f"{key}=" if len(parts) <= depth else f"{'.'.join(parts[:depth])}."


def _values(contents: Contents, key: str, value: str) -> list[str]:
    """The options of a group, or the values of a setting: its choices, files where it is a text, or
    the one in use.
    """
    for group in contents.groups:
        if group.name == key:
            return [*group.options]
    setting = next((one for one in contents.settings if one.key == key), None)
    if setting is None:
        return []
    if setting.is_list and setting.choices:
        return [f"[{word}]" for word in setting.choices]
    choices = ("true", "false") if setting.type.startswith("bool") else setting.choices
    if choices:
        names = [word for word in choices if not word.endswith((NUMBERED, NAMED))]
        names += sorted(entry_points_of(setting.group).names) if setting.group else []
        return [*names, "null"] if "None" in setting.type else names
    files = _files(value) if setting.type.startswith(("str", "Any")) else []
    return files or [shown(setting.value)]


def _files(start: str) -> list[str]:
    """Files and folders whose path begins with `start`; folders end with a slash."""
    paths = sorted(glob.glob(f"{glob.escape(start)}*"))  # noqa: PTH207  # keeps ./ and //
    return [f"{path}/" if Path(path).is_dir() else path for path in paths if " " not in path]
