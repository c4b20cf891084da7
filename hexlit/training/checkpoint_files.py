"""The places of a run's checkpoints. Nothing heavy is imported here: commands look for files before
all else.
"""

from pathlib import Path

from hexlit.errors import UsageError

CHECKPOINTS, LAST, BEST = "checkpoints", "last.ckpt", "best.ckpt"
"""Folder of checkpoints in that of a run; the state after the latest epoch; the state after the
best epoch.
"""


def checkpoint_file(path: Path, key: str = "checkpoint") -> Path:
    """The checkpoint that `path` names: itself, or in the folder of a run its best one, else its
    last.

    `key` is the setting that holds `path`.

    Raises:
        UsageError: there is none.
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise UsageError(f"{key}={path}: there is no such file")
    for file in (path / CHECKPOINTS / BEST, path / CHECKPOINTS / LAST):
        if file.is_file():
            return file
    raise UsageError(
        f"{key}={path}: this folder has no checkpoints/best.ckpt or checkpoints/last.ckpt"
    )
