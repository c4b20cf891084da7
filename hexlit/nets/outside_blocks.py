"""Residual blocks of other packages, `net.block=NAME`.

The entry point NAME of the group `hexlit.blocks` leads to a callable. It takes a `NetConfig` and
returns a new module from `[B, C, n, n]` to the same shape and number format, for every n from 2 to
19. C is `channels`. Each block of a network is one call. A network is built again for evaluation,
    so every call gives the same layers.
"""

import traceback
from weakref import WeakSet

import torch
from torch import Tensor, nn

from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.settings import BLOCK_GROUP, entry_points_of

TRIED = (2, 5)
"""Boards of the trial: the smallest, and an odd one."""

_made: "WeakSet[nn.Module]" = WeakSet()
"""All blocks that still exist."""


class BlockError(UsageError):
    """The package of a block is missing, or the block is not as it should be; the message names the
    block.
    """


def outside_block(config: NetConfig) -> nn.Module:
    """One untrained block of the kind `config.block`, tried on two boards; the trial takes no
    random draw.

    Raises:
        BlockError: no installed package brings it, it cannot be made, or it changes the shape of a
            board.
    """
    kind = f"net.block={config.block}"
    require_package(config.block)
    point = entry_points_of(BLOCK_GROUP)[config.block]
    try:
        block: nn.Module = point.load()(config)
        shared = (
            block in _made
        )  # the network would share its weights with its own copy for evaluation
        _made.add(block)
        with (
            torch.no_grad(),
            torch.random.fork_rng(devices=[]),
        ):  # in evaluation, which leaves its statistics alone
            boards = [torch.zeros(2, config.channels, n, n) for n in TRIED]
            answers = [(x, block.eval()(x)) for x in boards]
        block.train()
    except Exception as error:  # code of another package
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = " ".join(str(error).split())
        raise BlockError(
            f"{kind}: {point.value} fails ({type(error).__name__}: {message}, {place.filename}:{place.lineno})"
        ) from error
    if shared:
        raise BlockError(
            f"{kind}: its callable returned one module twice, each block needs a new one"
        )
    for x, answer in answers:
        if _shape(answer) != _shape(x):
            raise BlockError(
                f"{kind}: it returned {_shape(answer)} for {_shape(x)}, the same is needed"
            )
    return block


def _shape(x: object) -> str:
    """Number format and shape in words, such as `float32 [2, 64, 5, 5]`."""
    if not isinstance(x, Tensor):
        return type(x).__name__
    return f"{str(x.dtype).removeprefix('torch.')} {list(x.shape)}"


def require_package(name: str) -> None:
    """Refuse the name of a block that is not hexlit's own and that no installed package brings.

    Raises:
        BlockError: no package brings it.
    """
    if name not in entry_points_of(BLOCK_GROUP).names:
        raise BlockError(f"the package that brings the block {name} is not installed")
