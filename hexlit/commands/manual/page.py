"""The text of `hexlit COMMAND --help`: examples,
groups with their options, settings with their values and meanings.
"""

import difflib
import itertools
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatch
from typing import Any

from hexlit.commands.application import explain, is_mistake
from hexlit.commands.composing import flags_and_overrides
from hexlit.commands.manual.taken import MISSING, Group, Setting, Taken, taken
from hexlit.errors import UsageError

HELP = ("-h", "--help")
ALL = "all"
"""Word behind `--help` for every setting of a long command."""
MANY = 60
"""Settings of a command above which its page tells those that change often,
and of the others the sections alone.
"""
OFTEN = (
    *(
        "trainer.max_epochs",
        "trainer.max_time",
        "optimizer.name",
        "optimizer.lr",
        "accelerator.device",
        "net.*",
    ),
    *(
        "search.simulations",
        "selfplay.games",
        "selfplay.positions",
        "data.path",
        "data.batch",
        "data.window",
    ),
    *("openings.*", "sprt.*", "target.*", "hydra.sweeper.n_trials", "hydra.sweeper.n_jobs"),
)
"""Settings that users change first, beside those outside of all sections."""
COLUMN = 32
"""Column of the meanings; a longer setting has its meaning below it."""
HANGING = " ", "hexlit "
"""Beginnings of a line of a command's purpose that is no part of a paragraph."""

FLAGS = {
    "--help [NAME | all]": "this text; all about one setting, section or group; every setting",
    "--cfg job": "print the configuration, and do nothing else",
    "--multirun, -m": "a run for each combination of values: seed=1,2,3",
    "--config-dir DIR": "a folder with YAML files of your own",
}


def answer(command: str, arguments: Sequence[str]) -> int:
    """Print the help of a command as its `arguments` set it up; words after the flag say what it
    shall be about.

    Returns:
        The exit code: 2 after a mistake, reported in one line on the error stream.
    """
    width = max(24, shutil.get_terminal_size((80, 24)).columns)
    try:
        _, words = flags_and_overrides(arguments)
        at = min(arguments.index(flag) for flag in HELP if flag in arguments)
        names = [word for word in arguments[at:] if word and word in words and "=" not in word]
        known = taken(command, arguments)
        lines = (
            topics(known, names, width)
            if {*names} - {ALL}
            else overview(known, width, whole=bool(names))
        )
    except Exception as error:
        if not is_mistake(error):
            raise
        print(f"hexlit {command}: {explain(error, command, [*arguments])}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


def overview(taken: Taken, width: int, *, whole: bool = False) -> list[str]:
    """All that the command takes, with the first sentences of each meaning.

    Of a command with many settings it has those that users change first; all of them if it is
    `whole`.
    """
    purpose, _, more = taken.text.partition("\n\n")
    lines = [*_text(purpose, width), "", "examples:"]
    for command, remark in taken.examples:
        lines += _command(command, width) + (_wrapped(remark, width, " " * 6) if remark else [])
    lines += ["", *_text(more, width)] if more else []
    if taken.groups:
        lines += ["", *_wrapped("groups (GROUP=OPTION; in brackets, the one in use):", width)]
    for group in taken.groups:
        options = ", ".join(
            f"[{option}]" if option == group.chosen else option for option in group.options
        )
        lines += _row(group.name, options, width)
    names = sorted({one.section for one in taken.settings} | {""})
    sections = {name: [one for one in taken.settings if one.section == name] for name in names}
    about = {name: _sentences(taken.sections[name])[0] for name in names}
    parts = {
        f"{name}: {about[name]}" if name else "settings (KEY=VALUE):": sections[name]
        for name in names
    }
    short = not whole and len(taken.settings) > MANY
    if short:
        often = [
            one
            for one in taken.settings
            if one.section and any(fnmatch(one.key, key) for key in OFTEN)
        ]
        title = f"settings that change most (KEY=VALUE); hexlit {taken.command} --help {ALL} has every one:"
        parts = {title: [*sections.pop(""), *often]}
    for title, settings in parts.items():
        lines += ["", *_wrapped(title, width)]
        for setting in settings:
            lines += _setting(setting, width, brief=True)
    if short:
        lines += [
            "",
            *_wrapped("sections (SECTION.KEY=VALUE; in brackets, the number of settings):", width),
        ]
        for name, settings in sections.items():
            left = f"  {name} ({len(settings)})".ljust(_column(width))
            lines.append(
                f"{left}{textwrap.shorten(about[name], width - len(left), placeholder=' ...')}"
            )
    lines += ["", "flags:"]
    for flag, what in FLAGS.items():
        lines += _row(flag, what, width)
    return lines


def topics(taken: Taken, names: Sequence[str], width: int) -> list[str]:
    """All about the settings, sections and groups `names`.

    Raises:
        UsageError: the command takes nothing of that name.
    """
    lines: list[str] = []
    for name in (name.rstrip("=.") for name in names):
        settings = [
            one for one in taken.settings if one.key == name or one.key.startswith(f"{name}.")
        ]
        groups = [group for group in taken.groups if group.is_called(name)]
        if not settings and not groups:
            raise UsageError(
                f"--help {name}: no setting, section or group of this command{_hint(taken, name)}"
            )
        lines += ["", *_wrapped(taken.sections[name], width)] if taken.sections.get(name) else []
        for setting in settings:
            lines += ["", *_setting(setting, width)]
        for group in groups:
            lines += _options(group, width)
    return lines[1:]


def _options(group: Group, width: int) -> list[str]:
    """The options of a group, each with the settings that it alone has."""
    prefix = f"{group.name.replace('/', '.')}."
    lines = ["", f"options of the group, {group.name}=OPTION:"]
    lines += _wrapped(f"with their settings, {prefix}KEY=VALUE", width) if group.settings else []
    for option, summary in group.options.items():
        lines += _row(
            f"{'*' if option == group.chosen else ' '} {option}", summary, width, indent=0
        )
        for setting in group.settings.get(option, ()):
            lines += _setting(
                replace(setting, key=setting.key.removeprefix(prefix)), width, indent=4
            )
        lines += [""] if group.settings.get(option) else []
    return [*lines, "  * is the one in use"] if group.chosen in group.options else lines


def _hint(taken: Taken, name: str) -> str:
    groups = [group for group in taken.groups if name in group.options]
    if groups:
        return f"; it is an option: hexlit {taken.command} {groups[0].name}={name} --help"
    known = [
        *(one.key for one in taken.settings),
        *(group.name for group in taken.groups),
        *taken.sections,
    ]
    near = [one for one in known if one.rpartition(".")[2] == name] or difflib.get_close_matches(
        name, known
    )
    near_words = " or ".join(map(repr, dict.fromkeys(near)))
    return (
        f": did you mean {near_words}?" if near else f"; hexlit {taken.command} --help lists them"
    )


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[^.\s]\.)(?<!\bal\.)\s+", text)  # the dots of `et al.` and `...` end none


def shown(value: Any) -> str:
    """A value as one writes it on the command line."""
    if isinstance(value, list):
        return f"[{','.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {shown(entry)}' for key, entry in value.items())}}}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value) or "''"


def _setting(setting: Setting, width: int, *, brief: bool = False, indent: int = 2) -> list[str]:
    meaning = _sentences(setting.meaning)[0] if brief else setting.whole_meaning
    if setting.value == MISSING:
        meaning = f"(needed) {meaning}"
    if not all(
        re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", meaning) for word in setting.choices
    ):
        meaning = (
            f"{meaning} {'Some' if setting.several else 'One'} of {', '.join(setting.choices)}."
        )
    value = "" if setting.value in (MISSING, "") and setting.type != "str" else shown(setting.value)
    return _row(f"{setting.key}: {value}".rstrip(), meaning, width, indent)


def _column(width: int) -> int:
    return min(COLUMN, width * 2 // 5)


def _row(left: str, right: str, width: int, indent: int = 2) -> list[str]:
    """`left`, and next to it, or below it where it is long, `right`."""
    head = " " * indent + left
    column = _column(width)
    if len(head) + 2 <= column and right:
        return _wrapped(right, width, head.ljust(column), " " * column)
    below = " " * (indent + 4)
    return _wrapped(left, width, " " * indent, below) + (
        _wrapped(right, width, below) if right else []
    )


def _command(command: str, width: int) -> list[str]:
    """The lines of a command, which a shell can read:
    a backslash stands between two words of a long one.
    """
    if len(command) + 2 > width:
        width -= 2  # for the backslash
    quoted = r"""'[^']*'|"[^"]*\""""
    words = re.sub(quoted, lambda match: match[0].replace(" ", "\0"), command)
    *lines, last = _wrapped(words, width, "  ", " " * 6)
    lines = [f"{line} \\" for line in lines]
    return [line.replace("\0", " ") for line in [*lines, last]]


def _text(text: str, width: int) -> list[str]:
    """Paragraphs; a line that is indented, or a command,
    is one of its own and hangs where it is long.
    """
    lines: list[str] = []
    for own, group in itertools.groupby(
        text.splitlines(), lambda line: line.startswith(HANGING) or not line
    ):
        for line in group if own else [" ".join(group)]:
            lines += _wrapped(
                line, width, "", " " * (len(line) - len(line.lstrip()) + 4) if own else ""
            )
    return lines


def _wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    rest = first if rest is None else rest
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return lines or [first.rstrip()]
