"""The command lines of a page: what a shell would make of them, as far as the pages use a shell."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.docs.pages import Fence, code_spans, fences, name_of

SHELLS = ("sh", "shell")
"""Languages of blocks with command lines.
Those of `shell` need a server, other hardware or an installation.
"""
OPERATORS = {"&&", "||", ";", "|", "&"}
REDIRECTIONS = {">", ">>", "<", ">&", "&>"}
LAUNCHERS = ("torchrun", "srun", "sbatch", "nice", "nohup", "taskset", "time", "env", "timeout")
"""Programs whose arguments end with a command of ours."""


@dataclass(frozen=True)
class Command:
    """One simple command of a page."""

    place: str
    """File and line."""
    words: tuple[str, ...]
    """Program and arguments. `python -m NAME` and `.venv/bin/NAME` are NAME."""
    launcher: tuple[str, ...] = ()
    """The words before the program, such as `srun --ntasks=2`."""
    inline: bool = False
    """Whether it stands in a sentence or a table, and not in a block of its own."""
    elsewhere: bool = False
    """Whether it needs more than this machine has,
    so that its settings are checked and it never runs.
    """

    @property
    def text(self) -> str:
        """The words with blanks between them, as patterns see the command."""
        return " ".join(self.words)


def commands_of(path: Path) -> Iterator[Command]:
    """All commands of a page, those in sentences last;
    without those of examples, which run as they are.
    """
    for fence in fences(path):
        if fence.language in SHELLS and "run" not in fence.marks:
            yield from commands_of_fence(fence)
    for line, span in code_spans(path):
        if is_command(span):
            yield from commands_of_line(f"{name_of(path)}:{line}", span, inline=True)


def is_command(span: str) -> bool:
    """Whether a piece of inline code is a command line,
    and not a name such as `hexlit` or the form of commands.
    """
    if re.search(r"\bCOMMAND\b|\bACTION\b", span):
        return False
    return (
        re.match(
            r"(?:srun .*|torchrun .*|\w+=\S+ )?(?:hexlit|pytest|mkdocs|python3? -m) +[^ ]", span
        )
        is not None
    )


def commands_of_fence(fence: Fence) -> Iterator[Command]:
    """The commands of a block, continued lines put together;
    prompts (`$ `) are taken off, and so is their output.
    """
    waiting, start = "", fence.line
    has_prompts = any(line.startswith("$ ") for line in fence.text.splitlines())
    for number, line in enumerate(fence.text.splitlines(), fence.line):
        if has_prompts and not waiting and not line.startswith("$ "):
            continue
        start = start if waiting else number
        waiting += line.removeprefix("$ ")
        if waiting.endswith("\\"):
            waiting = waiting[:-1] + " "
            continue
        for command in commands_of_line(f"{fence.page}:{start}", waiting):
            yield replace(command, elsewhere=fence.language == "shell")
        waiting = ""


def commands_of_line(place: str, line: str, *, inline: bool = False) -> Iterator[Command]:
    """The simple commands of one line of shell,
    redirections left out; raises ValueError for an open quote.
    """
    reader = shlex.shlex(
        re.sub(r"(?<!\S)\d(?=[<>])", "", line), posix=True, punctuation_chars="&|;<>"
    )
    reader.whitespace_split = True
    words: list[str] = []
    skip = False
    for word in [*reader, ";"]:
        if word in OPERATORS:
            if words:
                yield simple(place, words, inline)
            words = []
        elif word in REDIRECTIONS or skip:
            skip = not skip
        else:
            words.append(word)


def simple(place: str, words: list[str], inline: bool) -> Command:
    """The command of `words`; variables set for it and what launches it stand apart."""
    first = 0
    while first < len(words) - 1 and re.match(r"[A-Z_]+=", words[first]):
        first += 1
    if Path(words[first]).name in LAUNCHERS:
        first = next(
            (i for i, word in enumerate(words) if Path(word).name in ("hexlit", "pytest")), first
        )
        if words[first - 1] == "-m":
            return Command(place, tuple(words[first:]), tuple(words[: first - 1]), inline)
    before, rest = words[:first], words[first:]
    if re.fullmatch(r"python(3(\.\d+)?)?", Path(rest[0]).name) and rest[1:2] == ["-m"]:
        rest = rest[2:]
    return Command(place, (Path(rest[0]).name, *rest[1:]), tuple(before), inline)
