"""Where metrics go: always to `metrics.csv`, and to Weights & Biases or TensorBoard when configured."""

import logging
import netrc
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger
from lightning.pytorch.utilities import rank_zero_only

from hexlit.training.config import LoggerConfig, WandbConfig
from hexlit.training.metrics import MetricsCsv

_log = logging.getLogger(__name__)


def build_loggers(config: LoggerConfig, folder: Path, run_name: str, run_id: str | None = None) -> list[Logger]:
    """Loggers of one run whose files lie in `folder`, `MetricsCsv` first; end them with `close_loggers`.

    `run_id` is the W&B id of the run: the same one again continues that run. Only the process of rank 0 opens W&B.
    Never prompts and never waits longer than `config.wandb.init_timeout`.
    """
    loggers: list[Logger] = [MetricsCsv(folder)]
    if config.wandb.mode != "disabled" and _is_rank_zero():
        run = _open_wandb(config.wandb, folder, run_name, run_id)
        loggers.append(WandbLogger(experiment=run, project=config.wandb.project, name=run_name, save_dir=folder))
    if config.tensorboard:
        loggers.append(TensorBoardLogger(save_dir=folder, name="", version="tensorboard"))
    return loggers


def note_in_wandb(
    loggers: Sequence[Logger], *, config: Mapping[str, Any] | None = None, summary: Mapping[str, Any] | None = None
) -> None:
    """Put entries into the configuration and the summary of the W&B run, where there is one among `loggers`.

    Entries that are there already are replaced, the others stay. Comes before `close_loggers`.
    """
    for logger in loggers:
        if not isinstance(logger, WandbLogger):
            continue
        if config:
            logger.experiment.config.update(dict(config), allow_val_change=True)
        if summary:
            logger.experiment.summary.update(dict(summary))


def close_loggers(loggers: Sequence[Logger], failed: bool = False) -> None:
    """Write what is pending and end the W&B run, so that the next run of this process gets its own."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger.experiment.finish(exit_code=int(failed))
        else:
            logger.finalize("failed" if failed else "success")


def _open_wandb(config: WandbConfig, folder: Path, run_name: str, run_id: str | None) -> Any:
    import wandb

    folder.mkdir(parents=True, exist_ok=True)
    arguments: dict[str, Any] = {
        "dir": folder,
        "project": config.project,
        "entity": config.entity,
        "group": config.group,
        "tags": list(config.tags),
        "name": run_name,
        "id": run_id,
    }
    run = None
    if config.mode == "online":
        reason = None if _has_credentials() else "no API key was found (`wandb login` or WANDB_API_KEY)"
        if reason is None:
            try:
                run = wandb.init(mode="online", resume="allow", settings=_settings(config), **arguments)
            except (wandb.Error, OSError) as error:
                lines = str(error).strip().splitlines()
                reason = f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
                arguments["id"] = run_id and f"{run_id}-offline"  # the attempt still holds its id
        if reason is not None:
            _log.warning(
                "logger.wandb.mode=online: %s; going on offline, `wandb sync` uploads the run from %s later",
                reason,
                folder / "wandb",
            )
    if run is None:
        run = wandb.init(mode="offline", settings=_settings(config), **arguments)
    run.define_metric("epoch")
    run.define_metric("*", step_metric="epoch")
    return run


def _is_rank_zero() -> bool:
    return getattr(rank_zero_only, "rank", 0) == 0  # Lightning keeps the rank on the function


def _settings(config: WandbConfig) -> Any:
    import wandb

    return wandb.Settings(
        init_timeout=config.init_timeout,
        finish_timeout=config.finish_timeout,
        silent=True,
        console="off",
        reinit="create_new",  # a run of its own, whatever else is open in this process
    )


def _has_credentials() -> bool:
    """Whether W&B would find a key without asking, in the places that it searches itself."""
    import wandb

    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    settings = wandb.setup().settings
    if settings.api_key:  # wandb.login(key=...) earlier in this process
        return True
    hosts = {urlsplit(settings.base_url).netloc}
    if settings.base_url == wandb.Settings.model_fields["base_url"].default:
        hosts.add("api.wandb.ai")  # the public service answers under both names
    named = os.environ.get("NETRC")
    for path in [Path(named).expanduser()] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]:
        try:
            entries = netrc.netrc(path)
            return any(entries.authenticators(host) for host in hosts)
        except FileNotFoundError:
            continue
        except (netrc.NetrcParseError, OSError) as error:
            _log.warning("%s cannot be read for a W&B key: %s", path, error)
    return False
