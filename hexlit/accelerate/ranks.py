"""The processes of one run, its ranks: each computes on a device of its own, and only the first one
writes.

The environment describes them: torchrun, srun or hexlit itself sets it; hexlit uses torchrun's
names.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from hexlit.errors import UsageError

FIRST_PORT = 15_000
"""First of the ports for jobs of Slurm; the job's number chooses one of 10,000."""


@dataclass(frozen=True)
class Ranks:
    """The place of this process among those of its run. A process without such a run is the only
    one.
    """

    rank: int = 0
    """Its number in the run."""
    size: int = 1
    """Number of processes of the run."""
    local_rank: int = 0
    """Its number on this machine, and that of its device."""
    local_size: int = 1
    """Number of processes of the run on this machine."""
    address: str = "127.0.0.1"
    """Machine of the first rank."""
    port: int = 0
    """Port on that machine for the meeting of the ranks."""
    by_srun: bool = False
    """Whether srun has started the ranks; it can show each of them its own card alone."""
    cores: int | None = None
    """Cores of this process if Slurm gives it a share; None: the ranks of a machine share its
    cores.
    """

    def __post_init__(self) -> None:
        numbers = {
            "rank": (self.rank, self.size),
            "rank of this machine": (self.local_rank, self.local_size),
        }
        for name, (number, count) in numbers.items():
            if not 0 <= number < count:
                raise UsageError(
                    f"{self.origin}: {name} {number} is none of {count}, which count from 0"
                )
        if not 0 <= self.port < 65_536:
            raise UsageError(f"MASTER_PORT={self.port}: must be from 1 to 65535")
        if self.size % self.local_size:
            raise UsageError(
                f"{self.size} ranks, {self.local_size} of them here: every machine needs as many"
            )

    @property
    def writes(self) -> bool:
        """Whether this process writes the files of the run, shows it and measures it."""
        return self.rank == 0

    @property
    def origin(self) -> str:
        """The variable that makes this process one of several, with its value."""
        return f"{'SLURM_STEP_NUM_TASKS' if self.by_srun else 'WORLD_SIZE'}={self.size}"

    @property
    def several(self) -> bool:
        """Whether there are several ranks."""
        return self.size > 1

    @property
    def machines(self) -> int:
        """Number of machines of the run."""
        return self.size // self.local_size

    @property
    def machine(self) -> int:
        """Number of this machine; every machine has consecutive ranks."""
        return self.rank // self.local_size

    def threads(self, cores: int) -> int:
        """This process's share of the `cores` that it may use, at least one."""
        return max(1, cores // self.local_size if self.cores is None else min(cores, self.cores))

    def part(self, count: int) -> slice:
        """This rank's examples of a batch of `count`; see `has_part`."""
        return slice(self.rank, None, self.size) if self.has_part(count) else slice(0, 1)

    def has_part(self, count: int) -> bool:
        """Whether this rank has examples in a batch of `count`. A rank without any reads the first
        one in vain.
        """
        return self.rank < count

    def environment(self) -> dict[str, str]:
        """The same place as torchrun's variables."""
        names = (
            "RANK",
            "WORLD_SIZE",
            "LOCAL_RANK",
            "LOCAL_WORLD_SIZE",
            "MASTER_ADDR",
            "MASTER_PORT",
        )
        values = (self.rank, self.size, self.local_rank, self.local_size, self.address, self.port)
        return dict(zip(names, map(str, values), strict=True))


ALONE = Ranks()
"""The place of a process without other ranks."""


def ranks(environment: Mapping[str, str] = os.environ) -> Ranks:
    """The place of this process from `environment`.

    Raises:
        UsageError: a variable is no whole number, or they contradict each other.
    """

    def number(name: str, default: int) -> int:
        text = environment.get(name)
        if text is None:
            return default
        if not text.strip().isdecimal():
            raise UsageError(
                f"{name}={text}: must be a whole number, 0 or more; unset it for a process of its own"
            )
        return int(text)

    address = environment.get("MASTER_ADDR", Ranks.address)
    if number("WORLD_SIZE", 1) > 1 and "RANK" in environment:
        rank, size = number("RANK", 0), number("WORLD_SIZE", 1)
        local = number("LOCAL_RANK", rank), number("LOCAL_WORLD_SIZE", size)
        return Ranks(rank, size, *local, address, number("MASTER_PORT", FIRST_PORT))
    # srun counts the tasks of its step. A batch script belongs to no step, however many tasks its
    # job asked for.
    size = number("SLURM_STEP_NUM_TASKS", 1)
    if size == 1:
        return ALONE
    machines = number("SLURM_STEP_NUM_NODES", 1)
    if machines > 1 and "MASTER_ADDR" not in environment:
        from lightning.fabric.plugins.environments.slurm import SLURMEnvironment  # takes seconds

        address = SLURMEnvironment.resolve_root_node_address(
            environment.get("SLURM_STEP_NODELIST", address)
        )
    return Ranks(
        rank=number("SLURM_PROCID", 0),
        size=size,
        local_rank=number("SLURM_LOCALID", 0),
        local_size=max(1, size // machines),
        address=address,
        port=number("MASTER_PORT", FIRST_PORT + number("SLURM_JOB_ID", 0) % 10_000),
        by_srun=True,
        cores=number("SLURM_CPUS_PER_TASK", 0) or None,
    )
