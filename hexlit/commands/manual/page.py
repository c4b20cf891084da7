"""The text of `hexlit COMMAND --help`: examples, settings with their values and meanings, groups with their options."""

import difflib
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hexlit.commands.manual.conf_files import Example
from hexlit.commands.manual.schemas import Setting
from hexlit.commands.manual.taken import Group, Taken
from hexlit.errors import UsageError

COLUMN = 32
"""Column of the meanings; a longer setting has its meaning below it."""
BRIEF = 150
"""Characters of a meaning in the overview, where its sentences allow."""
NARROWEST, WIDE = 24, 72

FLAGS = {
    "--help [NAME]": "this text; of one setting, section or group in full",
    "--cfg job": "print the configuration, and do nothing else",
    "--multirun, -m": "a run for each combination of values: seed=1,2,3",
    "--config-dir DIR": "a folder with YAML files of your own",
}


def terminal_width() -> int:
    """Columns of the terminal; 80 where there is none, or the variable COLUMNS."""
    return max(NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def overview(taken: Taken, width: int) -> str:
    """Everything that the command takes, the first sentence of each meaning."""
    purpose, _, more = taken.text.partition("\n\n")
    blocks = [list(_text(purpose, width))[:-1], ["examples:", *_examples(taken.examples, width)]]
    if more:
        blocks.append(list(_text(more, width))[:-1])
    sections = {name: [one for one in taken.settings if one.section == name] for name in _sections(taken)}
    for name, settings in sections.items():
        if settings:
            lines = [line for one in settings for line in _setting(one, taken.values[one.key], width, whole=False)]
            blocks.append([*_title(name, taken, width), *lines])
    if taken.groups:
        groups = [line for group in taken.groups for line in _group(group, width)]
        blocks.append([*_wrapped("groups (GROUP=OPTION; in brackets, the one in use):", width), *groups])
    blocks.append(["flags:", *(line for flag, what in FLAGS.items() for line in _row(flag, what, width))])
    topic = next((name for name in (*sections, *(group.name for group in taken.groups)) if name), "")
    topic = topic or taken.settings[0].key
    hint = f"hexlit {taken.command} --help {topic} says all about {topic}, as of each name here."
    blocks.append(_wrapped(hint, width))
    return "\n\n".join("\n".join(block) for block in blocks)


def topics(taken: Taken, names: Sequence[str], width: int) -> str:
    """All about the settings, sections and groups `names`.

    Raises:
        UsageError: the command takes nothing of that name.
    """
    return "\n\n".join("\n".join(_topic(taken, name.rstrip("=."), width)) for name in names)


def _hint(taken: Taken, name: str) -> str:
    of = [group.name for group in taken.groups if name in group.options]
    if of:
        return f"; it is an option: hexlit {taken.command} {of[0]}={name} --help"
    known = dict.fromkeys(
        [*(one.key for one in taken.settings), *(group.name for group in taken.groups), *taken.sections]
    )
    near = [one for one in known if one.rpartition(".")[2] == name] or difflib.get_close_matches(name, known)
    if near:
        return f": did you mean {' or '.join(map(repr, near[:3]))}?"
    return f"; hexlit {taken.command} --help lists them"


def _topic(taken: Taken, name: str, width: int) -> list[str]:
    settings = [one for one in taken.settings if one.key == name or one.key.startswith(f"{name}.")]
    groups = [group for group in taken.groups if group.is_called(name)]
    if not settings and not groups:
        raise UsageError(f"--help {name}: no setting, section or group of this command{_hint(taken, name)}")
    lines = _wrapped(taken.sections[name], width) if taken.sections.get(name) else []
    for setting in settings:
        lines += ["", *_setting(setting, taken.values[setting.key], width, whole=True)]
    for group in groups:
        lines += ["", f"options of the group, {group.name}=OPTION:"]
        if group.settings:
            lines += _wrapped(f"with their settings, {group.name.replace('/', '.')}.KEY=VALUE", width)
        for option, summary in group.options.items():
            mark = "* " if option == group.chosen else "  "
            lines += _row(mark + option, summary, width, indent=0)
            lines += _settings_of_option(group, option, width)
        lines += ["  * is the one in use"] if group.chosen in group.options else []
    return lines[1:] if lines[0] == "" else lines


def _sections(taken: Taken) -> list[str]:
    """The sections in the order of their settings; those within another follow it."""
    result = list(dict.fromkeys(["", *(setting.section for setting in taken.settings)]))
    tops = list(dict.fromkeys(name.partition(".")[0] for name in result))
    return sorted(result, key=lambda name: (tops.index(name.partition(".")[0]), name.count(".")))


def _title(name: str, taken: Taken, width: int) -> list[str]:
    if not name:
        return ["settings (KEY=VALUE):"]
    about = taken.sections.get(name, "")
    return _wrapped(f"{name}: {shortened(about)}" if about else f"{name}:", width)


def shortened(text: str) -> str:
    """As many sentences of `text` as make up a few lines, at least the first; the dots of `et al.` end none."""
    sentences = re.split(r"(?<=[^.\s]\.)(?<!\bal\.)\s+", text)
    kept = sentences[0]
    for sentence in sentences[1:]:
        if len(kept) + len(sentence) > BRIEF:
            break
        kept = f"{kept} {sentence}"
    return kept


def shown(value: Any) -> str:
    """A value as one writes it on the command line."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}" if float(f"{value:g}") == value else repr(value)
        case list():
            return f"[{','.join(shown(entry) for entry in value)}]"
        case dict():
            return f"{{{', '.join(f'{key}: {shown(entry)}' for key, entry in value.items())}}}"
        case "":
            return "''"
    return str(value)


def _setting(setting: Setting, value: Any, width: int, *, whole: bool, indent: int = 2) -> list[str]:
    meaning = setting.meaning if whole else shortened(setting.meaning)
    if whole and setting.range:
        meaning = f"{meaning} {'Each must' if setting.several else 'Must'} be {setting.range}."
    if value == "???":
        value, meaning = "", f"(needed) {meaning}"
    if not all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", meaning) for word in setting.choices):
        meaning = f"{meaning} {'Some' if setting.several else 'One'} of {', '.join(setting.choices)}."
    left = f"{setting.key}: {shown(value) if value != '' or setting.type == 'str' else ''}".rstrip()
    return _row(left, meaning, width, indent)


def _group(group: Group, width: int) -> list[str]:
    options = ", ".join(f"[{option}]" if option == group.chosen else option for option in group.options)
    return _row(group.name, options, width)


def _settings_of_option(group: Group, option: str, width: int) -> list[str]:
    """The settings of one option, without the name of the group; empty where it has none of its own."""
    lines = []
    for setting in group.settings.get(option, ()):
        short = replace(setting, key=setting.key.removeprefix(f"{group.name.replace('/', '.')}."))
        lines += _setting(short, setting.default, width, whole=True, indent=4)
    return [*lines, ""] if lines else []


def _row(left: str, right: str, width: int, indent: int = 2) -> list[str]:
    """`left`, and beside it, or below it where it is long, `right`."""
    column = COLUMN if width >= WIDE else width // 3
    head = " " * indent + left
    if len(head) + 2 <= column and right:
        return _wrapped(right, width, first=head.ljust(column), rest=" " * column)
    lines = _wrapped(left, width, first=" " * indent, rest=" " * (indent + 4))
    return lines + (_wrapped(right, width, first=" " * (indent + 4), rest=" " * (indent + 4)) if right else [])


def _examples(examples: Sequence[Example], width: int) -> Iterator[str]:
    for example in examples:
        yield from _command(example.command, width)
        if example.remark:
            yield from _wrapped(example.remark, width, first="      ", rest="      ")


def _command(command: str, width: int) -> Iterator[str]:
    """The lines of a command, which a shell can read: a backslash stands between two words of a long one."""
    line = " "
    for word in re.findall(r"""(?:'[^']*'|"[^"]*"|\S)+""", command):
        if line.strip() and len(line) + 1 + len(word) > width - 2:
            yield f"{line} \\"
            line = "     "
        line += f" {word}"
    yield from (
        _wrapped(line.strip(), width, first=line[: len(line) - len(line.lstrip())]) if len(line) > width else [line]
    )


def _text(text: str, width: int) -> Iterator[str]:
    """Paragraphs; a line that is indented, or a command, begins one of its own and hangs where it is long."""
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        hangs = line.startswith((" ", "hexlit "))
        if paragraph and (hangs or not line):
            yield from _wrapped(" ".join(paragraph), width)
            paragraph = []
        if hangs:
            indent = line[: len(line) - len(line.lstrip())]
            yield from _wrapped(line.strip(), width, first=indent, rest=f"{indent}    ")
        elif line:
            paragraph.append(line)
        else:
            yield ""


def _wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    rest = first if rest is None else rest
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False) or [
        first.rstrip()
    ]
