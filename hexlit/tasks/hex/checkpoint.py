"""One checkpoint everywhere: reading the network of a training run for matches, analysis and play."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import torch

from hexlit.errors import UsageError
from hexlit.nets.outside_blocks import BlockError
from hexlit.nets.tower import HexNet, playing_state, saved_net
from hexlit.tasks.hex.packaged import is_packaged, packaged_file
from hexlit.tasks.hex.portable import SUFFIX, read_safetensors
from hexlit.training.checkpoint import check_whole, checkpoint_file, weights_in_use


@dataclass(frozen=True)
class LoadedNetwork:
    """A network and its training settings; its weights work on every board, and best on this one."""

    net: HexNet
    size: int
    swap: bool


def network_file(where: str | Path, key: str = "checkpoint") -> Path:
    """The file of the network that `where` names; every setting with a network of Hex uses this function.

    Args:
        where: a checkpoint, a file in safetensors, the folder of a run (see `checkpoint_file`), or the name of a
            network in the package, such as `hexlit:small`.
        key: the setting, for messages.

    Raises:
        UsageError: a folder without a checkpoint, or an unknown name.
    """
    return packaged_file(str(where), key) if is_packaged(where) else checkpoint_file(Path(where), key)


def load_network(where: str | Path, key: str = "checkpoint") -> LoadedNetwork:
    """The network that `where` names, with averaged weights if it has them, in evaluation mode on the CPU.

    `where` is as in `network_file`. Messages name the setting `key`.

    Raises:
        UsageError: there is no such file, it is no checkpoint of a Hex network, or the package of its block is missing.
    """
    path = network_file(where, key)
    if not path.is_file():
        raise UsageError(f"{key}={path}: there is no such file; a run keeps its own in checkpoints/last.ckpt")
    if path.suffix == SUFFIX:
        return LoadedNetwork(*read_safetensors(path, key))
    if not zipfile.is_zipfile(path):
        raise UsageError(f"{key}={path}: not a checkpoint of a Hex network (not an archive of torch)")
    check_whole(path, key)
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        settings = saved["hyper_parameters"]
        net = saved_net(settings["net"], playing_state(weights_in_use(saved["state_dict"])))
    except BlockError as error:
        raise UsageError(f"{key}={path}: {error}") from error
    except Exception as error:  # a broken file can make torch raise anything
        raise UsageError(f"{key}={path}: not a checkpoint of a Hex network ({type(error).__name__})") from error
    return LoadedNetwork(net, int(settings["size"]), bool(settings["swap"]))
