"""The folders of compiled kernels, one for each state of the sources, and the removal of old ones."""

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

DAYS_KEPT = 14
"""A folder that no process has used for so many days is removed; a run that lasts longer compiles again at worst."""
NEWEST_KEPT = 3
"""Number of folders beside the present one that are kept, however old they are."""


def use_folder(folder: Path) -> None:
    """Mark `folder` as used now; if it is new, remove old ones beside it (`remove_old_folders`)."""
    with suppress(OSError):  # a home that cannot be written to: Numba says so when it matters
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        if new:
            remove_old_folders(folder)


def remove_old_folders(present: Path) -> list[Path]:
    """Remove the folders beside `present` that are older than DAYS_KEPT, but not the NEWEST_KEPT; returns those gone.

    Only folders named as `present` is, 16 hexadecimal digits, are touched.
    """
    others = [path for path in present.parent.iterdir() if path != present and re.fullmatch("[0-9a-f]{16}", path.name)]
    used = sorted(((path.stat().st_mtime, path) for path in others if path.is_dir()), reverse=True)
    oldest = time.time() - DAYS_KEPT * 24 * 3600
    gone = [path for when, path in used[NEWEST_KEPT:] if when < oldest]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return gone
