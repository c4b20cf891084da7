"""Networks of Hex in files: reading checkpoints and packaged networks, and writing safetensors.

A safetensors file holds the tensors of play. Its metadata has what hexlit needs to build the network
again. It holds no code, and its readers run none.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save

from hexlit import __version__
from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.nets.config import BLOCKS, NetConfig
from hexlit.nets.outside_blocks import BlockError
from hexlit.nets.tower import HexNet, refuse_other_shapes, saved_net
from hexlit.search.config import BOARDS
from hexlit.settings import check_numbers
from hexlit.tasks.hex.packaged import network_file
from hexlit.tasks.supervised import load_trained

SUFFIX = ".safetensors"
FORMAT = "hexlit network 1"

DTYPES = {"float32": torch.float32, "float16": torch.float16}
"""Number formats of stored weights; float16 halves the size and has a relative error of 5e-4 per
weight.
"""


@dataclass(frozen=True)
class LoadedNetwork:
    """A network and its training settings; its weights work on every board, and best on this one."""

    net: HexNet
    size: int
    swap: bool

    def __post_init__(self) -> None:
        check_numbers(BOARDS, size=self.size)


def load_network(where: str | Path, key: str = "checkpoint") -> LoadedNetwork:
    """The network that `where` names, with averaged weights if it has them, in evaluation mode on
    the CPU.

    `where` is as in `network_file`. Messages name the setting `key`.

    Raises:
        UsageError: there is no such file, it is no checkpoint of a Hex network, or the package of
            its block is missing.
    """
    path = network_file(where, key)
    if path.suffix == SUFFIX and path.is_file():
        return read_safetensors(path, key)

    def make(settings: dict[str, Any], state: dict[str, torch.Tensor]) -> LoadedNetwork:
        net = saved_net(settings["net"], state)
        return LoadedNetwork(net, int(settings["size"]), bool(settings["swap"]))

    return load_trained(path, "Hex network", make, key)


def write_safetensors(
    net: HexNet, path: Path, *, size: int, swap: bool, dtype: str = "float32"
) -> None:
    """Write the network to `path`, for `read_safetensors`.

    Args:
        net: the network.
        path: the file; its folder must exist.
        size: rows of the board that suits it best.
        swap: whether it was trained with the swap rule.
        dtype: number format of the weights in the file, one of `DTYPES`.
    """
    tensors = {
        name: tensor.detach().cpu().to(DTYPES[dtype]).contiguous()
        if tensor.is_floating_point()
        else tensor.clone()
        for name, tensor in net.state_dict().items()
    }
    metadata = {
        "format": FORMAT,
        "sha256": digest_of(tensors),
        "hexlit": __version__,
        "net": json.dumps({name: getattr(net.config, name) for name in sorted(vars(net.config))}),
        "size": str(size),
        "swap": str(int(swap)),
    }
    with replacing(path) as temporary:
        # `save_file` keeps the file from all other users.
        temporary.write_bytes(save(tensors, metadata))


def read_safetensors(path: Path, key: str = "checkpoint") -> LoadedNetwork:
    """The network of a file, in float32 and evaluation mode. Messages name the setting `key`.

    Raises:
        UsageError: the file is damaged or has another format, or the package of its block is
            missing.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ValueError(
                    f"written by another program, or by another version: {metadata.get('format')}"
                )
            settings: dict[str, Any] = json.loads(metadata["net"])
            if settings.get("block", BLOCKS[0]) in BLOCKS:
                shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
                # Before memory is taken for them.
                refuse_other_shapes(NetConfig(**settings), shapes)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        if metadata["sha256"] != digest_of(tensors):
            raise ValueError("its weights are not those that were written")
        state = {
            name: tensor.float() if tensor.is_floating_point() else tensor
            for name, tensor in tensors.items()
        }
        return LoadedNetwork(
            saved_net(settings, state), int(metadata["size"]), metadata["swap"] == "1"
        )
    except BlockError as error:
        raise UsageError(f"{key}={path}: {error}") from error
    except Exception as error:  # a foreign file can make the reader raise anything
        reason = str(error).partition("\n")[0]
        raise UsageError(
            f"{key}={path}: not a network of hexlit in safetensors ({reason})"
        ) from error


def digest_of(tensors: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 of the bytes of `tensors` in the order of their names, in hexadecimal."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
