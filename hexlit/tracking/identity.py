"""The W&B run of a folder: the file `wandb.json` names it, so that a resumed run continues its
own.
"""

import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from hexlit.files import read_json, write_json_atomic

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


def new_identity(
    name: str, project: str, entity: str | None, run_id: str | None = None
) -> Identity:
    """The identity of a new run; `run_id` None makes a unique id."""
    slug = re.sub(r"[^\w-]+", "-", name)[:_LONGEST].strip("-")
    return Identity(run_id or f"{slug}-{secrets.token_hex(3)}", name, project, entity)


def read_identity(folder: Path) -> Identity | None:
    """The identity of the run in `folder`; None if there is none."""
    content = read_json(folder / FILE)
    return Identity(**content) if content else None


def write_identity(folder: Path, identity: Identity) -> None:
    """Write `wandb.json` into `folder`."""
    write_json_atomic(folder / FILE, asdict(identity))
