"""The folders of sweeps and trials: each is made once."""

from pathlib import Path

from hexlit.errors import UsageError


def new_folder(parent: Path, name: str) -> Path:
    """Make the folder `name` in `parent`, or `name-2`, `name-3` ... where it exists, and return it.

    Only its caller has made the folder: two simultaneous callers get two folders. `parent` is made where it is
    missing. Raises `UsageError` when the folder cannot be made.
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
