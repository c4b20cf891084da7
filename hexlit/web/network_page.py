"""A network as one HTML file to play against: the page of `hexlit play`, with the network and its
search in the page.

The file needs no server and no network: its weights are in it, and `engine/*.mjs` computes and
searches in a worker of the browser. A content security policy keeps it from loading or sending
anything.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from hexlit import __version__
from hexlit.accelerate.batch_norm import SizedBatchNorm2d
from hexlit.arena import player_spec
from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.nets.blocks import ConvNorm
from hexlit.nets.config import BLOCKS, obstacle_for_plain_parts
from hexlit.nets.tower import HexNet
from hexlit.web.pages import PAGE, as_script, one_file, packed

START, WORKER = "../engine/start.mjs", "../engine/worker.mjs"
"""The script of the page, and that of its worker."""
SIZES = (5, 13)
"""Rows of the smallest and of the largest board on offer."""
PUZZLES = PAGE / "puzzles.sgf"
"""A hundred positions of 7x7, by `hexlit games puzzles board=7 count=100 seed=1`."""


LEVELS = [
    {"name": f"level-{number}", "simulations": 0, "temperature": 0.0} | level
    for number, level in enumerate(player_spec.LEVELS, 1)
]
"""Players on offer: simulations for a move, 0 for the policy alone, whose moves are drawn at the
temperature.
"""
USUAL_LEVEL = 7
"""Index of the level that plays first."""


def write_page(
    net: HexNet,
    path: Path,
    *,
    size: int,
    swap: bool,
    first_stones: Mapping[int, Sequence[float]] = MappingProxyType({}),
) -> None:
    """Write the page of a network to `path`.

    Args:
        net: the network, in evaluation mode.
        path: the file; its folder must exist.
        size: rows of the first board.
        swap: whether the network was trained with the swap rule.
        first_stones: rows of a board -> the values for Black of all first stones, as far as they
            need no search.

    Raises:
        UsageError: the network has blocks of another package, or weights beyond float16.
    """
    if net.config.block not in BLOCKS:
        raise UsageError(f"format=page: {obstacle_for_plain_parts(net.config, 'the page')}")
    content = exported_network(net) | {
        "version": __version__,
        "about": f"{sum(net.config.blocks)} blocks of {net.config.channels} channels, computed on this page",
        "board": min(max(size, SIZES[0]), SIZES[1]),
        "sizes": SIZES,
        "swap": swap,
        "first_stones": {
            rows: [round(100 * value) for value in values] for rows, values in first_stones.items()
        },
        "levels": LEVELS,
        "level": USUAL_LEVEL,
    }
    puzzles = as_script(PUZZLES.read_text(encoding="utf-8"))
    data = {"network": as_script(content), "worker": packed(WORKER), "puzzles": puzzles}
    # Only the worker computes with WebAssembly; it has the policy of its page.
    page = one_file(
        "hexlit",
        packed(START),
        data,
        state="data-alone",
        allowed=" 'wasm-unsafe-eval'; worker-src blob:",
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def exported_network(net: HexNet) -> dict[str, Any]:
    """The network as `engine/network.mjs` reads it.

    `tensors` are names and shapes, `data` their numbers in base64, little-endian: float16 where a
    tensor has two axes or more, else float32. Batch norm comes as one scale and shift a channel, or
    a channel of each board, so its precision is not lost in float16.
    """
    state = net.state_dict()
    for name, layer in net.named_modules():
        if isinstance(layer, ConvNorm) and f"{name}.conv.weight" in state:
            norm = layer.norm
            sized = isinstance(norm, SizedBatchNorm2d)
            mean = state[f"{name}.norm.{'means' if sized else 'running_mean'}"]
            variance = state[f"{name}.norm.{'variances' if sized else 'running_var'}"]
            scale = norm.weight.detach() * torch.rsqrt(variance + norm.eps)
            state = {
                key: value for key, value in state.items() if not key.startswith(f"{name}.norm.")
            }
            shift = norm.bias.detach() - mean * scale
            state |= {f"{name}.scale": scale.ravel(), f"{name}.shift": shift.ravel()}
    halves = {
        key: value.half() if value.dim() > 1 else value.float() for key, value in state.items()
    }
    if not all(bool(value.isfinite().all()) for value in halves.values()):
        raise UsageError(
            "format=page: the network has weights beyond 65504, the largest of float16"
        )
    data = b"".join(value.cpu().numpy().tobytes() for value in halves.values())
    return {
        "config": vars(net.config),
        "tensors": [[key, list(value.shape)] for key, value in halves.items()],
        "data": base64.b64encode(data).decode(),
    }
