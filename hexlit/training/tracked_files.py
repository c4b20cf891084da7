"""The files of a run as artifacts: what it has learned from, and its checkpoints."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hexlit.tracking.identity import Identity, read_identity
from hexlit.tracking.tracked_run import Files, TrackedRun
from hexlit.training.task import Task

CHECKPOINT = "checkpoint"
BEST, LAST = "best", "last"


def track_files(tracked: TrackedRun | None, task: Task, folder: Path, facts: dict[str, Any]) -> None:
    """Log what `task` has used, then `last.ckpt` and `best.ckpt` of the run in `folder`.

    `facts` are noted with the checkpoints. Nothing happens without a run, or with its artifacts turned off.
    """
    if tracked is None or not tracked.artifacts:
        return
    for files in task.used(tracked.identity):
        tracked.used(files)
    for alias in (LAST, BEST):
        path = folder / "checkpoints" / f"{alias}.ckpt"
        if path.exists():
            name = tracked.identity.artifact(CHECKPOINT)
            tracked.made(Files(name, CHECKPOINT, [path], aliases=[alias], metadata=facts))


def checkpoint_files(path: Path) -> Files:
    """The checkpoint at `path` as what a run has used: under the name that the run logged which made it."""
    maker: Identity | None = None
    if path.parent.name == "checkpoints":
        maker = read_identity(path.parent.parent)
    name = f"{CHECKPOINT}-{path.stem}" if maker is None else maker.artifact(CHECKPOINT)
    return Files(name, CHECKPOINT, [path])


def used_once(files: Sequence[Files]) -> list[Files]:
    """`files` without those of the same content and name twice, such as one checkpoint of two players."""
    kept = {(one.name, tuple(path.resolve() for path in one.paths)): one for one in files}
    return [replace(one, paths=list(one.paths)) for one in kept.values()]
