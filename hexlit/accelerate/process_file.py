"""The file that identifies a running run: `process.json` in its folder."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import psutil

from hexlit.files import write_text_atomic

PROCESS_FILE = "process.json"

_CLOCK_STEPS = 2.0  # seconds: the system computes a start from the clock, which may be set meanwhile


@dataclass(frozen=True)
class RunProcess:
    """The process that works, or worked, in a run's folder."""

    pid: int
    create_time: float
    """Start of the process in seconds since 1970, which distinguishes it from a later one with the same number."""

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        try:
            process = psutil.Process(self.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            return abs(float(process.create_time()) - self.create_time) <= _CLOCK_STEPS
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True


def write_process_file(folder: Path) -> Path:
    """Record in `folder` that this process works there; returns the file's path."""
    path = folder / PROCESS_FILE
    facts = {"pid": os.getpid(), "create_time": psutil.Process().create_time()}
    write_text_atomic(path, json.dumps(facts) + "\n")
    return path


def remove_process_file(folder: Path) -> None:
    """Remove the file; one that names another process stays."""
    result = read_process_file(folder)
    if result is not None and result.pid == os.getpid():
        (folder / PROCESS_FILE).unlink(missing_ok=True)


def read_process_file(folder: Path) -> RunProcess | None:
    """The process named in `folder`; None without such a file, or if hexlit did not write it."""
    try:
        facts = json.loads((folder / PROCESS_FILE).read_text(encoding="utf-8"))
        return RunProcess(int(facts["pid"]), float(facts["create_time"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def newest_live_run(runs: Path) -> tuple[Path, RunProcess] | None:
    """Folder and process of the running run below `runs` that started last; None without a running one.

    A run is two or three folders down: `NAME/DATE_TIME_ID`, or `NAME/DATE_TIME_ID/NUMBER` in a sweep.
    """
    live = [
        (process.create_time, path.parent, process)
        for pattern in (f"*/*/{PROCESS_FILE}", f"*/*/*/{PROCESS_FILE}")
        for path in runs.glob(pattern)
        if (process := read_process_file(path.parent)) is not None and process.alive
    ]
    if not live:
        return None
    _, folder, process = max(live, key=lambda found: found[0])
    return folder, process
