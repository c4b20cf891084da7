"""The `ray` section of the configuration: a Ray cluster, and the resources of its tasks."""

from dataclasses import dataclass, field

from hexlit.errors import UsageError
from hexlit.settings import Interval, Settings, check_number, number


@dataclass
class RayConfig(Settings, section="ray"):
    """A Ray cluster, and what its tasks get."""

    address: str | None = None
    """Address of the cluster: `auto` (the cluster that runs on this machine), or `HOST:PORT` of its
    head. Null: Ray is started here, for this run alone and reachable only from this machine.
    """
    cpus: float = number(1.0, "[0, inf)")
    """Processors that Ray reserves for a task. The task uses as many threads, at least one.
    `accelerator.threads` belongs to this process alone.
    """
    gpus: float = number(0.0, "[0, inf)")
    """GPUs that Ray reserves for a task, such as 0.25 for four on one. Above 0 it plays on cuda,
    else on the cpu. `accelerator.memory_cap` applies to each process on cuda.
    """
    resources: dict[str, float] = field(default_factory=dict)
    """Custom resources of the cluster that a task needs, such as {player: 1}: they keep tasks off
    other hosts.
    """
    wait: float | None = number(300.0, "[0, inf)", unit="seconds")
    """Longest wait, in seconds, for a node with room; then the run ends. Null: wait without end."""
    retries: int = number(10, "[0, inf)")
    """Times that a share of the work is repeated after the loss of its process or node; then the
    run ends.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gpus > 1 and self.gpus != int(self.gpus):
            raise UsageError(f"ray.gpus={self.gpus}: a share of one GPU, or a whole number of them")
        for name, value in self.resources.items():
            check_number(f"ray.resources.{name}", value, Interval("(0, inf)"))
        if self.address not in (None, "auto"):
            host, _, port = self.address.rpartition(":")
            if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 2**16:
                raise UsageError(
                    f"ray.address={self.address}: must be auto, null, or HOST:PORT such as 10.0.0.1:6379"
                )

    @property
    def device(self) -> str:
        """Type of device that tasks use."""
        return "cuda" if self.gpus else "cpu"

    @property
    def threads(self) -> int:
        """Number of threads of a task."""
        return max(1, int(self.cpus))

    @property
    def asked(self) -> str:
        """Resources of one task, in words."""
        own = "".join(f", {amount:g} {name}" for name, amount in self.resources.items())
        return f"{self.cpus:g} CPU, {self.gpus:g} GPU{own}"
