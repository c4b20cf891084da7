"""The command line of a Hydra application: typed again, told to Weights & Biases, and without words of no effect."""

import logging
import shlex
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.training.config import LoggerConfig

log = logging.getLogger(__name__)


def same_command(command: str, *more: str, without: str | None = None) -> str:
    """`command` with the overrides it was called with, and `more`, each in place of an earlier one of its key.

    The setting `without` is left out.
    """
    from hydra.core.hydra_config import HydraConfig

    replaced = tuple(f"{setting.partition('=')[0]}=" for setting in (*more, *filter(None, [without])))
    given = [str(override) for override in HydraConfig.get().overrides.task]
    return " ".join([command, shlex.join([*(one for one in given if not one.startswith(replaced)), *more])])


def choices() -> dict[str, Any]:
    """Choices of the command line: overrides, the experiment, and the option of every group; empty outside of Hydra."""
    from hydra.core.hydra_config import HydraConfig

    if not HydraConfig.initialized():
        return {}
    hydra = HydraConfig.get()
    groups = {name: str(option) for name, option in hydra.runtime.choices.items() if not name.startswith("hydra/")}
    groups = {name: option for name, option in groups.items() if option not in ("None", "null")}
    overrides = [str(override) for override in hydra.overrides.task]
    return {"overrides": overrides, "experiment": groups.get("experiment"), "choices": groups}


def facts_of(settings: Any, **more: Any) -> dict[str, Any]:
    """The whole configuration in the dataclass `settings`, the choices, the code and its versions, and `more`."""
    from hexlit.tracking.provenance import git_state, versions

    return {**asdict(settings), **choices(), "git": git_state(), "versions": versions(), **more}


def refuse_tensorboard(config: LoggerConfig) -> None:
    """Raise `UsageError` if TensorBoard is chosen for a command without epochs."""
    if config.tensorboard:
        raise UsageError("logger=tensorboard: there are no epochs to draw here; choose logger=wandb or logger=csv")


def refuse_unused(where: str, ray: RayConfig, accelerator: AcceleratorConfig, overrides: Iterable[str]) -> None:
    """Refuse `overrides` of an unused cluster, and a device other than the one of its tasks.

    A number of threads that holds for this process alone is said.

    Raises:
        UsageError: there is one.
    """
    if where != "ray":
        for override in overrides:
            if override.lstrip("+~").partition("=")[0].partition(".")[0] in ("ray", "workers"):
                raise UsageError(f"{override}: where={where} uses no cluster; add where=ray, or leave it out")
        return
    if accelerator.device not in ("auto", ray.device):
        raise UsageError(
            f"accelerator.device={accelerator.device}: with ray.gpus={ray.gpus:g} tasks compute on {ray.device}; "
            "leave it out, or choose by ray.gpus"
        )
    if accelerator.threads not in (0, ray.threads):
        message = "accelerator.threads=%d is for this process; a task has as many as ray.cpus=%g"
        log.warning(message, accelerator.threads, ray.cpus)
