"""`docs/reference.md`: every command, setting and group. Written by `python -m hexlit.commands.manual.reference`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hexlit.commands.manual.page import shown
from hexlit.commands.manual.taken import MISSING, OTHERS, Setting, Taken, taken
from hexlit.commands.table import COMMANDS
from hexlit.commands.tasks import DEFAULT, TASKS
from hexlit.files import write_text_atomic

TARGET = Path(__file__).resolve().parents[3] / "docs" / "reference.md"
COMMAND = "python -m hexlit.commands.manual.reference"
"""Writes the page again."""

INTRODUCTION = f"""# Reference

Every command, every setting and every group of hexlit. `hexlit COMMAND --help` says the same of one command, with the
values of your command line; `hexlit COMMAND --help NAME` says all about one setting, section or group.

A setting is written `KEY=VALUE`, a group `GROUP=OPTION`. `null` means that nothing is set; the meaning of a setting
says what happens then. `needed` marks settings without a default.

This page is generated from the code by `{COMMAND}`.
"""


@dataclass
class Section:
    """One section of settings, as some command lines have it alike."""

    name: str
    about: str
    settings: tuple[Setting, ...]
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    """Command line -> key -> default there."""


def lines() -> dict[str, Taken]:
    """The command lines that the page is about, and what they take."""
    result: dict[str, Taken] = {}
    for command in COMMANDS:
        result[command] = taken(command)
        if command == "train":
            result |= {f"train task={task}": taken(command, [f"task={task}"]) for task in TASKS if task != DEFAULT}
    return result


def page() -> str:
    """The whole text."""
    known = lines()
    sections = _sections(known)
    parts = [INTRODUCTION, "## Commands\n"]
    for line, entry in known.items():
        parts.append("\n".join(_command(line, entry, sections)))
    parts.append("## Sections\n\nDefaults are those of the first command named; others follow in brackets.\n")
    parts += ["\n".join(_section(section)) for section in sections]
    parts.append("## Groups\n")
    names = {group.name for entry in known.values() for group in entry.groups}
    parts += ["\n".join(_group(name, known)) for name in sorted(names, key=lambda name: ("hydra/" in name, name))]
    return "\n".join(parts).rstrip() + "\n"


def _sections(known: Mapping[str, Taken]) -> list[Section]:
    """Sections that several command lines have in common stand once."""
    result: dict[tuple[str, tuple[tuple[str, str, str], ...]], Section] = {}
    for line, entry in known.items():
        for name in dict.fromkeys(setting.section for setting in entry.settings):
            settings = tuple(setting for setting in entry.settings if setting.section == name)
            if name:
                alike = name, tuple((one.key, one.type, one.meaning) for one in settings)
                section = result.setdefault(alike, Section(name, entry.sections.get(name, ""), settings))
                section.values[line] = {one.key: _value(one.value) for one in settings}
    return sorted(result.values(), key=lambda section: section.name)


def _command(line: str, entry: Taken, sections: Iterable[Section]) -> Iterator[str]:
    name, _, task = line.partition(" ")
    yield f"### hexlit {line}\n"
    if task:
        yield f"As `hexlit {name}`, with the settings of another task.\n"
    else:
        summary = COMMANDS[name][1]
        yield f"{summary[0].upper()}{summary[1:]}.\n"
        yield f"```text\n{entry.text}\n```\n"
        yield "```sh"
        for example in entry.examples:
            yield f"{example.command}  # {example.remark}" if example.remark else example.command
        yield "```\n"
    own = [setting for setting in entry.settings if not setting.section]
    yield from _table(own, {setting.key: _value(setting.value) for setting in own})
    mine = [f"`{section.name}`" for section in sections if line in section.values]
    if mine:
        yield f"Sections: {', '.join(mine)}.\n"
    groups = [f"`{group.name}`" for group in entry.groups]
    if groups:
        yield f"Groups: {', '.join(groups)}.\n"


def _section(section: Section) -> Iterator[str]:
    told = {}
    for key in (one.key for one in section.settings):
        lines: dict[str, list[str]] = {}
        for line, values in section.values.items():
            lines.setdefault(values[key], []).append(line)
        default, *others = lines
        rest = "; ".join(f"{', '.join(lines[value])}: {value}" for value in others)
        told[key] = f"{default} ({rest})" if rest else default
    yield f"### {section.name}\n"
    yield f"{section.about} Of {', '.join(f'`hexlit {line}`' for line in section.values)}.\n"
    yield from _table(section.settings, told)


def _group(name: str, known: Mapping[str, Taken]) -> Iterator[str]:
    options: dict[str, str] = {}
    users: list[str] = []
    settings: dict[str, tuple[Setting, ...]] = {}
    for line, entry in known.items():
        for group in entry.groups:
            if group.name == name:
                users.append(f"`hexlit {line}`" + (f" ({group.chosen})" if group.chosen else ""))
                options |= group.options
                settings |= group.settings
    yield f"### {name}=\n"
    yield f"Of {', '.join(users)}. The option in brackets is the default.\n"
    yield "| option | what it is |\n|---|---|"
    told = TASKS if name == "task" else OTHERS.get(name, options)  # other packages may bring more
    yield from (f"| `{option}` | {_cell(options[option])} |" for option in sorted(told))
    yield ""
    for option, own in sorted(settings.items()):
        if own and any(one.meaning for one in own):  # plugins document theirs
            yield f"#### {name}={option}\n"
            yield from _table(own, {setting.key: _value(setting.value) for setting in own})


def _table(settings: Iterable[Setting], defaults: Mapping[str, str]) -> Iterator[str]:
    yield "| setting | type | default | meaning |\n|---|---|---|---|"
    for setting in settings:
        meaning = setting.whole_meaning
        if setting.choices:
            meaning += f" Choices: {', '.join(f'`{choice}`' for choice in setting.choices)}."
        kind = _cell(setting.type.replace("None", "null"))
        yield f"| `{setting.key}` | {kind} | {_cell(defaults[setting.key])} | {_cell(meaning)} |"
    yield ""


def _value(value: object) -> str:
    return "needed" if value == MISSING else f"`{shown(value)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the page."""
    write_text_atomic(TARGET, page())
    print(TARGET)


if __name__ == "__main__":
    main()
