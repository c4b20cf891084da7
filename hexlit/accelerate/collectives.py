"""Exchange between the ranks of a run: all make the same calls in the same order. A single rank
gets its own value.
"""

import logging
import os
import socket
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import chain
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from hexlit.accelerate.ranks import Ranks
from hexlit.errors import UsageError

log = logging.getLogger(__name__)

T = TypeVar("T")

BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}
"""torch's name of the library for the tensors of each device. gloo carries everything else."""

PATIENCE = 5.0
"""Seconds until a warning names the ranks that are missing; those of a run import the same packages."""

_SECONDS_BETWEEN_LOOKS = 0.005
_SECONDS_BETWEEN_ATTEMPTS = 0.1


def rendezvous(place: Ranks, timeout: timedelta) -> Any:
    """Wait until all ranks of the run are there; signals, such as Ctrl-C, work meanwhile, unlike in
    torch's own wait.

    After `PATIENCE` seconds one line names the missing ranks. torch joins the server of the
    returned store afterwards, so the store has to be kept as long as the ranks work together.

    Raises:
        UsageError: a rank is missing after `timeout`, or another program uses the port.
    """
    began, warned = time.monotonic(), False
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    keys = [f"hexlit/{attempt}/{rank}" for rank in range(place.size)]
    store: Any = None
    while True:
        if store is None:
            store = _store_of(place, timeout)
            if store is not None:
                store.set(keys[place.rank], "")
        if store is not None and store.check(keys):
            return store
        waited = time.monotonic() - began
        if waited > PATIENCE and not warned:
            log.warning(
                "%s; to train in one process, unset that variable", _whom(place, store, keys)
            )
            warned = True
        if waited > timeout.total_seconds():
            raise UsageError(
                f"{_whom(place, store, keys)}, which did not come within accelerator.rank_timeout"
            )
        time.sleep(_SECONDS_BETWEEN_ATTEMPTS)


def _whom(place: Ranks, store: Any, keys: list[str]) -> str:
    """Whom the rank at `place` waits for: those without a key in the `store`; the first rank while
    there is none.
    """
    missing = (
        [0] if store is None else [rank for rank, key in enumerate(keys) if not store.check([key])]
    )
    return f"{place.origin}: waits for rank {', '.join(map(str, missing))} at {place.address}:{place.port}"


def _store_of(place: Ranks, timeout: timedelta) -> Any:
    """The store of torch at the first rank, or of torchrun; None while nothing answers there."""
    serves = place.writes and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    where: dict[str, Any] = {
        "host_name": place.address,
        "port": place.port,
        "world_size": place.size,
    }
    try:
        if not serves:  # torch's client would print every attempt
            socket.create_connection((place.address, place.port), timeout=1.0).close()
        how: dict[str, Any] = {"wait_for_workers": False, "timeout": timeout, "multi_tenant": True}
        return dist.TCPStore(is_master=serves, **where, **how)  # type: ignore[attr-defined]  # not in every build
    except OSError:
        return None
    except RuntimeError as error:
        if serves:
            raise UsageError(
                f"MASTER_PORT={place.port}: another program uses it on {place.address}"
            ) from error
        return None


def are_several() -> bool:
    """Whether this process has met other ranks."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def barrier() -> None:
    """Wait for the others. Signals, such as Ctrl-C, work meanwhile; inside a wait of gloo they
    would not.
    """
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
    """The `rows` of all ranks in one list: tensors or tuples of tensors. Those of other ranks are
    on the cpu.
    """
    if not are_several():
        return rows
    here: list[Any] = []
    for row in rows:
        if isinstance(row, Tensor):
            here.append(row.cpu())
        else:
            here.append(tuple(part.cpu() for part in row))
    return list(chain.from_iterable(all_gather(here)))


def all_reduce(tensors: list[Tensor]) -> None:
    """Replace each of `tensors`, of one device and type, by its sum over the ranks, in one call."""
    if not are_several() or not tensors:
        return
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.all_reduce(flat)
    totals = torch.split(flat, [tensor.numel() for tensor in tensors])
    for tensor, total in zip(tensors, totals, strict=True):
        tensor.copy_(total.view_as(tensor))
