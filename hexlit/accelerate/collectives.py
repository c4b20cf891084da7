"""Exchange between the ranks of a run: all make the same calls in the same order. A single rank gets its own value."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")

BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}
"""torch's name of the library for the tensors of each device. gloo carries everything else."""

_SECONDS_BETWEEN_LOOKS = 0.005


def are_several() -> bool:
    """Whether this process has met other ranks."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def barrier() -> None:
    """Wait for the others. Signals, such as Ctrl-C, work meanwhile; inside a wait of gloo they would not."""
    if are_several():
        arriving = dist.all_reduce(torch.zeros(1), async_op=True)
        while not arriving.is_completed():
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        arriving.wait()


def broadcast(value: T) -> T:
    """The `value` of the first rank."""
    if not are_several():
        return value
    barrier()
    values = [value]
    dist.broadcast_object_list(values, 0, device=torch.device("cpu"))
    return values[0]


def on_writer(call: Callable[[], T]) -> T:
    """The result of `call` on the first rank; the others wait for it."""
    value: Any = call() if not are_several() or dist.get_rank() == 0 else None
    result: T = broadcast(value)
    return result


def all_gather(value: T) -> list[T]:
    """The `value` of every rank, in their order. Tensors must be on the cpu."""
    if not are_several():
        return [value]
    barrier()
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def all_gather_rows(rows: list[Any]) -> list[Any]:
    """The `rows` of all ranks in one list: tensors or tuples of tensors. Those of other ranks are on the cpu."""
    if not are_several():
        return rows
    here: list[Any] = [row.cpu() if isinstance(row, Tensor) else tuple(part.cpu() for part in row) for row in rows]
    return [row for part in all_gather(here) for row in part]


def all_reduce(tensors: list[Tensor]) -> None:
    """Replace each of `tensors`, of one device and type, by its sum over the ranks, in one call."""
    if not are_several() or not tensors:
        return
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.all_reduce(flat)
    totals = torch.split(flat, [tensor.numel() for tensor in tensors])
    for tensor, total in zip(tensors, totals, strict=True):
        tensor.copy_(total.view_as(tensor))
