"""The answer to `hexlit COMMAND --help`, before anything of the command is imported."""

import os
import sys
from collections.abc import Sequence

from hexlit.commands.manual.page import overview, terminal_width, topics
from hexlit.commands.manual.taken import taken
from hexlit.errors import UsageError

FLAGS = ("-h", "--help")
VALUED = ("--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn", "--package", "-p")
"""Hydra's flags whose next word is their value."""
FINE, MISTAKE = 0, 2


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether the arguments of a command hold a flag for help."""
    return not {*FLAGS}.isdisjoint(arguments)


def answer(command: str, arguments: Sequence[str]) -> int:
    """Print the help of a command as its `arguments` set it up; words after the flag say what it shall be about.

    Returns:
        The exit code: 2 after a mistake, told in one line on the error stream.
    """
    at = min(arguments.index(flag) for flag in FLAGS if flag in arguments)
    after = zip(arguments[at:], arguments[at + 1 :], strict=False)
    names = [word for flag, word in after if "=" not in word and not word.startswith("-") and flag not in VALUED]
    try:
        result = taken(command, arguments)
        text = topics(result, names, terminal_width()) if names else overview(result, terminal_width())
    except UsageError as error:
        print(f"hexlit {command}: {error}", file=sys.stderr)
        return MISTAKE
    try:
        print(text, flush=True)
    except BrokenPipeError:  # `hexlit train --help | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FINE
