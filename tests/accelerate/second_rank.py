"""Work of two ranks, the test being the first: the same calls in the same order."""

from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hexlit.accelerate.batch_norm import SizedBatchNorm2d, over_ranks
from hexlit.accelerate.collectives import (
    all_gather,
    all_gather_rows,
    all_reduce,
    broadcast,
    on_writer,
)

SIZES = (5, 3)
"""Examples of each rank."""


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 3, 3),
        SizedBatchNorm2d(3, largest=4),
    )


def images() -> Tensor:
    return torch.randn(sum(SIZES), 2, 7, 7, generator=torch.Generator().manual_seed(1)) * 3 + 5


def trained(model: nn.Module, batch: Tensor, share: float) -> list[Tensor]:
    """Gradients of a mean loss over the batch; this rank has a `share` of it."""
    (model(batch).square().mean() * share).backward()
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


def work(rank: int, store: Path) -> tuple[list[Tensor], dict[str, Tensor], list[object]]:
    """Gradients and state of the network, and what the ranks told each other."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    try:
        model = net()
        over_ranks(model)
        own = images()[: SIZES[0]] if rank == 0 else images()[SIZES[0] :]
        gradients = trained(model, own, SIZES[rank] / sum(SIZES))
        all_reduce(gradients)
        told: list[object] = [
            broadcast(rank),
            on_writer(lambda: ["asked", rank]),
            all_gather({"rank": rank}),
            [row.item() for row in all_gather_rows([torch.tensor(rank), torch.tensor(10 + rank)])],
        ]
        return gradients, model.state_dict(), told
    finally:
        dist.destroy_process_group()
