"""Gradient checkpointing: a part of the network is computed again for its gradients, with the same results."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Buffer = tuple[nn.Module, str, Tensor]
"""A module, the name of a buffer there, and its tensor."""


def recomputed(part: nn.Module, x: Tensor) -> Tensor:
    """`part(x)` that keeps only `x` for the backward pass (Chen et al. 2016).

    Gradients, buffers such as batch norm's running statistics, and random draws are those of `part(x)` itself.
    """

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), with_buffers(part, copies_of_buffers(part))

    if torch.compiler.is_compiling():  # the compiler recomputes values, never the updates of running statistics
        result: Tensor = checkpoint(part, x, use_reentrant=False)
    else:
        result = checkpoint(part, x, use_reentrant=False, context_fn=contexts)
    return result


def copies_of_buffers(part: nn.Module) -> list[Buffer]:
    """A copy of each buffer of `part` as it is now."""
    return [(module, name, buffer.clone()) for module, name, buffer in _buffers_of(part)]


@contextmanager
def with_buffers(part: nn.Module, copies: list[Buffer]) -> Iterator[None]:
    """Let `part` read and change the `copies` inside the block, and leave its own buffers as they are."""
    own = _buffers_of(part)
    try:
        for module, name, buffer in copies:
            setattr(module, name, buffer)
        yield
    finally:
        for module, name, buffer in own:
            setattr(module, name, buffer)


def _buffers_of(part: nn.Module) -> list[Buffer]:
    return [(module, *named) for module in part.modules() for named in module.named_buffers(recurse=False)]
