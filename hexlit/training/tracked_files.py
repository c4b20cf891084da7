"""The files of a run as artifacts: its learning material, and its checkpoints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hexlit.tracking.identity import Identity, read_identity
from hexlit.tracking.tracked_run import Files, TrackedRun
from hexlit.training.task import Task

CHECKPOINT = "checkpoint"


def track_files(tracked: TrackedRun | None, task: Task, folder: Path, facts: dict[str, Any]) -> None:
    """Log the files that `task` has used, then `best.ckpt` and `last.ckpt` of the run in `folder`.

    `facts` are noted with the checkpoints. Nothing happens without a run, or with artifacts turned off.
    """
    if tracked is None or not tracked.artifacts:
        return
    for files in task.used(tracked.identity):
        tracked.used(files)
    for alias in ("best", "last"):  # W&B calls the last one `latest`
        path = folder / "checkpoints" / f"{alias}.ckpt"
        if path.exists():
            tracked.made(Files(tracked.identity.artifact(CHECKPOINT), CHECKPOINT, [path], [alias], facts))


def checkpoint_files(path: Path) -> Files:
    """The checkpoint at `path` as an input of a run, under the name of the run that made it."""
    maker: Identity | None = None
    if path.parent.name == "checkpoints":
        maker = read_identity(path.parent.parent)
    name = f"{CHECKPOINT}-{path.stem}" if maker is None else maker.artifact(CHECKPOINT)
    return Files(name, CHECKPOINT, [path])


def without_doubles(files: Sequence[Files]) -> list[Files]:
    """`files` without repetitions: two players may share a checkpoint."""
    return list({(one.name, tuple(one.paths)): one for one in files}.values())
