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
        return nullcontext(), unchanged_statistics(part)

    if torch.compiler.is_compiling():  # the compiler recomputes values, never the updates of running statistics
        result: Tensor = checkpoint(part, x, use_reentrant=False)
    else:
        result = checkpoint(part, x, use_reentrant=False, context_fn=contexts)
    return result


@contextmanager
def unchanged_statistics(part: nn.Module) -> Iterator[None]:
    """Let batch norm normalise as in training inside the block, with its running statistics and count unchanged."""
    buffers = [(module, *named) for module in part.modules() for named in module.named_buffers(recurse=False)]
    try:
        for module, name, buffer in buffers:
            setattr(module, name, buffer.clone())
        yield
    finally:
        for module, name, buffer in buffers:
            setattr(module, name, buffer)
