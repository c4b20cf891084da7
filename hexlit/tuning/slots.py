"""Places on a device that all sweeps of this user on this machine share: a limited number of trials at a time.

A slot is a file held by flock on an open file description. A child that inherits the description holds the slot
too. The slot is free when its last holder has ended, in whatever way: nothing is left to clean up.
"""

import os
import re
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType

from hexlit.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows: files are not held there
    fcntl = None  # type: ignore[assignment]

PLACE_VARIABLE = "HEXLIT_SLOTS"
_POLL = 0.1  # seconds between two looks for a free slot


class Slot:
    """One held slot. It can be used in a `with` block, which releases it."""

    def __init__(self, path: Path, number: int, descriptor: int) -> None:
        self.path = path
        self.number = number
        self._descriptor: int | None = descriptor

    def fileno(self) -> int:
        """The open file, for `subprocess.Popen(pass_fds=...)`: the child holds the slot from then on."""
        if self._descriptor is None:
            raise ValueError(f"{self.path} was released")
        return self._descriptor

    def release(self) -> None:
        """Release this process's copy. The slot is free once the processes that inherited it have ended too."""
        if self._descriptor is not None:
            # Closed, not unlocked: unlocking would also take it from a child.
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


class Slots:
    """The slots 0 to `count` - 1 of a device. Callers may ask for different counts; each keeps to its own."""

    def __init__(self, device: str, count: int, folder: Path | None = None) -> None:
        """Make the folder of the slots of `device`, such as "cuda:0".

        It lies in `folder`, else in the place that the environment variable HEXLIT_SLOTS names, else in this user's own
        temporary folder. Raises `UsageError` when it cannot be made, or belongs to another user.
        """
        if count < 1:
            raise UsageError(f"{device}: {count} slots would let no trial run; give at least 1")
        name = re.sub(r"[^A-Za-z0-9_.-]", "-", device)
        if not name.strip("."):
            raise UsageError(f"{device!r} is no name of a device")
        self.count = count
        place = folder or _place()
        self.folder = place / name
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{self.folder}: the slots of {device} cannot be kept here: {error.strerror}") from None

    def take(self, stop: threading.Event | None = None, timeout: float | None = None) -> Slot | None:
        """A slot as soon as one is free; None when `stop` is set, or after `timeout` seconds (0: look once)."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while stop is None or not stop.is_set():
            for number in range(self.count):
                slot = self._try(number)
                if slot is not None:
                    return slot
            if deadline is not None and time.monotonic() >= deadline:
                return None
            if stop is None:
                time.sleep(_POLL)
            else:
                stop.wait(_POLL)
        return None

    def _try(self, number: int) -> Slot | None:
        path = self.folder / f"slot-{number}"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UsageError(f"{path}: this slot cannot be opened: {error.strerror}") from None
        slot = Slot(path, number, descriptor)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return slot
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError as error:
            slot.release()
            raise UsageError(
                f"{path}: this slot cannot be held: {error.strerror}; let {PLACE_VARIABLE} name a local folder"
            ) from None
        slot.release()  # another process holds it, or a clean-up of temporary files has removed it meanwhile
        return None


def _place() -> Path:
    """The folder of this user's slots, closed to all other users."""
    named = os.environ.get(PLACE_VARIABLE)
    if named:
        return Path(named)
    user = os.getuid() if hasattr(os, "getuid") else 0
    place = Path(tempfile.gettempdir()) / f"hexlit-slots-{user}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        facts = place.lstat()
    except OSError as error:
        raise UsageError(f"{place}: the slots cannot be kept here: {error.strerror}; set {PLACE_VARIABLE}") from None
    if place.is_symlink() or (hasattr(os, "getuid") and facts.st_uid != user):
        raise UsageError(f"{place} is not this user's own folder; let {PLACE_VARIABLE} name another for the slots")
    return place
