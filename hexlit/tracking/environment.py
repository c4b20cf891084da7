"""W&B's environment variables, which complete the configuration; and whether there is a key."""

import logging
import netrc
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from hexlit.errors import UsageError
from hexlit.tracking.config import MODES, WandbConfig, check_project

_log = logging.getLogger(__name__)

PROJECT = "hexlit"
INIT_TIMEOUT = 30.0

_MODE_NAMES = {"dryrun": "offline", "run": "online"}  # W&B's older names
_TRUE = ("1", "true", "yes", "on")


def resolved(config: WandbConfig, environment: Mapping[str, str]) -> WandbConfig:
    """`config` completed from `environment`; mode, project and timeout are never None.

    Raises:
        UsageError: a variable has a value that W&B does not accept.
    """
    return replace(
        config,
        mode=config.mode or _mode(environment),
        project=config.project or _project(environment),
        entity=config.entity or environment.get("WANDB_ENTITY") or None,
        name=config.name or environment.get("WANDB_NAME") or None,
        group=config.group or environment.get("WANDB_RUN_GROUP") or None,
        tags=config.tags or _tags(environment),
        init_timeout=config.init_timeout or _init_timeout(environment),
    )


def folder_of(folder: Path, environment: Mapping[str, str]) -> Path:
    """Folder below which W&B makes its own: WANDB_DIR, else that of the run."""
    named = environment.get("WANDB_DIR")
    return Path(named).expanduser() if named else folder


def has_credentials() -> bool:
    """Whether W&B would find a key without asking, in its own search places."""
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


def _mode(environment: Mapping[str, str]) -> str:
    if environment.get("WANDB_DISABLED", "").lower() in _TRUE:
        return "disabled"
    message = environment.get("WANDB_MODE") or "offline"
    mode = _MODE_NAMES.get(message.lower(), message.lower())
    if mode not in MODES:
        raise UsageError(f"WANDB_MODE={message}: hexlit takes {', '.join(MODES[:-1])} and {MODES[-1]}")
    return mode


def _project(environment: Mapping[str, str]) -> str:
    project = environment.get("WANDB_PROJECT") or PROJECT
    check_project("WANDB_PROJECT", project)
    return project


def _tags(environment: Mapping[str, str]) -> list[str]:
    return [tag for part in environment.get("WANDB_TAGS", "").split(",") if (tag := part.strip())]


def _init_timeout(environment: Mapping[str, str]) -> float:
    message = environment.get("WANDB_INIT_TIMEOUT") or str(INIT_TIMEOUT)
    try:
        seconds = float(message)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise UsageError(f"WANDB_INIT_TIMEOUT={message}: a number of seconds above 0")
    return seconds
