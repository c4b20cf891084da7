"""Versions that must be equal on all hosts of a cluster."""

import platform

from hexlit import __version__
from hexlit.errors import UsageError
from hexlit.hex import jit


def identity() -> dict[str, str]:
    """Versions that must be equal on all hosts of a run, as texts."""
    return {"hexlit": __version__, "sources": jit.SOURCES, "python": ".".join(platform.python_version_tuple()[:2])}


def greeting() -> dict[str, str]:
    """An actor's identification, as texts that every version understands: `identity`, and `host`."""
    return identity() | {"host": platform.node()}


def check_alike(name: str, told: dict[str, str]) -> None:
    """Raise `UsageError` if an actor's greeting has another hexlit, or another Python, than this process.

    The message calls the work `name`.
    """
    ours = identity()
    for key, what in (("hexlit", "hexlit"), ("sources", "hexlit with the sources"), ("python", "Python")):
        if told.get(key) != ours[key]:
            raise UsageError(
                f"{name} on Ray: {told.get('host', 'an actor')} has {what} {told.get(key)}, this process "
                f"{ours[key]}; install the same on all hosts"
            )
