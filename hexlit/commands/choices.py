"""The overrides, choices and versions of a command, for Weights & Biases."""

from dataclasses import asdict
from typing import Any

from hexlit.errors import UsageError
from hexlit.training.config import LoggerConfig


def choices() -> dict[str, Any]:
    """Choices of the command line: overrides, the experiment, and the option of every group.

    Empty outside of Hydra.
    """
    from hydra.core.hydra_config import HydraConfig

    if not HydraConfig.initialized():
        return {}
    hydra = HydraConfig.get()
    groups = {name: str(option) for name, option in hydra.runtime.choices.items() if not name.startswith("hydra/")}
    groups = {name: option for name, option in groups.items() if option not in ("None", "null")}
    return {
        "overrides": [str(override) for override in hydra.overrides.task],
        "experiment": groups.get("experiment"),
        "choices": groups,
    }


def facts_of(settings: Any, **more: Any) -> dict[str, Any]:
    """The whole configuration in the dataclass `settings`, the choices, the code and its versions, and `more`."""
    from hexlit.tracking.provenance import git_state, versions

    return {**asdict(settings), **choices(), "git": git_state(), "versions": versions(), **more}


def refuse_tensorboard(config: LoggerConfig) -> None:
    """Raise `UsageError` if TensorBoard is chosen for a command without epochs."""
    if config.tensorboard:
        raise UsageError("logger=tensorboard: there are no epochs to draw here; choose logger=wandb or logger=csv")
