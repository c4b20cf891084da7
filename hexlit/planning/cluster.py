"""The machines and the recipe of a plan."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """The learner's connection to the other machines."""

    bytes_per_second: float
    latency: float
    """Seconds."""


@dataclass(frozen=True)
class Cluster:
    """One machine that trains, and may play, too; others that only play."""

    cores: int
    """Cores of the machine that trains."""
    workers: int
    """Processes that play beside the training."""
    hosts: int
    """Machines that only play."""
    host_cores: int
    host_workers: int
    """Processes that play on each of them."""
    devices: int
    """Devices that train together."""
    scaling: float
    """Share of a further device's rate that counts."""
    link: Link

    @property
    def actors(self) -> int:
        """Processes that play, on all machines."""
        return self.workers + self.hosts * self.host_workers

    @property
    def learners(self) -> float:
        """Rate of all devices together, as a multiple of one device's."""
        return 1 + (self.devices - 1) * self.scaling


@dataclass(frozen=True)
class Work:
    """What the recipe asks for in one epoch."""

    positions: int
    """Positions that an epoch's games hold, at least."""
    games: int
    """Games side by side, in all processes together."""
    trained: int
    """Positions that the epoch trains on: whole batches."""
    ahead: int
    """Epochs that self-play may be ahead of the training; 0 takes turns."""
