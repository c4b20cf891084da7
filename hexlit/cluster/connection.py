"""The connection to Ray: the only module that imports it, late, and reports a cluster's errors in
one line.
"""

import os
import platform
import socket
import sys
from dataclasses import dataclass
from typing import Any

import psutil

from hexlit import __version__
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.hex import jit
from hexlit.settings import install

SECONDS_TO_ANSWER = 5.0
"""Longest silence of a head, in seconds; then it counts as absent."""
_LOOPBACK_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's own name; 0 makes it listen only on loopback, on any system."""
_LONGEST = 300
"""Most characters of Ray's message that are shown."""


@dataclass(frozen=True)
class Connection:
    """A cluster that this process belongs to."""

    ray: Any
    """The package."""
    owned: bool
    """Whether this connection was made here, and therefore ends with its user."""

    def close(self) -> None:
        """Leave the cluster; end it if it was started for this run alone."""
        if self.owned:
            self.ray.shutdown()


def connect(config: RayConfig, count: int) -> Connection:
    """Join the cluster at `config.address`, or start one for `count` tasks at a time that only this
    machine can reach.

    An existing connection of this process, as in a notebook, is used and left open.

    Raises:
        UsageError: Ray is not installed, or was imported before with other settings; no cluster
            answers there, or it has another version.
    """
    local = config.address is None
    imported_before = "ray" in sys.modules and _LOOPBACK_VARIABLE not in os.environ
    if local and not imported_before:  # Ray reads these when it is imported
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault(_LOOPBACK_VARIABLE, "0")
    try:
        import ray
    except ImportError as error:
        raise UsageError(f"selfplay.where=ray: {error}; {install('ray')}") from error
    if ray.is_initialized():
        return Connection(ray, owned=False)
    # The processes it starts would read other settings than it has, and never meet it.
    if local and imported_before:
        raise UsageError(
            f"selfplay.where=ray: Ray was imported before; set {_LOOPBACK_VARIABLE}=0 in the "
            "environment of this process, or call ray.init() first"
        )
    settings: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": "error",
        "configure_logging": True,
    }
    if local:
        settings |= {
            "address": "local",
            "include_dashboard": False,
            "num_cpus": max(1, round(count * config.cpus)),
            "num_gpus": None if config.gpus else 0,
            "resources": {name: amount * count for name, amount in config.resources.items()}
            or None,
        }
    else:
        _check_there(str(config.address))
        settings["address"] = config.address
    try:
        ray.init(**settings)
    except Exception as error:  # Ray may raise nearly anything
        raise UsageError(f"ray.address={config.address or 'null'}: {first_words(error)}") from error
    return Connection(ray, owned=True)


def fetched(reference: Any) -> Any:
    """What `reference` stands for, inside a task."""
    import ray

    return ray.get(reference)


def _check_there(address: str) -> None:
    """Raise `UsageError` unless a head answers at `address` and a node runs here; `ray.init` would
    wait a minute.
    """
    if address != "auto":  # which Ray looks for, and reports at once if there is none
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection(
                (host.strip("[]"), int(port)), timeout=SECONDS_TO_ANSWER
            ).close()
        except OSError as error:
            reason = (
                f"no head answers there ({error.strerror or error}); start one by ray start --head"
            )
            raise UsageError(f"ray.address={address}: {reason}") from error
    if not any(process.info["name"] == "raylet" for process in psutil.process_iter(["name"])):
        rule = (
            "by ray start --address=HEAD:6379, with --num-cpus=0 if no games should be played here"
        )
        raise UsageError(
            f"ray.address={address}: this machine has not joined the cluster; do so {rule}"
        )


def first_words(error: BaseException) -> str:
    """The message of `error` in one line of moderate length: all of it, or the end of a
    traceback.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [
        type(error).__name__
    ]
    traced = any(line.startswith("Traceback") for line in lines)
    return (lines[-1] if traced else " ".join(lines))[:_LONGEST]


def identity() -> dict[str, str]:
    """Versions that must be equal on all hosts of a run, as texts."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"hexlit": __version__, "hexlit with the sources": jit.SOURCES, "Python": python}


def check_alike(expected: dict[str, str]) -> None:
    """Raise `UsageError` if this process has another hexlit, or another Python, than the one that
    asks it to work.
    """
    for what, version in identity().items():
        if expected[what] != version:
            raise UsageError(
                f"{platform.node()} has {what} {version}, the process that asks it {expected[what]}; install the same "
                "on all hosts"
            )
