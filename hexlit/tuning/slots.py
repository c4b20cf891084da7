"""Slots of a device that all sweeps of this user on this machine share: a limited number of trials
at a time.

A slot is a file held by flock on an open file description. A child that inherits the description
holds the slot too. The slot is free when its last holder has ended, in whatever way: nothing is
left to clean up.
"""

import contextlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import IO

from hexlit.errors import UsageError
from hexlit.locks import hold

SLOTS_VARIABLE = "HEXLIT_SLOTS"


class Slots:
    """The slots 0 to `count` - 1 of a device. Callers may ask for different counts; each keeps to
    its count.
    """

    def __init__(self, device: str, count: int) -> None:
        """Make the folder of the slots of `device`, such as "cuda:0".

        It lies where the environment variable HEXLIT_SLOTS points, else in this user's temporary
        folder. Raises `UsageError` when it cannot be made, or belongs to another user.
        """
        self.count = count
        default = Path(tempfile.gettempdir()) / f"hexlit-slots-{os.getuid()}"
        parent = Path(os.environ.get(SLOTS_VARIABLE) or default)
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if parent == default and (parent.is_symlink() or parent.stat().st_uid != os.getuid()):
                raise UsageError(
                    f"{parent} is not this user's own folder; let {SLOTS_VARIABLE} name another"
                )
            self.folder = parent / re.sub(r"[^A-Za-z0-9_.-]", "-", device)
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{parent}: the slots cannot be kept here ({error.strerror}); set {SLOTS_VARIABLE}"
            ) from None

    def take(self) -> IO[bytes] | None:
        """A free slot, held until this file is closed here and in all children that inherit it;
        None: none is free.
        """
        for number in range(self.count):
            path = self.folder / f"slot-{number}"
            slot = path.open("ab")
            # A clean-up of temporary files may have removed it meanwhile.
            if (
                hold(slot)
                and path.exists()
                and os.path.samestat(os.fstat(slot.fileno()), path.stat())
            ):
                return slot
            slot.close()
        return None


def device_name(configured: str) -> str:
    """The one name of a device, however it is written. `auto` gives the most likely device, found
    without torch.
    """
    if configured == "auto":
        from hexlit.accelerate.nvml import Nvml

        with contextlib.closing(Nvml()) as driver:
            if not driver.reason:
                configured = "cuda"
            elif sys.platform == "darwin":
                configured = "mps"
            else:
                configured = "cpu"
    kind, _, number = configured.partition(":")
    if kind != "cuda":
        return configured
    entries = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    visible = [entry.strip() for entry in entries if entry.strip()]
    index = int(number or 0)
    if index < len(visible):
        return f"cuda:{visible[index]}"
    return f"cuda:{index}"
