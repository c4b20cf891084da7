"""Reading a checkpoint of any task: which file it is, and the weights of the network in use."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from hexlit.errors import UsageError

AVERAGED, TRAINED = "average.module.", "net."
"""Prefixes of the running average of the weights, and of those that are trained, in a module's state."""


def checkpoint_file(path: Path, key: str = "checkpoint") -> Path:
    """The checkpoint that `path` names: itself, or in the folder of a run its best one, else its last.

    `key` is the setting that says so.

    Raises:
        UsageError: a folder without either.
    """
    if not path.is_dir():
        return path
    for name in ("best.ckpt", "last.ckpt"):
        file = path / "checkpoints" / name
        if file.is_file():
            return file
    raise UsageError(f"{key}={path}: this folder has no checkpoints/best.ckpt or checkpoints/last.ckpt")


def weights_in_use(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The network's own state within that of its module: the averaged one where there is one."""
    prefix = AVERAGED if any(name.startswith(AVERAGED) for name in state) else TRAINED
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
