"""`docs/reference.md`: every command, setting and group.
Written by `python docs/reference_page.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hexlit.commands.manual.contents import MISSING, Contents, Setting, contents_of
from hexlit.commands.manual.page import shown
from hexlit.commands.table import COMMANDS
from hexlit.commands.tasks import DEFAULT, TASKS
from hexlit.files import write_text_atomic

TARGET = Path(__file__).resolve().parent / "reference.md"
COMMAND = "python docs/reference_page.py"
"""Writes the page again."""

INTRODUCTION = f"""# Reference

Every command, every setting and every group of hexlit. `hexlit COMMAND --help` says the same of one command, with the
values of your command line; `hexlit COMMAND --help NAME` says all about one setting, section or group.

A setting is written `KEY=VALUE`, a group `GROUP=OPTION`. `null` means that nothing is set; the meaning of a setting
says what happens then. `needed` marks settings without a default.

This page is generated from the code by `{COMMAND}`.
"""


Sections = Mapping[str, list[Mapping[str, list[Setting]]]]
"""Section -> each form that it has -> the command lines that have it so,
with its settings there.
"""


def lines() -> dict[str, Contents]:
    """The command lines that the page is about, and what they take."""
    result: dict[str, Contents] = {}
    for command in COMMANDS:
        result[command] = contents_of(command)
        if command == "train":
            result |= {
                f"train task={task}": contents_of(command, [f"task={task}"])
                for task in TASKS
                if task != DEFAULT
            }
    return result


def page() -> str:
    """The whole text."""
    known = lines()
    sections = _sections(known)
    parts = [INTRODUCTION, "## Commands\n"]
    parts += ["\n".join(_command(line, entry)) for line, entry in known.items()]
    parts.append(
        "## Sections\n\nDefaults are those of the first command named; others follow in brackets.\n"
    )
    parts += [
        "\n".join(_section(name, known, form))
        for name in sorted(sections)
        for form in sections[name]
    ]
    parts.append("## Groups\n")
    groups = {group.name for entry in known.values() for group in entry.groups}
    parts += [
        "\n".join(_group(name, known))
        for name in sorted(groups, key=lambda name: ("hydra/" in name, name))
    ]
    return "\n".join(parts).rstrip() + "\n"


def _sections(known: Mapping[str, Contents]) -> Sections:
    """Sections that several command lines have in common stand once."""
    forms: dict[tuple[Any, ...], dict[str, list[Setting]]] = {}
    sections: dict[str, list[Mapping[str, list[Setting]]]] = {}
    for line, entry in known.items():
        for name in dict.fromkeys(one.section for one in entry.settings if one.section):
            settings = [one for one in entry.settings if one.section == name]
            alike = tuple((one.key, one.type, one.meaning) for one in settings)
            if alike not in forms:
                sections.setdefault(name, []).append(forms.setdefault(alike, {}))
            forms[alike][line] = settings
    return sections


def _command(line: str, entry: Contents) -> Iterator[str]:
    name, _, task = line.partition(" ")
    yield f"### hexlit {line}\n"
    if task:
        yield f"As `hexlit {name}`, with the settings of another task.\n"
    else:
        summary = COMMANDS[name]
        yield f"{summary[0].upper()}{summary[1:]}.\n"
        yield f"```text\n{entry.text}\n```\n"
        yield "```sh"
        yield from (
            f"{example}  # {remark}" if remark else example for example, remark in entry.examples
        )
        yield "```\n"
    own = [setting for setting in entry.settings if not setting.section]
    yield from _table(own, [_value(setting) for setting in own])
    sections = sorted({setting.section for setting in entry.settings} - {""})
    if sections:
        yield f"Sections: {_listed(sections)}.\n"
    if entry.groups:
        yield f"Groups: {_listed(group.name for group in entry.groups)}.\n"


def _section(
    name: str, known: Mapping[str, Contents], form: Mapping[str, list[Setting]]
) -> Iterator[str]:
    defaults = []
    for same in zip(*form.values(), strict=True):
        lines: dict[str, list[str]] = {}
        for line, setting in zip(form, same, strict=True):
            lines.setdefault(_value(setting), []).append(line)
        default, *others = lines
        rest = "; ".join(f"{', '.join(lines[value])}: {value}" for value in others)
        defaults.append(f"{default} ({rest})" if rest else default)
    yield f"### {name}\n"
    yield f"{known[next(iter(form))].sections[name]} Of {_listed(f'hexlit {line}' for line in form)}.\n"
    yield from _table(next(iter(form.values())), defaults)


def _group(name: str, known: Mapping[str, Contents]) -> Iterator[str]:
    options: dict[str, str] = {}
    users: list[str] = []
    files: dict[str, str] = {}
    for line, entry in known.items():
        for group in entry.groups:
            if group.name == name:
                users.append(f"`hexlit {line}`" + (f" ({group.chosen})" if group.chosen else ""))
                options |= group.options
                files |= group.files
    yield f"### {name}=\n"
    yield f"Of {', '.join(users)}. The option in brackets is the default.\n"
    yield "| option | what it is |\n|---|---|"
    names = TASKS if name == "task" else options  # other packages may bring more
    yield from (f"| `{option}` | {_cell(options[option])} |" for option in sorted(names))
    yield ""
    for option, text in sorted(files.items()):
        yield f"#### {name}={option}\n\n```yaml\n{text}\n```\n"


def _table(settings: Iterable[Setting], defaults: Iterable[str]) -> Iterator[str]:
    yield "| setting | type | default | meaning |\n|---|---|---|---|"
    for setting, default in zip(settings, defaults, strict=True):
        meaning = f"{setting.meaning} {setting.rules}".rstrip()
        cells = setting.type.replace("None", "null"), default, meaning
        yield f"| `{setting.key}` | {' | '.join(map(_cell, cells))} |"
    yield ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _value(setting: Setting) -> str:
    return "needed" if setting.value == MISSING else f"`{shown(setting.value)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the page."""
    write_text_atomic(TARGET, page())
    print(TARGET)


if __name__ == "__main__":
    main()
