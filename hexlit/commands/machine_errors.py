"""Errors of the machine during a command: told in one line, like a user's mistake, since they are no bugs."""

import errno
import os
from collections.abc import Iterator

from hexlit.commands import claim
from hexlit.errors import UsageError

_ADVICE = {
    errno.ENOSPC: "free some space, and continue",
    errno.EDQUOT: "free some space, and continue",
    errno.EROFS: "choose another folder",
    errno.EACCES: "choose another folder, or have its rights changed",
    errno.EPERM: "choose another folder, or have its rights changed",
    errno.EIO: "the disk or the network under it is broken",
    errno.ESTALE: "the network's folder is gone",
    errno.ENAMETOOLONG: "this name is too long for a file",
    errno.ELOOP: "links lead in a circle",
    errno.EMFILE: "ulimit -n allows too few open files",
    errno.ENFILE: "the system allows too few open files",
}
_LONGEST = 100
"""Longest name in a message, in characters."""


def machine_error(error: BaseException) -> UsageError | None:
    """The machine's error behind `error`; None for a bug of the program."""
    for result in _chain(error):
        if isinstance(result, OSError) and result.errno in _ADVICE:
            return UsageError(f"{_named(result)}{os.strerror(result.errno)}; {_ADVICE[result.errno]}")
    if any(isinstance(result, FileNotFoundError) for result in _chain(error)):
        try:
            claim.check()  # a file may be missing because its folder is missing
        except UsageError as gone:
            return gone
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _named(error: OSError) -> str:
    """The file of the error, else the folder of this command."""
    name = error.filename if error.filename is not None else claim.folder()
    if name is None:
        return ""
    text = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else str(name)
    return f"{text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}: "
