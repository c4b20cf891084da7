"""The connection to Ray: the only module that imports it, late, and reports a cluster's errors in one line."""

import os
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.extras import install

SECONDS_TO_ANSWER = 5.0
"""Longest silence of a head, in seconds; then it counts as absent."""
_LOOPBACK_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's own name; 0 makes it listen only on loopback, on any system."""
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS_FRAME = b"\x04"
_CAUSES = (
    re.compile(r"actor (?:died|is dead) because (its (?:worker process|node) has died\b)"),
    re.compile(r"actor is (temporarily unavailable)"),
)
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


def connect(config: RayConfig, actors: int) -> Connection:
    """Join the cluster at `config.address`, or start one for `actors` actors that only this machine can reach.

    An existing connection of this process, as in a notebook, is used and left open.

    Raises:
        UsageError: Ray is not installed, or was imported before with other settings; no cluster answers there, or
            it has another version.
    """
    local = config.address is None
    imported_before = "ray" in sys.modules and _LOOPBACK_VARIABLE not in os.environ
    if local and not imported_before:  # Ray reads these when it is imported
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault(_LOOPBACK_VARIABLE, "0")
    try:
        import ray
    except ImportError as error:
        raise UsageError(f"where=ray: {error}; {install('ray')}") from error
    if ray.is_initialized():
        return Connection(ray, owned=False)
    if local and imported_before:  # the processes it starts would read other settings than it has, and never meet it
        raise UsageError(
            f"where=ray: Ray was imported before; set {_LOOPBACK_VARIABLE}=0 in the environment of this process, or "
            "call ray.init() first"
        )
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
        _check_joined(str(config.address))
        settings["address"] = config.address
    try:
        ray.init(**settings)
    except Exception as error:  # Ray may raise nearly anything
        raise UsageError(f"ray.address={config.address or 'null'}: {first_words(error)}") from error
    return Connection(ray, owned=True)


def _check_answers(address: str) -> None:
    """Raise `UsageError` unless a head answers at `address`; `ray.init` itself would try for more than a minute.

    A head speaks gRPC, so it answers the first bytes of HTTP/2 with a frame of settings (RFC 9113, section 3.4).
    """
    place = _current_cluster() if address == "auto" else address
    if place is None:  # Ray looks for it, and reports at once if there is none
        return
    host, _, port = place.rpartition(":")
    where = f"ray.address={address}" + (f" ({place})" if place != address else "")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_ANSWER) as line:
            if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
                return  # it waits for a handshake first, which `ray.init` can make
            line.sendall(_HTTP2_PREFACE)
            answer = line.recv(9)
    except TimeoutError as error:
        raise UsageError(f"{where}: no answer within {SECONDS_TO_ANSWER:g} s; is Ray running there?") from error
    except (OSError, ValueError) as error:
        message = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{where}: no head answers there ({message}); start Ray on the head by ray start --head"
        ) from error
    if answer[3:4] != _SETTINGS_FRAME:
        raise UsageError(f"{where}: the server there is no head of a Ray cluster; its usual port is 6379")


def _check_joined(address: str) -> None:
    """Raise `UsageError` unless a node of Ray runs on this machine; `ray.init` would look for one for a minute."""
    if not any(process.info["name"] == "raylet" for process in psutil.process_iter(["name"])):
        raise UsageError(
            f"ray.address={address}: this machine has not joined the cluster; do so by ray start "
            "--address=HEAD:6379, with --num-cpus=0 if no games should be played here"
        )


def _current_cluster() -> str | None:
    """First place where `ray.init` looks for the cluster of this machine; None if it has to search."""
    if named := os.environ.get("RAY_ADDRESS"):
        return None if named == "auto" or "://" in named else named
    latest = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")  # Ray's own place
    try:
        return latest.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def first_words(error: BaseException) -> str:
    """The message of `error` in one line of moderate length: Ray's cause alone, or the end of a traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    for known in _CAUSES:
        if cause := known.search(" ".join(lines)):
            return cause[1][:_LONGEST]
    traced = any(line.startswith("Traceback") for line in lines)
    return (lines[-1] if traced else " ".join(lines))[:_LONGEST]
