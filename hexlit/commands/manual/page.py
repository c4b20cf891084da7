"""The text of `hexlit COMMAND --help`.

It has examples, groups with their options, and settings with their values and meanings.
"""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from hexlit.commands.application import explain, is_mistake
from hexlit.commands.composing import flags_and_overrides
from hexlit.commands.manual.contents import MISSING, Contents, Group, Setting, contents_of
from hexlit.commands.typed_words import near_keys
from hexlit.errors import UsageError

HELP = ("-h", "--help")
ALL = "all"
"""Word behind `--help` for every setting of a long command."""
MANY = 60
"""Settings of a command above which its page has those of OFTEN, and of the others the sections."""
OFTEN = (
    "accelerator.device",
    "data.batch",
    "data.path",
    "hydra.sweeper.n_jobs",
    "hydra.sweeper.n_trials",
    "net.blocks",
    "net.channels",
    "optimizer.lr",
    "search.simulations",
    "selfplay.games",
    "selfplay.positions",
    "trainer.max_epochs",
    "trainer.max_time",
)
"""Settings that users change first, in addition to those outside of all sections."""
COLUMN = 32
"""Column of the meanings; a longer setting has its meaning below it."""
FLAGS = """
flags:
  --help [NAME | all]           this text; one setting, section or group; all
  --cfg job                     print the configuration, and do nothing else
  --multirun, -m                a run for each combination of values: seed=1,2,3
  --config-dir DIR              a folder with further YAML files"""


def answer(command: str, arguments: Sequence[str]) -> int:
    """Print the help of a command as its `arguments` set it up.

    Words after the flag name settings, sections and groups.

    Returns:
        The exit code: 2 after a mistake, reported in one line on the error stream.
    """
    width = max(60, shutil.get_terminal_size((80, 24)).columns)
    try:
        _, words = flags_and_overrides(arguments)
        at = min(arguments.index(flag) for flag in HELP if flag in arguments)
        names = [word for word in arguments[at:] if word in words and "=" not in word]
        contents = contents_of(command, arguments)
        if {*names} - {ALL}:
            lines = topics(contents, names, width)
        else:
            lines = overview(contents, width, whole=bool(names))
    except Exception as error:
        if not is_mistake(error):
            raise
        print(f"hexlit {command}: {explain(error, command, [*arguments])}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


def overview(contents: Contents, width: int, *, whole: bool = False) -> list[str]:
    """All that the command takes, with the first sentence of each meaning.

    Of a command with many settings it has those of OFTEN; all of them if it is `whole`.
    """
    lines = []
    for line in contents.text.splitlines():
        lines += textwrap.wrap(line, width, subsequent_indent="    ") or [""]
    lines += ["", "examples:"]
    for example, remark in contents.examples:
        lines.append(f"  {example}  # {remark}" if remark else f"  {example}")
    if contents.groups:
        lines += ["", "groups (GROUP=OPTION; in brackets, the one in use):"]
    for group in contents.groups:
        options = [f"[{one}]" if one == group.chosen else one for one in group.options]
        lines += _row(group.name, ", ".join(options), width)
    short = not whole and len(contents.settings) > MANY
    sections: dict[str, list[Setting]] = {}
    for setting in contents.settings:
        sections.setdefault(setting.section, []).append(setting)
    lines += ["", "settings (KEY=VALUE):"]
    for setting in sections.pop("", []):
        lines += _setting(setting, width, brief=True)
    for name, settings in sorted(sections.items()):
        if not short:
            lines += ["", *textwrap.wrap(f"{name}: {_sentence(contents.sections[name])}", width)]
        for setting in settings:
            if not short or setting.key in OFTEN:
                lines += _setting(setting, width, brief=True)
    if short:
        lines += ["", "sections (each by --help SECTION, all by --help all):"]
        for name, settings in sorted(sections.items()):
            about = _sentence(contents.sections[name])
            lines += _row(f"{name} ({len(settings)})", about, width)
    return [*lines, FLAGS]


def topics(contents: Contents, names: Sequence[str], width: int) -> list[str]:
    """All about the settings, sections and groups `names`.

    Raises:
        UsageError: the command takes nothing of that name.
    """
    lines: list[str] = []
    for name in (name.rstrip("=.") for name in names):
        settings = [one for one in contents.settings if f"{one.key}.".startswith(f"{name}.")]
        groups = [one for one in contents.groups if name in (one.name, short_name(one))]
        if not settings and not groups:
            known = [*(one.key for one in contents.settings), *contents.sections]
            near = " or ".join(near_keys(name, known))
            hint = f"; did you mean {near}?" if near else ""
            raise UsageError(f"--help {name}: no setting, section or group{hint}")
        lines += ["", *textwrap.wrap(contents.sections.get(name, ""), width)]
        for setting in settings:
            lines += _setting(setting, width)
        for group in groups:
            lines += ["", f"options of the group {group.name} (* is the one in use):"]
            for option, summary in group.options.items():
                lines += _row(f"{'*' if option == group.chosen else ' '} {option}", summary, width)
                for line in group.files.get(option, "").splitlines():
                    lines.append(f"      {line}")
    return lines[1:]


def short_name(group: Group) -> str:
    """The last word of a group's name: `sampler` of `hydra/sweeper/sampler`."""
    return group.name.rpartition("/")[2]


def _sentence(text: str) -> str:
    """The first sentence; the dot of `et al. 2018` ends none."""
    return re.split(r"(?<=\.) (?=[A-Z`])", text)[0]


def shown(value: Any) -> str:
    """A value as one writes it on the command line."""
    if isinstance(value, str):
        return value or "''"
    return json.dumps(value, separators=(",", ": "))


def _setting(setting: Setting, width: int, *, brief: bool = False) -> list[str]:
    meaning = _sentence(setting.meaning) if brief else setting.meaning
    value = "(needed)" if setting.value == MISSING else shown(setting.value)
    return _row(f"{setting.key}: {value}", f"{meaning} {setting.rules}", width)


def _row(left: str, right: str, width: int) -> list[str]:
    """`left`, and `right` in the column next to it; below `left` where that is long."""
    indent = " " * COLUMN
    head = f"  {left}"
    wrapper = textwrap.TextWrapper(width, indent, indent, break_on_hyphens=False)
    if len(head) + 2 > COLUMN:
        return [head, *wrapper.wrap(right)]
    wrapper.initial_indent = head.ljust(COLUMN)
    return wrapper.wrap(right) or [head]
