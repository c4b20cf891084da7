"""Settings of a place of work, this process or a cluster, that would have no effect there."""

import logging
from collections.abc import Iterable
from typing import Protocol

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError

log = logging.getLogger(__name__)


class Placed(Protocol):
    """Settings of a command that works here or on a cluster."""

    where: str
    ray: RayConfig
    accelerator: AcceleratorConfig


def refuse_unused(settings: Placed, overrides: Iterable[str]) -> None:
    """Refuse `overrides` of an unused cluster, and a device other than the one of its actors.

    A number of threads that holds for this process alone is said.

    Raises:
        UsageError: there is one.
    """
    if settings.where != "ray":
        for override in overrides:
            key = override.lstrip("+~").partition("=")[0]
            if key.partition(".")[0] in ("ray", "workers"):
                raise UsageError(f"{override}: where={settings.where} uses no cluster; add where=ray, or leave it out")
        return
    device, there = settings.accelerator.device, settings.ray.device
    if device not in ("auto", there):
        raise UsageError(
            f"accelerator.device={device}: with ray.gpus={settings.ray.gpus:g} actors play on {there}; "
            "leave it out, or choose by ray.gpus"
        )
    threads = settings.accelerator.threads
    if threads not in (0, settings.ray.threads):
        log.warning(
            "accelerator.threads=%d is for this process; an actor has as many as ray.cpus=%g",
            threads,
            settings.ray.cpus,
        )
