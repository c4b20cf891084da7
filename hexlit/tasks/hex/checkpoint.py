"""One checkpoint everywhere: reading the network of a training run for matches, analysis and play."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import torch

from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import HexNet, build_net


@dataclass(frozen=True)
class LoadedNetwork:
    """A network and what it was trained for; its weights take every board, this one suits them best."""

    net: HexNet
    size: int
    swap: bool


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


def load_network(path: Path, key: str = "checkpoint") -> LoadedNetwork:
    """The network of the checkpoint `path`, its averaged weights where it has them, in evaluation mode on the CPU.

    `path` may be the folder of a run, see `checkpoint_file`. Messages call it by the setting `key`.

    Raises:
        UsageError: there is no such file, or it is no checkpoint of a Hex network.
    """
    path = checkpoint_file(path, key)
    if not path.is_file():
        raise UsageError(f"{key}={path}: there is no such file; a run keeps its own in checkpoints/last.ckpt")
    if not zipfile.is_zipfile(path):
        raise UsageError(f"{key}={path}: not a checkpoint of a Hex network (not an archive of torch)")
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        settings = saved["hyper_parameters"]
        net = build_net(NetConfig(**settings["net"]))
        averaged = "average.module."
        prefix = averaged if any(name.startswith(averaged) for name in saved["state_dict"]) else "net."
        weights = {k.removeprefix(prefix): v for k, v in saved["state_dict"].items() if k.startswith(prefix)}
        net.load_state_dict(weights)
    except Exception as error:  # a broken file can make torch raise anything
        raise UsageError(f"{key}={path}: not a checkpoint of a Hex network ({type(error).__name__})") from error
    return LoadedNetwork(net.eval(), int(settings["size"]), bool(settings["swap"]))
