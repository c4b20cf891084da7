"""The shared configuration of every task: the part of `hexlit train` that the code of runs reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hexlit.accelerate.config import AcceleratorConfig, LoadingDefaults
from hexlit.errors import UsageError
from hexlit.training.config import LoggerConfig, OptimizerConfig, TrainerConfig
from hexlit.tuning.config import SweepConfig


@dataclass
class RunConfig:
    """Settings of `hexlit train` for every task; a task's own configuration adds its sections."""

    name: str = "run"
    """Name of the recipe, and of the folder of its runs."""
    task: str = ""
    """Name of the task to learn."""
    seed: int = 1
    """Seed of the weights, of all random draws, and of the order of the batches."""
    resume: str | None = None
    """Folder of an interrupted run to continue."""
    report: bool = True
    """Whether to write `report.html` at the end of the run."""
    best: str | None = None
    """Folder of a sweep; its best trial's settings are used. Settings of the command line take precedence."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    sweep: SweepConfig = field(default_factory=SweepConfig)

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"seed={self.seed}: a whole number from 0 to 2^32 - 1")
        if not self.name or not all(c.isalnum() or c in "-_." for c in self.name):
            raise UsageError(f"name={self.name!r}: letters, digits, '-', '_' and '.' only, since a folder is named so")

    @property
    def subject(self) -> str:
        """Subject of the run, for its first line."""
        return self.task

    @property
    def hardware(self) -> AcceleratorConfig:
        """The run's settings for the hardware, including the recipe's batch if it has one."""
        return self.accelerator

    @property
    def device_defaults(self) -> Mapping[str, LoadingDefaults]:
        """The task's defaults by type of device (cpu, cuda, mps), used where `hardware` leaves a setting open."""
        return {}

    @property
    def without_effect(self) -> Mapping[str, str]:
        """Sections without effect under these settings, and why; setting one of their keys is refused."""
        return {}

    def check_installed(self) -> None:
        """Refuse a run whose extra packages are missing; called before anything heavy is imported.

        Raises:
            UsageError: a package is not installed.
        """
        return
