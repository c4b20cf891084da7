"""The program's side of the protocol: every command gets exactly one answer."""

import logging
from collections.abc import Callable
from functools import partial

from hexlit.arena.htp.channel import Incoming
from hexlit.arena.htp.commands import COMMANDS, QUIT, Command
from hexlit.arena.htp.protocol import LONGEST_LINE, Request, format_reply, quoted
from hexlit.arena.htp.session import Session
from hexlit.errors import UsageError

log = logging.getLogger(__name__)


def serve(incoming: Incoming, write: Callable[[str], None], session: Session) -> bool:
    """Answer commands by `write` until `quit`, or until the input ends; True after `quit`."""
    session.show = write
    for number, request in incoming:
        session.interrupted = partial(incoming.interrupted, number)
        session.followed = partial(incoming.followed, number)
        reply, fine = answer(session, request)
        write(reply)
        if fine and request.name == QUIT:
            return True
    return False


def answer(session: Session, request: Request) -> tuple[str, bool]:
    """The answer to one command, and whether it succeeded; if not, the position is unchanged.

    Raises:
        BrokenPipeError: the other side has gone.
    """
    before = session.known_position
    try:
        command = _command(request)
        action = partial(command.action(), session, request.arguments)
        text = session.in_thought(action) if command.thinks else action()
    except UsageError as error:
        return format_reply(request, str(error), success=False), False
    except BrokenPipeError:  # the reader of a live analysis has gone: no answer would arrive either
        raise
    except Exception as error:
        # A bug, or too little memory: the game continues from the same position.
        log.exception("%s failed", request.name)
        session.known_position = before
        return format_reply(request, f"internal error: {type(error).__name__}", success=False), False
    return format_reply(request, text, success=True), True


def _command(request: Request) -> Command:
    """The requested command, if the number of arguments fits; else raises `UsageError`."""
    if request.overlong:
        raise UsageError(f"a line of more than {LONGEST_LINE} bytes")
    if not request.name:
        raise UsageError("a command is needed after its number")
    command = COMMANDS.get(request.name)
    if command is None:
        raise UsageError(f"unknown command {quoted(request.name)}")
    given = len(request.arguments)
    if not command.takes_number(given):
        raise UsageError(f"{request.name} takes {command.takes or 'no arguments'}: {given} given")
    return command
