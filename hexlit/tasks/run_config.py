"""What every task's configuration has: the part of `hexlit train` that the shared rails read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hexlit.accelerate.config import AcceleratorConfig, LoadingDefaults
from hexlit.errors import UsageError
from hexlit.training.config import LoggerConfig, OptimizerConfig, TrainerConfig
from hexlit.tuning.config import SweepConfig


@dataclass
class RunConfig:
    """What `hexlit train` takes whatever the task; a task's own configuration adds its sections."""

    name: str = "run"
    """Name of the recipe: the folder of its runs."""
    task: str = ""
    """What is learned: the name of a task."""
    seed: int = 1
    """The one seed: of the weights, of what is drawn, and of the order of the batches."""
    resume: str | None = None
    """Folder of an interrupted run to go on with."""
    report: bool = True
    """Write `report.html` when the run has come to its end."""
    best: str | None = None
    """Folder of a sweep whose best trial's settings are taken; those of the command line win."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    sweep: SweepConfig = field(default_factory=SweepConfig)

    def __post_init__(self) -> None:
        """Refuse what no part can check alone."""
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"seed={self.seed}: a whole number from 0 to 2^32 - 1")
        if not self.name or not all(c.isalnum() or c in "-_." for c in self.name):
            raise UsageError(f"name={self.name!r}: letters, digits, '-', '_' and '.' only, since a folder is named so")

    @property
    def subject(self) -> str:
        """What the first line of a run calls its work."""
        return self.task

    @property
    def hardware(self) -> AcceleratorConfig:
        """What the run asks of the hardware, the recipe's batch included where it has one."""
        return self.accelerator

    @property
    def device_defaults(self) -> Mapping[str, LoadingDefaults]:
        """By type of device (cpu, cuda, mps): what the task asks of it where `hardware` leaves it open."""
        return {}

    @property
    def without_effect(self) -> Mapping[str, str]:
        """Sections that these settings leave without effect, and why; setting one of their keys is refused."""
        return {}
