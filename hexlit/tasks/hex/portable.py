"""A network in a file of its own, without the state of its training: safetensors for hexlit, ONNX for other programs.

The safetensors file holds the tensors of play. Its metadata tells hexlit how to build the network again. It holds no
code, and its readers run none.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from hexlit import __version__
from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.nets.outside_blocks import BlockError
from hexlit.nets.tower import HexNet, saved_net

SUFFIX = ".safetensors"
FORMAT = "hexlit network 1"

DTYPES = {"float32": torch.float32, "float16": torch.float16}
"""Number formats of stored weights; float16 halves the size and has a relative error of 5e-4 per weight."""

INPUTS = """# {name}

A policy and value network for Hex, exported by hexlit {version}. It was trained for {size}x{size} boards, with the
swap rule {swap}; it takes boards of every size n from 2 to 19.

| | name | type | shape | content |
|---|---|---|---|---|
| input | planes | int8 | [B, 5, n, n] | B positions, see below |
| output | policy | float32 | [B, n*n + 1] | probabilities of the moves, row by row, then of the swap; 0 where illegal |
| output | value | float32 | [B] | from -1 (the player to move loses) to 1 (wins) |

The network sees every board from the player to move, who connects the first row with the last. For Black, who
connects top to bottom, `[r, c]` is row r (0 at the top) and column c. For White, rows and columns are exchanged: in
the planes, and in the policy.

| plane | 1 where |
|---|---|
| 0 | the player to move has a stone |
| 1 | the other player has a stone |
| 2 | in the first and the last row |
| 3 | in the first and the last column |
| 4 | everywhere, if the player to move may swap; else 0 everywhere |
"""


def write_safetensors(net: HexNet, path: Path, *, size: int, swap: bool, dtype: str = "float32") -> None:
    """Write the network to `path`, for `read_safetensors`.

    Args:
        net: the network; it has no auxiliary heads.
        path: the file; its folder must exist.
        size: rows of the board that suits it best.
        swap: whether it was trained with the swap rule.
        dtype: number format of the weights in the file, one of `DTYPES`.
    """
    metadata = {
        "format": FORMAT,
        "hexlit": __version__,
        "net": json.dumps({name: getattr(net.config, name) for name in sorted(vars(net.config))}),
        "size": str(size),
        "swap": str(int(swap)),
    }
    tensors = {
        name: tensor.detach().cpu().to(DTYPES[dtype]).contiguous() if tensor.is_floating_point() else tensor.clone()
        for name, tensor in net.state_dict().items()
    }
    with replacing(path) as temporary:
        temporary.write_bytes(save(tensors, metadata))  # `save_file` keeps the file from all other users


def read_safetensors(path: Path, key: str = "checkpoint") -> tuple[HexNet, int, bool]:
    """The network of a file in float32 and evaluation mode, the rows of its board, and whether it knows the swap.

    Messages name the setting `key`.

    Raises:
        UsageError: the file is damaged or has another format, or the package of its block is missing.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except (OSError, SafetensorError, ValueError) as error:
        raise UsageError(f"{key}={path}: not a whole network in safetensors ({error})") from error
    if metadata.get("format") != FORMAT:
        raise UsageError(f"{key}={path}: written by another program, or by another version ({metadata.get('format')})")
    try:
        settings: dict[str, Any] = json.loads(metadata["net"])
        state = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
        return saved_net(settings, state), int(metadata["size"]), metadata["swap"] == "1"
    except BlockError as error:
        raise UsageError(f"{key}={path}: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, UsageError) as error:
        raise UsageError(f"{key}={path}: not a network of hexlit ({str(error).splitlines()[0]})") from error


def write_onnx(net: HexNet, path: Path, *, size: int, swap: bool) -> None:
    """Write the network to `path` as an ONNX model for every board, and beside it a text on inputs and outputs.

    Raises:
        UsageError: the network has a part that the model lacks.
    """
    from hexlit.nets.onnx_export import onnx_model

    text = INPUTS.format(name=path.name, version=__version__, size=size, swap="on" if swap else "off")
    try:
        model = onnx_model(net)
    except RuntimeError as obstacle:
        raise UsageError(f"format=onnx: {obstacle}; format=safetensors takes every network") from None
    model.doc_string = text
    model.producer_name, model.producer_version = "hexlit", __version__
    with replacing(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    with replacing(inputs_file(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def inputs_file(path: Path) -> Path:
    """The text beside an ONNX model."""
    return path.with_name(f"{path.name}.md")
