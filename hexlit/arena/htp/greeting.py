"""Answers about the program itself, before anything is loaded: name, version, and list of commands."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hexlit import __version__
from hexlit.arena.htp.commands import COMMANDS, MENU
from hexlit.arena.htp.protocol import Request, format_reply

if TYPE_CHECKING:
    from hexlit.arena.htp.session import Session

PROTOCOL_VERSION = "2"
MODULE = "greeting."


def greeter(write: Callable[[str], None]) -> Callable[[Request], bool]:
    """A function that answers requests without a session by `write`, and returns whether it did."""

    def greet(request: Request) -> bool:
        command = COMMANDS.get(request.name)
        if command is None or not command.run.startswith(MODULE) or not command.takes_number(len(request.arguments)):
            return False
        answer = globals()[command.run.removeprefix(MODULE)]
        write(format_reply(request, answer(None, request.arguments), success=True))
        return True

    return greet


def protocol_version(session: "Session | None", arguments: Sequence[str]) -> str:
    """The protocol's version."""
    del session, arguments
    return PROTOCOL_VERSION


def name(session: "Session | None", arguments: Sequence[str]) -> str:
    """The program's name."""
    del session, arguments
    return "hexlit"


def version(session: "Session | None", arguments: Sequence[str]) -> str:
    """The program's version."""
    del session, arguments
    return __version__


def known_command(session: "Session | None", arguments: Sequence[str]) -> str:
    """Whether there is a command of this name."""
    del session
    return "true" if arguments[0] in COMMANDS else "false"


def list_commands(session: "Session | None", arguments: Sequence[str]) -> str:
    """Names of all commands, a line each."""
    del session, arguments
    return "\n".join(COMMANDS)


def analyze_commands(session: "Session | None", arguments: Sequence[str]) -> str:
    """The menu of analyses, a line each."""
    del session, arguments
    return "\n".join(f"{kind}/{label}/{command} %c" for kind, label, command in MENU)
