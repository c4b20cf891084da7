"""Batches of any form: a tuple, a named tuple or a dictionary of tensors `[B, ...]`, or of such
batches.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor


class PartOf(NamedTuple):
    """The examples of a batch that one rank has read; it reads no others."""

    part: Any
    """A batch of them."""
    whole: int
    """Examples of the batch over all ranks."""


def batch_size(batch: Any) -> int:
    """Examples in a batch: the first dimension of its first tensor."""
    return len(tensors_of(batch)[0])


def parts_of(batch: Any, most: int) -> Iterator[Any]:
    """A batch in parts of at most `most` examples, each of the batch's form."""
    for part in zip(*(torch.split(tensor, most) for tensor in tensors_of(batch)), strict=True):
        yield tensors_like(batch, part)


def equal_parts_of(batch: Any, count: int) -> Iterator[Any]:
    """A batch in `count` parts of equal size, give or take one example."""
    for part in zip(
        *(torch.tensor_split(tensor, count) for tensor in tensors_of(batch)), strict=True
    ):
        yield tensors_like(batch, part)


def some_of(batch: Any, which: slice) -> Any:
    """The examples `which` of a batch, in its form."""
    return tensors_like(batch, [tensor[which] for tensor in tensors_of(batch)])


def whole_size(module: Any, batch: Any) -> int:
    """Examples of the whole batch over all ranks; `module` trains on its part `batch`."""
    return getattr(module, "whole", 0) or batch_size(batch)


def tensors_of(batch: Any) -> list[Tensor]:
    """The tensors of a batch, in their order."""
    result = []
    for one in batch.values() if isinstance(batch, Mapping) else batch:
        result += [one] if isinstance(one, Tensor) else tensors_of(one)
    return result


def tensors_like(batch: Any, tensors: Iterable[Tensor]) -> Any:
    """The `tensors`, one for each of a batch, in its form."""
    rest = iter(tensors)
    old = batch.values() if isinstance(batch, Mapping) else batch
    new = [next(rest) if isinstance(one, Tensor) else tensors_like(one, rest) for one in old]
    if isinstance(batch, Mapping):
        return dict(zip(batch, new, strict=True))
    return type(batch)(*new) if hasattr(batch, "_fields") else type(batch)(new)
