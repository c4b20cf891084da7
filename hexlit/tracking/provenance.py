"""Provenance of a result: the commit of the code and the versions of the packages."""

import os
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("hexlit", "torch", "lightning", "numba", "numpy")
"""Packages whose versions a summary names."""

_PACKAGE = Path(__file__).resolve().parent.parent
_LONGEST = 5.0
"""Seconds to wait for git."""


def versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Installed versions by package."""
    return {name: version(name) for name in names}


def git_state() -> dict[str, Any] | None:
    """`commit` of the repository that holds this code, and whether it is `dirty`.

    None if the code is in no repository (an installed wheel), without git, and with
    WANDB_DISABLE_GIT.
    """
    if os.environ.get("WANDB_DISABLE_GIT", "").lower() in ("1", "true"):
        return None
    # A wheel may be installed below a repository of the user's, whose commit says nothing about
    # this code.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--untracked-files=no"))}


def _git(*arguments: str) -> str | None:
    """The output of `git`; None where it fails."""
    command = ["git", "-C", str(_PACKAGE), *arguments]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=_LONGEST,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
