"""Batches of any form: a tuple, a named tuple or a dictionary of tensors `[B, ...]`."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor


def batch_size(batch: Any) -> int:
    """Examples in a batch: the first dimension of its first tensor."""
    return len(tensors_of(batch)[0])


def parts_of(batch: Any, most: int) -> Iterator[Any]:
    """A batch in parts of at most `most` examples, each of the batch's form."""
    tensors = tensors_of(batch)
    if len(tensors[0]) <= most:
        yield batch
        return
    for part in zip(*(torch.split(tensor, most) for tensor in tensors), strict=True):
        if isinstance(batch, Mapping):
            yield dict(zip(batch, part, strict=True))
        else:
            yield type(batch)(*part) if hasattr(batch, "_fields") else part


def tensors_of(batch: Any) -> list[Tensor]:
    """The tensors of a batch, in their order."""
    return list(batch.values() if isinstance(batch, Mapping) else batch)
