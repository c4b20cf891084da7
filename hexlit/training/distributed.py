"""What a Trainer gets about devices: their number and processes (Lightning's DDP), and the
precision.

torch's wrapper averages gradients while they are computed. It is left out: a step has several
backward passes, and ranks may have different numbers of examples. `TrainedModule` adds the
gradients up once per step instead.
"""

import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.plugins.precision import MixedPrecision
from lightning.pytorch.strategies import DDPStrategy

from hexlit.accelerate.batch_norm import over_ranks
from hexlit.accelerate.collectives import BACKENDS, are_several, barrier, broadcast, rendezvous
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import Ranks
from hexlit.errors import UsageError


class StartedRanks(LightningEnvironment):
    """The ranks of a run, started by torchrun, srun or hexlit."""

    def __init__(self, ranks: Ranks, sees_own_card: bool) -> None:
        """`ranks` gives the place of this process; it may see no card but its own, as if it had a
        machine to itself.
        """
        super().__init__()
        self._ranks = ranks
        self._sees_own_card = sees_own_card

    creates_processes_externally = True
    main_address = property(lambda self: self._ranks.address)
    main_port = property(lambda self: self._ranks.port)

    def local_rank(self) -> int:
        return 0 if self._sees_own_card else self._ranks.local_rank

    def node_rank(self) -> int:
        return self._ranks.rank if self._sees_own_card else self._ranks.machine

    def teardown(self) -> None:
        """Leave the environment as it is."""


class SummedGradients(DDPStrategy):
    """Lightning's DDP without torch's wrapper. Batch norm covers all ranks; they begin with equal
    weights.
    """

    def __init__(self, ranks: Ranks, **arguments: Any) -> None:
        """The place of this process is `ranks`; the `arguments` are those of Lightning's."""
        super().__init__(**arguments)
        self._ranks = ranks

    def setup_distributed(self) -> None:
        assert self._timeout is not None
        self._server = rendezvous(self._ranks, self._timeout)
        super().setup_distributed()

    def configure_ddp(self) -> None:
        assert self.model is not None
        over_ranks(self.model)
        for tensor in self.model.state_dict().values():
            torch.distributed.broadcast(tensor, 0)

    def barrier(self, *args: Any, **kwargs: Any) -> None:
        barrier()

    def broadcast(self, obj: Any, src: int = 0) -> Any:
        return broadcast(obj)


def hardware_arguments(
    profile: DeviceProfile, ranks: Ranks, plugins: Sequence[Any]
) -> dict[str, Any]:
    """The arguments of `Trainer` that choose devices, processes and precision, with `plugins` of
    other kinds.

    Lightning would detect Slurm by itself and take its signals, which belong to the starter of the
    job. So a plugin names who started this process, where the strategy does not.
    """
    started = [] if ranks.several else [LightningEnvironment()]
    return device_arguments(profile, ranks) | precision_arguments(profile, [*plugins, *started])


def device_arguments(profile: DeviceProfile, ranks: Ranks) -> dict[str, Any]:
    """The arguments of `Trainer` that choose its devices and processes."""
    if not ranks.several:
        return {"devices": profile.devices}
    sees_own_card = isinstance(profile.devices, list) and len(profile.devices) < ranks.local_size
    return {
        "devices": profile.devices,
        "num_nodes": ranks.size if sees_own_card else ranks.machines,
        "strategy": SummedGradients(
            ranks,
            cluster_environment=StartedRanks(ranks, sees_own_card),
            process_group_backend=BACKENDS[profile.device.type],
            timeout=timedelta(minutes=profile.config.rank_timeout),
        ),
        # every rank draws the batches of one process, and takes its part
        "use_distributed_sampler": False,
    }


def refuse_for_several(profile: DeviceProfile, ranks: Ranks) -> None:
    """Refuse settings that do not work with several ranks."""
    if not ranks.several:
        return
    try:
        socket.getaddrinfo(ranks.address, ranks.port)
    except OSError:  # the ranks would wait for one another forever
        raise UsageError(
            f"MASTER_ADDR={ranks.address}: no machine of this name is known here"
        ) from None
    if profile.train_batch < ranks.size:
        raise UsageError(
            f"accelerator.train_batch={profile.train_batch}: must be {ranks.size} or more, one a device"
        )
    if profile.micro_batch == 1:
        raise UsageError("accelerator.micro_batch=1: must be 2 or more with several devices")
    if profile.compile:
        raise UsageError("accelerator.compile=true: works on one device only")


def leave_ranks() -> None:
    """Close the connection of this process to the other ranks."""
    if are_several():
        torch.distributed.destroy_process_group()


def precision_arguments(profile: DeviceProfile, plugins: Sequence[Any] = ()) -> dict[str, Any]:
    """The arguments of `Trainer` that make it compute in the precision of `profile`, with `plugins`
    of other kinds.

    float16 loses small gradients below 6e-8; on CUDA a scaler preserves them. Other devices have no
    scaler, so bf16-mixed or 32-true suits them better.
    """
    if profile.precision == "16-mixed" and profile.device.type != "cuda":
        half = MixedPrecision("16-mixed", profile.device.type, torch.amp.GradScaler(enabled=False))
        half.scaler = None  # Lightning would build one on every device
        return {"plugins": [half, *plugins]}
    return {"precision": profile.precision, "plugins": list(plugins)}
