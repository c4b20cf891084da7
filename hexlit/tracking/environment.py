"""W&B's environment variables, which complete the configuration; and whether there is a key."""

import netrc
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from hexlit.tracking.config import WandbConfig

PROJECT = "hexlit"

_MODE_NAMES = {"dryrun": "offline", "run": "online"}  # W&B's older names


def resolved(config: WandbConfig, environment: Mapping[str, str]) -> WandbConfig:
    """`config` completed from `environment`, as W&B reads it; mode and project are never None.

    Raises:
        ValueError, wandb.Error: a variable has a value that W&B does not accept.
    """
    import wandb

    theirs = wandb.Settings(mode="offline")
    theirs.update_from_env_vars(dict(environment))
    disabled = environment.get("WANDB_DISABLED", "").lower() in ("1", "true", "yes", "on")
    return replace(
        config,
        mode=config.mode or ("disabled" if disabled else _MODE_NAMES.get(theirs.mode, theirs.mode)),
        project=config.project or theirs.project or PROJECT,
        entity=config.entity or theirs.entity,
        name=config.name or theirs.run_name,
        group=config.group or theirs.run_group,
        tags=config.tags or [tag.strip() for tag in theirs.run_tags or ()],
    )


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
    for path in (
        [Path(named).expanduser()] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]
    ):
        with suppress(OSError, netrc.NetrcParseError):
            return any(map(netrc.netrc(path).authenticators, hosts))
    return False
