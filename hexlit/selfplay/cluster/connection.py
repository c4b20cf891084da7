"""The way to Ray: the one module that imports it, late, and says in one line what is wrong with a cluster."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from hexlit.errors import UsageError
from hexlit.selfplay.cluster.config import RayConfig

SECONDS_TO_ANSWER = 7.0
"""Within which a head must answer; starting the program that asks it is part of them."""
_LONGEST = 300
"""Characters of Ray's words that are told."""


@dataclass(frozen=True)
class Connection:
    """A cluster that this process belongs to."""

    ray: Any
    """The package."""
    owned: bool
    """Whether this connection was made here, and so ends with its user."""

    def close(self) -> None:
        """Leave the cluster; one that was started for this run alone ends."""
        if self.owned:
            self.ray.shutdown()


def connect(config: RayConfig, actors: int) -> Connection:
    """Join the cluster at `config.address`, or start one for `actors` actors that only this machine can reach.

    A connection that this process has already, as in a notebook, is used and left open.

    Raises:
        UsageError: Ray is not installed, or nobody answers there, or another version.
    """
    local = config.address is None
    if local:  # Ray reads these when it is imported
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # its name; 0 binds to loopback anywhere
    try:
        import ray
    except ImportError as error:
        raise UsageError(f"selfplay.where=ray: {error}; pip install 'hexlit[ray]'") from error
    if ray.is_initialized():
        return Connection(ray, owned=False)
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "configure_logging": True}
    if local:
        settings |= {
            "address": "local",
            "include_dashboard": False,
            "num_cpus": max(1, round(actors * config.cpus)),
            "num_gpus": None if config.gpus else 0,
            "resources": {name: amount * actors for name, amount in config.resources.items()} or None,
        }
    else:
        _check_answers(str(config.address))
        settings["address"] = config.address
    try:
        ray.init(**settings)
    except Exception as error:  # Ray raises nearly anything
        raise UsageError(f"ray.address={config.address or 'null'}: {first_words(error)}") from error
    return Connection(ray, owned=True)


def _check_answers(address: str) -> None:
    """Raise `UsageError` unless the head of a cluster answers; `ray.init` itself would try for more than a minute."""
    if address != "auto":
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=3).close()
        except OSError as error:
            raise UsageError(
                f"ray.address={address}: nobody answers there ({error.strerror or error}); "
                "start Ray on the head by ray start --head"
            ) from error
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check"]
    command += [] if address == "auto" else ["--address", address]
    try:
        asked = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS_TO_ANSWER, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"ray.address={address}: there is no head of a Ray cluster that answers within {SECONDS_TO_ANSWER:g} s"
        ) from None
    if asked.returncode:
        said = (asked.stderr.strip() or asked.stdout.strip() or f"exit code {asked.returncode}").splitlines()[-1]
        raise UsageError(f"ray.address={address}: {said[:_LONGEST]}")


def first_words(error: BaseException) -> str:
    """What `error` says, in one line of moderate length; of a remote traceback its last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    traced = any(line.startswith("Traceback") for line in lines)
    return (lines[-1] if traced else " ".join(lines))[:_LONGEST]
