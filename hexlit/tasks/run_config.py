"""The shared configuration of every task, and checks of several tasks' settings.

Imports nothing heavy.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hexlit.accelerate.config import AcceleratorConfig, LoadingDefaults
from hexlit.errors import UsageError
from hexlit.settings import SEEDS, Settings, install, number
from hexlit.training.config import LoggerConfig, OptimizerConfig, TrainerConfig
from hexlit.tuning.config import SweepConfig


@dataclass
class RunConfig(Settings):
    """Settings of `hexlit train` for every task; a task's own configuration adds its sections."""

    name: str = "run"
    """Name of the recipe, and of the folder of its runs."""
    task: str = ""
    """Name of the task to learn."""
    seed: int = number(1, SEEDS)
    """Seed of the weights, of all random draws, and of the order of the batches."""
    resume: str | None = None
    """Folder of an interrupted run to continue."""
    report: bool = True
    """Whether to write `report.html` at the end of the run."""
    best: str | None = None
    """Folder of a sweep; its best trial's settings are used, below those of the command line."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    sweep: SweepConfig = field(default_factory=SweepConfig)
    callbacks: dict[str, Any] = field(default_factory=dict)
    """Callbacks of Lightning, by names of your own: `+callbacks.mine._target_=package.Mine` names
    the class, further keys are its arguments.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch(r"[\w.-]*\w[\w.-]*", self.name) or not self.name.isprintable():
            rule = "letters, digits, '-', '_' and '.' only, with a letter or digit, since a folder is named so"
            raise UsageError(f"name={self.name!r}: {rule}")

    @property
    def subject(self) -> str:
        """Subject of the run, for its first line."""
        return self.task

    @property
    def hardware(self) -> AcceleratorConfig:
        """The run's settings for the hardware; the recipe's batch stands for an open one."""
        open_batch = self.batch is not None and self.accelerator.train_batch is None
        return replace(self.accelerator, train_batch=self.batch) if open_batch else self.accelerator

    @property
    def batch(self) -> int | None:
        """Examples in one optimisation step by the recipe; None: the hardware decides."""
        return None

    @property
    def device_defaults(self) -> Mapping[str, LoadingDefaults]:
        """The task's defaults by type of device, used where `hardware` leaves a setting open."""
        return {}

    @property
    def without_effect(self) -> Mapping[str, str]:
        """Sections without effect under these settings, and why; their keys are refused."""
        return {}

    def check_installed(self) -> None:
        """Refuse a run whose extra packages or files are missing; called before anything heavy is
        imported.

        Raises:
            UsageError: a package is not installed, or there is no such file.
        """


def check_split(train_share: float, validation_share: float) -> None:
    """Refuse `data.train_share` and `data.validation_share` that leave no test set."""
    if train_share + validation_share >= 1:
        raise UsageError(
            f"data.validation_share={validation_share}: with data.train_share={train_share} nothing is left for the "
            "test set; their sum must be below 1"
        )


def check_there(path: Path, key: str = "data.path") -> None:
    """Refuse a `path`, the value of the setting `key`, where there is nothing."""
    if not path.exists():
        raise UsageError(f"{key}={path}: there is no such file")


def packaged_data(package: str, inside: str, extra: str) -> Path:
    """The file or folder `inside` the installed `package`, without importing it.

    Raises:
        UsageError: the package is not installed; names the `extra` that has it.
    """
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / inside
        if path.exists():
            return path
    raise UsageError(
        f"data.path=null: needs the package {package}; {install(extra)}, or set data.path=FILE"
    )
