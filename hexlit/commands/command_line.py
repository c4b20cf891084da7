"""The command line of a Hydra application: typed again, told to Weights & Biases, and without words of no effect."""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.errors import UsageError
from hexlit.training.config import LoggerConfig

if TYPE_CHECKING:
    from hexlit.tracking.tracked_run import TrackedRun


def same_command(command: str, *, without: str) -> str:
    """`command` with the overrides it was called with, except that of the setting `without`."""
    from hydra.core.hydra_config import HydraConfig

    given = [str(override) for override in HydraConfig.get().overrides.task]
    return f"{command} {shlex.join(one for one in given if not one.startswith(f'{without}='))}"


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


def as_json(document: Any) -> str:
    """The document as JSON, without NaN and infinities, which JSON does not know."""
    return json.dumps(document, indent=2, allow_nan=False)


def track(
    settings: Any,
    folder: Path,
    document: Mapping[str, Any],
    log_tables: Callable[["TrackedRun"], None],
    *,
    kind: str,
    tags: Sequence[str] = (),
    sources: Sequence[str] = (),
    facts: Mapping[str, Any],
    files: Sequence[str],
) -> None:
    """Log the match or strength run in `folder` on Weights & Biases, unless the settings say no.

    Args:
        settings: those of the command.
        folder: of the results.
        document: all of them, the run's summary.
        log_tables: logs more.
        kind: the command.
        tags: further ones.
        sources: the networks.
        facts: further ones of the configuration.
        files: names of the results, an artifact of the run.
    """
    if settings.logger.wandb.mode == "disabled":
        return  # torch is not needed
    from hexlit.tasks.hex.checkpoint import network_file
    from hexlit.tracking.opening import open_run
    from hexlit.tracking.tracked_run import Files
    from hexlit.training.loggers import checkpoint_files

    size = document["board"]
    run = open_run(
        settings.logger.wandb,
        folder,
        name=f"{kind}-{folder.name}",
        kind=kind,
        tags=[kind, *tags, f"{size}×{size}"],
        facts=facts_of(settings, size=size, **facts),
        resumed=kind == "match" and settings.resume is not None,
    )
    if run is None:
        return
    for path in dict.fromkeys(map(network_file, sources)):  # two players may share a checkpoint
        run.used(checkpoint_files(path))
    log_tables(run)
    run.flush()
    run.note(summary=document)
    paths = [folder / name for name in files if (folder / name).exists()]
    run.made(Files(run.identity.artifact(kind), kind, paths))
    run.finish()


def refuse_tensorboard(config: LoggerConfig) -> None:
    """Raise `UsageError` if TensorBoard is chosen for a command without epochs."""
    if config.tensorboard:
        raise UsageError("logger=tensorboard: there are no epochs to draw here; choose logger=wandb or logger=csv")


def refuse_unused(settings: Any, overrides: Iterable[str]) -> None:
    """Refuse `overrides` of an unused cluster, and a device other than the one of its tasks.

    What continues keeps the cluster's settings of its beginning.

    Raises:
        UsageError: there is one.
    """
    ray, accelerator = settings.ray, settings.accelerator
    if settings.where != "ray":
        for override in overrides if settings.resume is None else ():
            if override.lstrip("+~").partition("=")[0].partition(".")[0] in ("ray", "workers"):
                raise UsageError(f"{override}: where={settings.where} uses no cluster; add where=ray, or leave it out")
    elif accelerator.device not in ("auto", ray.device):
        raise UsageError(
            f"accelerator.device={accelerator.device}: with ray.gpus={ray.gpus:g} tasks compute on {ray.device}; "
            "leave it out, or choose by ray.gpus"
        )
