"""The machines and the recipe of a plan."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """The learner's connection to the other machines."""

    bytes_per_second: float
    latency: float
    """Latency in seconds."""


@dataclass(frozen=True)
class Cluster:
    """One machine that trains, and may also play; others that only play."""

    cores: int
    """Cores of the training machine."""
    workers: int
    """Playing processes on the training machine."""
    hosts: int
    """Number of machines that only play."""
    host_cores: int
    host_workers: int
    """Playing processes on each of them."""
    devices: int
    """Number of devices that train together."""
    scaling: float
    """Share of one device's rate that each further device adds."""
    link: Link

    @property
    def actors(self) -> int:
        """Number of playing processes on all machines."""
        return self.workers + self.hosts * self.host_workers

    @property
    def learners(self) -> float:
        """Rate of all devices together, as a multiple of one device's."""
        return 1 + (self.devices - 1) * self.scaling


@dataclass(frozen=True)
class Work:
    """The work of the recipe in one epoch."""

    positions: int
    """Least number of positions in an epoch's games."""
    games: int
    """Games at a time, in all processes together."""
    trained: int
    """Positions that the epoch trains on: whole batches."""
    ahead: int
    """Epochs that self-play may be ahead of the training; 0 takes turns."""
