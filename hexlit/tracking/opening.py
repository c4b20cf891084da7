"""Opens the W&B run of a folder: never a prompt, never a long wait, the same run again when it is
resumed.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hexlit.tracking.config import WandbConfig
from hexlit.tracking.environment import has_credentials, resolved
from hexlit.tracking.identity import Identity, new_identity, read_identity, write_identity
from hexlit.tracking.tracked_run import TrackedRun

_log = logging.getLogger(__name__)

FLUSH = "x_transaction_log_flush_interval"
FLUSHED_EVERY = 2.0
"""Most seconds of records that a kill may lose; W&B would keep 15 in memory."""


def open_run(
    config: WandbConfig,
    folder: Path,
    *,
    name: str,
    kind: str,
    tags: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
    resumed: bool = False,
    own_name: bool = False,
) -> TrackedRun | None:
    """The W&B run of `folder`, where its files lie too; None where W&B is disabled, or fails, which
    is a warning.

    `config` is completed from the environment. `kind` is W&B's type of job, such as `train`; `tags`
    come before the configured ones; `facts` are the run's configuration. A `resumed` run continues
    the one that the folder names. With `own_name` the run keeps `name`, and an id of its own,
    whatever the environment says: trials share one environment.
    """
    if config.mode == "disabled":
        return None
    try:
        asked = resolved(config, os.environ)
        if asked.mode == "disabled":
            return None
        folder.mkdir(parents=True, exist_ok=True)
        identity = read_identity(folder) if resumed else None
        if identity is None:
            called = config.name or name if own_name else asked.name or name
            run_id = None if own_name else os.environ.get("WANDB_RUN_ID") or None
            identity = new_identity(called, str(asked.project), asked.entity, run_id)
        else:  # the same run stays in the same project, unless a user moves it on purpose
            moved: dict[str, Any] = {
                "project": config.project or identity.project,
                "entity": config.entity or identity.entity,
            }
            identity = replace(identity, **moved)
        place = Path(os.environ.get("WANDB_DIR") or folder).expanduser()
        place.mkdir(parents=True, exist_ok=True)
        run, identity = _init(asked, identity, place, kind, [*tags, *asked.tags], dict(facts or {}))
    except (
        Exception
    ) as error:  # of W&B, its settings in the environment, or its folders: never the end of a run
        _log.warning(
            "W&B: %s: %s; nothing is logged there",
            type(error).__name__,
            " ".join(str(error).split()),
        )
        return None
    write_identity(folder, identity)
    return TrackedRun(run, identity, artifacts=asked.artifacts, media=asked.media)


def _init(
    config: WandbConfig,
    identity: Identity,
    place: Path,
    kind: str,
    tags: list[str],
    facts: dict[str, Any],
) -> tuple[Any, Identity]:
    """The open run: online if requested and possible, else offline."""
    import wandb

    arguments: dict[str, Any] = {
        "dir": place,
        "project": identity.project,
        "entity": identity.entity,
        "name": identity.name,
        "group": config.group,
        "job_type": os.environ.get("WANDB_JOB_TYPE") or kind,
        "tags": list(dict.fromkeys(tags)),
        "config": facts,
        "resume": os.environ.get("WANDB_RESUME") or "allow",
    }
    if config.mode == "online":
        reason = (
            None if has_credentials() else "no API key was found (`wandb login` or WANDB_API_KEY)"
        )
        if reason is None:
            try:
                return wandb.init(
                    mode="online", id=identity.id, settings=_settings(), **arguments
                ), identity
            except (wandb.Error, OSError) as error:
                lines = str(error).strip().splitlines()
                reason = f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
                identity = replace(
                    identity, id=f"{identity.id}-offline"
                )  # the attempt still holds its id
        _log.warning(
            "W&B online: %s; continuing offline, `wandb sync` uploads the run from %s later",
            reason,
            place / "wandb",
        )
    return wandb.init(mode="offline", id=identity.id, settings=_settings(), **arguments), identity


def _settings() -> Any:
    import wandb

    defaults: dict[str, Any] = {"silent": True, "console": "off"}
    # Seconds to wait for the server, and for the upload at the end.
    defaults |= {"init_timeout": 30.0, "finish_timeout": 300.0}
    asked = {
        name: value for name, value in defaults.items() if f"WANDB_{name.upper()}" not in os.environ
    }
    if FLUSH in wandb.Settings.model_fields:  # W&B guarantees no setting whose name begins with x_
        asked[FLUSH] = FLUSHED_EVERY
    return wandb.Settings(
        reinit="create_new",  # a run of its own, whatever else is open in this process
        **asked,
    )
