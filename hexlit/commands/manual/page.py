"""The text of `hexlit COMMAND --help`: examples, groups with their options, settings with their values and meanings."""

import difflib
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from typing import Any

from hexlit.commands.application import is_mistake
from hexlit.commands.composing import flags_and_overrides
from hexlit.commands.manual.taken import Example, Group, Setting, Taken, taken
from hexlit.commands.user_errors import explain, one_line
from hexlit.errors import UsageError

HELP = ("-h", "--help")
ALL = "all"
"""Word behind `--help` for every setting of a long command."""
MANY = 60
"""Settings of a command above which its page tells those that change often, and of the others the sections alone."""
OFTEN = (
    *("trainer.max_epochs", "trainer.max_time", "optimizer.name", "optimizer.lr", "accelerator.device", "net.*"),
    *("search.simulations", "selfplay.games", "selfplay.positions", "data.path", "data.batch", "data.window"),
    *("openings.*", "sprt.*", "target.*", "hydra.sweeper.n_trials", "hydra.sweeper.n_jobs"),
)
"""Settings that users change first, beside those outside of all sections."""
COLUMN = 32
"""Column of the meanings; a longer setting has its meaning below it."""
BRIEF = 150
"""Characters of a meaning in the overview, where its sentences allow."""
NARROWEST, WIDE = 24, 72

FLAGS = {
    "--help [NAME | all]": "this text; of one setting, section or group in full; of all settings",
    "--cfg job": "print the configuration, and do nothing else",
    "--multirun, -m": "a run for each combination of values: seed=1,2,3",
    "--config-dir DIR": "a folder with YAML files of your own",
}


def answer(command: str, arguments: Sequence[str]) -> int:
    """Print the help of a command as its `arguments` set it up; words after the flag say what it shall be about.

    Returns:
        The exit code: 2 after a mistake, told in one line on the error stream.
    """
    width = max(NARROWEST, shutil.get_terminal_size((80, 24)).columns)
    try:
        _, words = flags_and_overrides(arguments)
        at = min(arguments.index(flag) for flag in HELP if flag in arguments)
        names = [word for word in arguments[at:] if word in words and "=" not in word]
        result = taken(command, arguments)
        text = topics(result, names, width) if {*names} - {ALL} else overview(result, width, whole=bool(names))
    except Exception as error:
        if not is_mistake(error):
            raise
        print(f"hexlit {command}: {one_line(explain(error, command, [*arguments]))}", file=sys.stderr)
        return 2
    try:
        print(text, flush=True)
    except BrokenPipeError:  # `hexlit train --help | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def overview(taken: Taken, width: int, *, whole: bool = False) -> str:
    """All that the command takes, with the first sentences of each meaning.

    Of a command with many settings it has those that users change first; all of them if it is `whole`.
    """
    purpose, _, more = taken.text.partition("\n\n")
    blocks = [list(_text(purpose, width))[:-1], ["examples:", *_examples(taken.examples, width)]]
    if more:
        blocks.append(list(_text(more, width))[:-1])
    if taken.groups:
        groups = [line for group in taken.groups for line in _group(group, width)]
        blocks.append([*_wrapped("groups (GROUP=OPTION; in brackets, the one in use):", width), *groups])
    sections = {name: [one for one in taken.settings if one.section == name] for name in _sections(taken)}
    if whole or len(taken.settings) <= MANY:
        for name, settings in sections.items():
            blocks.append([*_title(name, taken, width), *_lines(settings, width)])
        topic = next((name for name in (*sections, *(group.name for group in taken.groups)) if name), "")
        hint = f"hexlit {taken.command} --help {topic or taken.settings[0].key} says all about"
        hint += f" {topic or taken.settings[0].key}, as of each name here."
    else:
        often = [one for one in taken.settings if one.section and any(fnmatch(one.key, key) for key in OFTEN)]
        blocks.append(["settings that change most (KEY=VALUE):", *_lines([*sections.pop(""), *often], width)])
        title = "sections (SECTION.KEY=VALUE; in brackets, the number of their settings):"
        rows = [_line(f"{name} ({len(settings)})", taken.sections[name], width) for name, settings in sections.items()]
        blocks.append([*_wrapped(title, width), *rows])
        hint = f"hexlit {taken.command} --help NAME says all about a setting, section or group; --help {ALL} lists all."
    blocks.append(["flags:", *(line for flag, what in FLAGS.items() for line in _row(flag, what, width))])
    blocks.append(_wrapped(hint, width))
    return "\n\n".join("\n".join(block) for block in blocks)


def _lines(settings: Iterable[Setting], width: int) -> Iterator[str]:
    for one in settings:
        yield from _setting(one, width, whole=False)


def _line(left: str, right: str, width: int) -> str:
    """`left`, and beside it as much of the first sentence of `right` as the line holds."""
    head = f"  {left}".ljust(COLUMN if width >= WIDE else width // 3)
    return f"{head}{textwrap.shorten(_sentences(right)[0], width - len(head), placeholder=' ...')}"


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
        lines += ["", *_setting(setting, width, whole=True)]
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
    """As many sentences of `text` as make up a few lines, at least the first; the dots of `et al.` end no sentence."""
    kept, *others = _sentences(text)
    for sentence in others:
        if len(kept) + len(sentence) > BRIEF:
            break
        kept = f"{kept} {sentence}"
    return kept


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[^.\s]\.)(?<!\bal\.)\s+", text)


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


def _setting(setting: Setting, width: int, *, whole: bool, indent: int = 2) -> list[str]:
    value, meaning = setting.value, setting.meaning if whole else shortened(setting.meaning)
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
        lines += _setting(short, width, whole=True, indent=4)
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
