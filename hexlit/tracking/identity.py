"""The W&B run of a folder: the file `wandb.json` names it, so that a resumed run continues its own."""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hexlit.files import write_json_atomic

FILE = "wandb.json"
_LONGEST = 56
"""Characters of a name that the id of a run keeps; W&B allows 64 in all."""


@dataclass(frozen=True)
class Identity:
    """Name and place of a run on W&B."""

    id: str
    name: str
    project: str
    entity: str | None = None

    def artifact(self, kind: str) -> str:
        """Name of the run's artifact of this kind, such as `checkpoint-hex5-...`."""
        return f"{kind}-{self.id}"


def new_identity(name: str, project: str, entity: str | None, run_id: str | None = None) -> Identity:
    """The identity of a new run; `run_id` None makes a unique id."""
    slug = re.sub(r"[^\w-]+", "-", name)[:_LONGEST].strip("-")
    return Identity(run_id or f"{slug}-{secrets.token_hex(3)}", name, project, entity)


def read_identity(folder: Path) -> Identity | None:
    """The identity of the run in `folder`; None if it is missing or incomplete."""
    try:
        result = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return _identity(result) if isinstance(result, dict) else None


def write_identity(folder: Path, identity: Identity) -> None:
    """Write `wandb.json` into `folder`."""
    write_json_atomic(folder / FILE, asdict(identity))


def _identity(found: Mapping[str, Any]) -> Identity | None:
    known = {field.name: found[field.name] for field in fields(Identity) if isinstance(found.get(field.name), str)}
    return Identity(**known) if {"id", "name", "project"} <= known.keys() else None
