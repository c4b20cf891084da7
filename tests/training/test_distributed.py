"""F22: what a rank gives to Lightning's DDP.
Stand-ins note what would be set: there are no two cuda devices here.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import lightning.pytorch.strategies.ddp as ddp
import pytest
import torch
from lightning.pytorch.utilities import rank_zero_only

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.accelerate.ranks import ALONE, Ranks
from hexlit.training import distributed
from hexlit.training.distributed import SummedGradients, device_arguments, leave_ranks


def profile_on(device: str, devices: int | list[int]) -> DeviceProfile:
    made = build_profile(AcceleratorConfig(device="cpu"))
    return replace(made, device=torch.device(device), devices=devices)


class Card:
    """Notes which device becomes the current one."""

    def __init__(self, done: list[Any]) -> None:
        self.done = done

    def setup_device(self, device: torch.device) -> None:
        self.done.append(("current", device))


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_rank_takes_its_own_card_before_nccl_starts(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines with two cards each: the number of a card is that of the rank on its machine."""
    done: list[Any] = []
    monkeypatch.setattr(
        rank_zero_only, "rank", 0
    )  # Lightning keeps the rank there, which other tests would have
    monkeypatch.setattr(distributed, "rendezvous", lambda place, timeout: None)
    monkeypatch.setattr(
        ddp, "_init_dist_connection", lambda cluster, backend, **how: done.append((backend, how))
    )
    place = Ranks(rank, 4, rank % 2, 2, "node07", 15_001)
    card = torch.device("cuda", rank % 2)
    arguments = device_arguments(profile_on(str(card), [0, 1]), place)
    assert (arguments["devices"], arguments["num_nodes"]) == ([0, 1], 2)
    strategy = arguments["strategy"]
    assert isinstance(strategy, SummedGradients)
    strategy._accelerator = Card(done)  # type: ignore[assignment]
    strategy.parallel_devices = [torch.device("cuda", number) for number in arguments["devices"]]
    strategy.num_nodes = arguments["num_nodes"]
    strategy.setup_environment()
    (first, device), (backend, how) = done
    assert how["timeout"] == timedelta(minutes=30)
    assert (first, device, strategy.root_device, how["device_id"]) == ("current", card, card, card)
    assert backend == "cpu:gloo,cuda:nccl"
    assert (strategy.global_rank, strategy.world_size) == (rank, 4)
    cluster = strategy.cluster_environment
    assert cluster is not None
    assert (cluster.main_address, cluster.main_port) == ("node07", 15_001)


def test_a_process_alone_has_no_strategy() -> None:
    assert device_arguments(profile_on("cuda:1", [1]), ALONE) == {"devices": [1]}
    leave_ranks()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_sees_its_own_card_alone_counts_as_a_machine(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """srun --gpus-per-task shows each task one card, which is number 0 for it."""
    monkeypatch.setattr(rank_zero_only, "rank", 0)
    place = Ranks(rank, 2, rank, 2)
    arguments = device_arguments(profile_on("cuda:0", [0]), place)
    assert (arguments["devices"], arguments["num_nodes"]) == ([0], 2)
    strategy = arguments["strategy"]
    strategy.parallel_devices = [torch.device("cuda", 0)]
    strategy.num_nodes = arguments["num_nodes"]
    strategy.set_world_ranks()
    assert (strategy.root_device, strategy.global_rank, strategy.world_size) == (
        torch.device("cuda:0"),
        rank,
        2,
    )
