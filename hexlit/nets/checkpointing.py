"""Gradient checkpointing: a part of the network is computed again for its gradients, with the same results."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


def recomputed(part: nn.Module, x: Tensor) -> Tensor:
    """`part(x)` that keeps only `x` for the backward pass (Chen et al. 2016).

    Gradients, batch norm's running statistics and random draws are those of `part(x)` itself.
    """

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), with_buffers(part, [(*place, buffer.clone()) for *place, buffer in buffers_of(part)])

    if torch.compiler.is_compiling():  # the compiler recomputes values, never the updates of running statistics
        result: Tensor = checkpoint(part, x, use_reentrant=False)
    else:
        result = checkpoint(part, x, use_reentrant=False, context_fn=contexts)
    return result


def buffers_of(part: nn.Module) -> list[tuple[nn.Module, str, Tensor]]:
    """The buffers of `part`, such as running statistics, each with its module and its name there."""
    return [(module, *named) for module in part.modules() for named in module.named_buffers(recurse=False)]


@contextmanager
def with_buffers(part: nn.Module, copies: list[tuple[nn.Module, str, Tensor]]) -> Iterator[None]:
    """Let `part` read and change `copies` of its buffers, as they were before it was first computed."""
    own = buffers_of(part)
    try:
        for module, name, buffer in copies:
            setattr(module, name, buffer)
        yield
    finally:
        for module, name, buffer in own:
            setattr(module, name, buffer)
