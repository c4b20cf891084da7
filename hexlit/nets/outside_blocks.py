"""Residual blocks of other packages, `net.block=NAME`.

The entry point NAME of the group `hexlit.blocks` leads to a callable. It takes a `NetConfig` and returns a new module
from `[B, C, n, n]` to the same shape and number format, for every n from 2 to 19. C is `channels`. Each block of a
network is one call. A network is built again for evaluation, so every call gives the same layers.
"""

import traceback
from collections.abc import Callable
from weakref import WeakSet

import torch
from torch import Tensor, nn

from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.outside import BLOCK_GROUP, entry_points_of

TRIED = (2, 5)
"""Boards of the trial: the smallest, and an odd one."""

_made: "WeakSet[nn.Module]" = WeakSet()
"""All blocks that still exist."""


class BlockError(UsageError):
    """The package of a block is missing, or the block is not as it should be; the message names the block."""


def outside_block(config: NetConfig) -> nn.Module:
    """One untrained block of the kind `config.block`, tried on two boards; the trial takes no random draw.

    Raises:
        BlockError: no installed package brings it, it cannot be made, or it changes the shape of a board.
    """
    kind = f"net.block={config.block}"
    make = _maker(config.block)
    try:
        block = make(config)
    except Exception as error:
        raise BlockError(f"{kind}: it cannot be made ({_told(error)})") from error
    if not isinstance(block, nn.Module):
        raise BlockError(f"{kind}: its callable returned {type(block).__name__}, an nn.Module is needed")
    if block in _made:  # the network would share its weights with its own copy for evaluation
        raise BlockError(f"{kind}: its callable returned one module twice, each block needs a new one")
    _made.add(block)
    for size in TRIED:
        x = torch.zeros(2, config.channels, size, size)
        wanted, found = _shape(x), _shape(_answer(block, x, kind))
        if found != wanted:
            raise BlockError(f"{kind}: it returned {found} for {wanted}, the same is needed")
    return block


def require_package(name: str) -> None:
    """Refuse the name of a block that is not hexlit's own and that no installed package brings.

    Raises:
        BlockError: no package brings it.
    """
    if name not in entry_points_of(BLOCK_GROUP).names:
        raise BlockError(f"the package that brings the block {name} is not installed")


def _maker(name: str) -> Callable[[NetConfig], object]:
    """The callable of the block `name`."""
    require_package(name)
    point, *others = entry_points_of(BLOCK_GROUP).select(name=name)
    if others:
        packages = " and ".join(sorted(one.dist.name for one in (point, *others) if one.dist is not None))
        raise BlockError(f"net.block={name}: {packages} both bring it, uninstall one")
    try:
        make: Callable[[NetConfig], object] = point.load()
    except Exception as error:
        raise BlockError(f"net.block={name}: {point.value} cannot be imported ({_told(error)})") from error
    if not callable(make):
        raise BlockError(f"net.block={name}: {point.value} is no callable")
    return make


@torch.no_grad()
def _answer(block: nn.Module, x: Tensor, kind: str) -> object:
    """The answer of `block` in evaluation, which leaves its statistics alone."""
    try:
        with torch.random.fork_rng(devices=[]):
            answer: object = block.eval()(x)
    except Exception as error:
        raise BlockError(f"{kind}: it fails on {_shape(x)} ({_told(error)})") from error
    block.train()
    return answer


def _shape(x: object) -> str:
    """Shape and number format in words, such as `float32 [2, 64, 5, 5]`."""
    if not isinstance(x, Tensor):
        return type(x).__name__
    return f"{str(x.dtype).removeprefix('torch.')} {list(x.shape)}"


def _told(error: Exception) -> str:
    """The error in one line, with the place where it was raised."""
    said = " ".join(str(error).split())
    if isinstance(error, UsageError):
        return said
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {said}, {place.filename}:{place.lineno}"
