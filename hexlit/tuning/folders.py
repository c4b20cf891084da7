"""The folders of sweeps and trials: each is made once, and left without unfinished files."""

import os
import re
from pathlib import Path

from hexlit.errors import UsageError

# What hexlit.files.replacing and hexlit.selfplay.store write before they rename it.
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}\.tmp|part-[0-9]{6,}\.tmp")


def new_folder(parent: Path, name: str) -> Path:
    """Make the folder `name` in `parent`, or `name-2`, `name-3` ... where it exists, and return it.

    Whoever gets it has made it: two who ask at once get two folders. `parent` is made where it is missing. Raises
    `UsageError` when the folder cannot be made.
    """
    if name != Path(name).name or name in ("", ".", ".."):
        raise UsageError(f"{name!r} is no name of a folder; give one without separators")
    number = 1
    while True:
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{parent}: this folder cannot be made: {error.strerror}") from None
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1
        except OSError as error:
            raise UsageError(f"{folder}: this folder cannot be made: {error.strerror}") from None


def remove_temporary(folder: Path, *, below: bool = True) -> int:
    """Remove the files in (and `below`) `folder` that were being written when their process ended; returns how many.

    To be called when no process works there any more. Only regular files that carry the names of hexlit's own
    unfinished files go; links are not followed. Raises `OSError` where one cannot be removed.
    """
    count = 0
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if _UNFINISHED.fullmatch(name) and path.is_file() and not path.is_symlink():
                path.unlink()
                count += 1
        if not below:
            break
    return count
