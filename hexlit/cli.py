"""The command line: `hexlit COMMAND [overrides]`.

It is a table of commands and nothing else. A command's module is imported when the command is called, so that
`hexlit --help` and shell completion of a command's name answer at once.
"""

import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from hexlit import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "train": (
        "hexlit.commands.train",
        "train a network: Hex from nothing or from recorded games; forecasts",
    ),
    "games": (
        "hexlit.commands.games",
        "recorded games: import, export, show, stats, verify; from files of many formats, and as Parquet",
    ),
    "predict": ("hexlit.commands.predict", "apply a trained network to a file: forecasts of new readings"),
    "solve": ("hexlit.commands.solve", "the exact winner and the winning moves of a position, boards 2 to 8"),
    "match": ("hexlit.commands.match", "games between players: ratings with intervals, a sequential test, SGF"),
    "strength": ("hexlit.commands.strength", "a network against the exact truth; what each way of searching is worth"),
    "play": ("hexlit.commands.play", "a board to play and study on, in the browser"),
    "htp": ("hexlit.commands.htp", "play and analyse for other programs, such as HexGui, by the Hex Text Protocol"),
    "export": ("hexlit.commands.export", "a trained network as a file for other programs: ONNX, safetensors"),
    "bench": ("hexlit.commands.bench", "measure this machine: positions, games and training steps a second"),
    "plan": ("hexlit.commands.plan", "hours and cost of a recipe on machines one does not have, from measured rates"),
    "doctor": ("hexlit.commands.doctor", "what this machine can do, tried: devices, precisions, compiling, memory"),
    "monitor": (
        "hexlit.commands.monitor",
        "watch a run from outside: processor, memory, device; how many fit side by side",
    ),
    "report": ("hexlit.commands.report", "the results of a sweep, finished or still going on: leaderboard, figures"),
}
"""Name of a command -> (module with `main(argv) -> exit code`, one line of help)."""

COMPLETION_FLAGS = ("-sc", "--shell-completion")


def usage() -> str:
    """The text of `hexlit --help`."""
    width = max(map(len, COMMANDS))
    table = "\n".join(f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items())
    return f"""hexlit {__version__}: research on the board game Hex

usage: hexlit COMMAND [KEY=VALUE | GROUP=OPTION ...]

commands:
{table}

  hexlit COMMAND --help        the settings and groups of a command
  hexlit COMMAND --cfg job     the configuration it would run with
  hexlit --version             the version
  eval "$(hexlit -sc install=bash)"   completion in this shell (also zsh, fish)"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 a bug, 2 a mistake of the user, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if "--version" in arguments:
        print(f"hexlit {__version__}")
        return 0
    if arguments[0] in COMPLETION_FLAGS:
        return _complete(arguments)
    name, *overrides = arguments
    if name not in COMMANDS:
        print(f"hexlit: {_unknown_command(name)}", file=sys.stderr)
        return 2
    return _run(name, overrides)


def _run(name: str, overrides: list[str]) -> int:
    try:
        module = importlib.import_module(COMMANDS[name][0])
        return int(module.main(overrides))
    except KeyboardInterrupt:  # while importing; a running command answers Ctrl-C itself
        return 130


def _unknown_command(name: str) -> str:
    near = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.5)
    if near:
        return f"unknown command {name!r}: did you mean {' or '.join(near)}?"
    return f"unknown command {name!r}: choose from {', '.join(COMMANDS)}"


def _complete(arguments: list[str]) -> int:
    """Answer the shell: names of commands here, all after a command's name by that command's configuration.

    Hydra completes for one application; its script asks `hexlit -sc query=SHELL`, with the line in COMP_LINE.
    """
    if not any(argument.startswith("query=") for argument in arguments):
        return _run("solve", arguments)  # the installed script is the same for every command
    line = os.environ.get("COMP_LINE", "")
    words = line.split()
    if len(words) < 2 or (len(words) == 2 and not line[-1].isspace()):
        start = words[1] if len(words) == 2 else ""
        print(" ".join(name for name in COMMANDS if name.startswith(start)))
        return 0
    program, name = words[:2]
    if name not in COMMANDS:
        return 0
    os.environ["COMP_LINE"] = f"{program} {line.split(name, 1)[1].lstrip()}"
    return _run(name, arguments)
