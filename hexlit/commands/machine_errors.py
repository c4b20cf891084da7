"""Refusals of the machine while a command works: told in one line, as a user's mistake is, since they are no bugs."""

import errno
import os
from collections.abc import Iterator

from hexlit.commands import claim
from hexlit.errors import UsageError

_ADVICE = {
    errno.ENOSPC: "free some space, and go on",
    errno.EDQUOT: "free some space, and go on",
    errno.EROFS: "choose another folder",
    errno.EACCES: "choose another folder, or have its rights changed",
    errno.EPERM: "choose another folder, or have its rights changed",
    errno.EIO: "the disk or the network under it is broken",
    errno.ESTALE: "the network's folder is gone",
    errno.ENAMETOOLONG: "no file is called so",
    errno.ELOOP: "links lead in a circle",
    errno.EMFILE: "ulimit -n allows too few open files",
    errno.ENFILE: "the system allows too few open files",
}
_LONGEST = 100
"""Characters of a name that are told."""


def machine_error(error: BaseException) -> UsageError | None:
    """The refusal of the machine that `error` comes of; None for a bug of the program."""
    for found in _chain(error):
        if isinstance(found, OSError) and found.errno in _ADVICE:
            return UsageError(f"{_named(found)}{os.strerror(found.errno)}; {_ADVICE[found.errno]}")
    if any(isinstance(found, FileNotFoundError) for found in _chain(error)):
        try:
            claim.check()  # a file may be missing because its folder is
        except UsageError as gone:
            return gone
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _named(error: OSError) -> str:
    """The file that is meant, else the folder that this command writes to."""
    name = error.filename if error.filename is not None else claim.folder()
    if name is None:
        return ""
    text = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else str(name)
    return f"{text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}: "
