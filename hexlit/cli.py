"""The command line: `hexlit COMMAND [overrides]`.

A command's module is imported when the command is called, so that help and completion answer at
once.
"""

import difflib
import errno
import gc
import importlib
import os
import shutil
import signal
import sys
import textwrap
from collections.abc import Sequence

from hexlit import __version__
from hexlit.commands.table import COMMANDS as COMMANDS
from hexlit.errors import UsageError
from hexlit.output import use_displays

KEEP_RESULTS = {"match", "strength", "train"}
"""Commands whose results are in a folder, too: they end well without an output."""
HELP_FLAGS = {"-h", "--help"}


def usage() -> str:
    """The text of `hexlit --help`, as wide as the terminal."""
    width = max(map(len, COMMANDS)) + 4
    columns = max(width + 20, shutil.get_terminal_size((80, 24)).columns)
    rows = [f"{f'  {name}':{width}}{summary}" for name, summary in COMMANDS.items()]
    table = "\n".join(textwrap.fill(row, columns, subsequent_indent=" " * width) for row in rows)
    return f"""hexlit {__version__}: research on the board game Hex

usage: hexlit COMMAND [KEY=VALUE | GROUP=OPTION ...]

commands:
{table}

  hexlit COMMAND --help        examples, settings and groups of a command
  hexlit COMMAND --cfg job     the configuration it would run with
  hexlit --version             the version
  eval "$(hexlit -sc install=bash)"   completion in this shell (also zsh, fish)"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 a bug, 2 a mistake of the user, 130
    interrupted.

    Without `argv` it is the command of this process: SIGTERM ends it as Ctrl-C does, and its output
    is protected, see `hexlit.output`.
    """
    gc.set_threshold(
        100_000
    )  # imports make a million objects, and they stay: a fifth faster with few searches
    if argv is not None:
        return _answer(list(argv))
    arguments = sys.argv[1:]
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # as Ctrl-C: unfinished files are removed
    output = use_displays()
    code = _answer(arguments)
    sys.stdout.flush()
    if output.error is None or output.error.errno == errno.EPIPE:
        return code
    if code == 0 and KEEP_RESULTS.isdisjoint(arguments[:1]):
        print(f"hexlit: the output cannot be written ({output.error.strerror})", file=sys.stderr)
        return 2
    return code


def _answer(arguments: list[str]) -> int:
    if arguments and arguments[0] in {*HELP_FLAGS, "help"}:  # hexlit help COMMAND
        arguments = [*arguments[1:2], "--help", *arguments[2:]]
    if not arguments or arguments[0] in HELP_FLAGS:
        print(usage())
        return 0
    if "--version" in arguments:
        print(f"hexlit {__version__}")
        return 0
    if arguments[0] in ("-sc", "--shell-completion"):
        return _complete(arguments)
    if sys.platform == "win32":
        print(
            "hexlit: Windows is not supported; use Linux, macOS, or WSL 2 on Windows",
            file=sys.stderr,
        )
        return 2
    name, *overrides = arguments
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(COMMANDS)}"
        )
        print(f"hexlit: unknown command {name!r}: {hint}", file=sys.stderr)
        return 2
    if not HELP_FLAGS.isdisjoint(overrides):
        from hexlit.commands.manual.page import answer  # imports Hydra, but no torch

        return answer(name, overrides)
    return _run(name, overrides)


def _run(name: str, overrides: list[str]) -> int:
    try:
        module = importlib.import_module(f"hexlit.commands.{name}")
        return int(module.main(overrides))
    except KeyboardInterrupt:  # while importing; a running command answers Ctrl-C itself
        return 130
    except UsageError as error:  # while importing: the environment of Numba
        print(f"hexlit {name}: {error}", file=sys.stderr)
        return 2


def _complete(arguments: list[str]) -> int:
    """Answer the shell, which asks `hexlit -sc query=SHELL` with the line in COMP_LINE, by a script
    of Hydra's.
    """
    if not any(argument.startswith("query=") for argument in arguments):
        return _run("solve", arguments)  # the installed script is the same for every command
    separator = "\n" if any(argument == "query=fish" for argument in arguments) else " "
    print(separator.join(_offered(os.environ.get("COMP_LINE", ""))))
    return 0


def _offered(line: str) -> list[str]:
    """Completions of the last word of `line`, whose first word is the program."""
    words = [*line.split(), ""] if line[-1:].isspace() else line.split()
    _, name, *before = [*words, ""] if len(words) < 2 else words
    if not before:
        return [command for command in COMMANDS if command.startswith(name)]
    if name not in COMMANDS:
        return []
    from hexlit.commands.manual.completion import candidates

    return candidates(name, before[:-1], before[-1])
