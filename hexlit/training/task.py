"""A task's contribution to a run: its module, its data, and everything else that the shared code
needs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import lightning as L

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile
from hexlit.tracking.identity import Identity
from hexlit.tracking.metric_names import Metric
from hexlit.tracking.tracked_run import Files
from hexlit.training.config import LoggerConfig, OptimizerConfig, TrainerConfig
from hexlit.training.module import TrainedModule
from hexlit.training.phases import Phase, PhaseClock, RunDisplay


class RunSettings(Protocol):
    """Settings that a run reads; every task's configuration has them."""

    name: str
    task: str
    seed: int
    resume: str | None
    optimizer: OptimizerConfig
    trainer: TrainerConfig
    logger: LoggerConfig
    callbacks: dict[str, Any]

    @property
    def hardware(self) -> AcceleratorConfig:
        """The settings for the hardware, with the recipe's batch."""


@dataclass(frozen=True)
class Session:
    """A run's contribution to its task."""

    folder: Path
    """Folder of the run."""
    profile: DeviceProfile
    clock: PhaseClock
    """Times the phases, including the task's own ones."""
    display: RunDisplay
    first_epoch: int
    """First epoch of this session."""
    trial: bool
    """Whether it is a trial of a sweep, which is judged on validation data alone."""
    deadline: float | None
    """Time on `time.monotonic()`; nothing long should begin after it."""


@dataclass(frozen=True)
class Evaluation:
    """How a task measures its network in addition to the losses, and when the network has learned
    enough.
    """

    prefix: str
    """Prefix of the logged figures, as in `prefix.name`."""
    measure: Callable[[bool], Mapping[str, Any]]
    """Returns figures of the network in use; its argument is True after the last epoch."""
    every_epochs: int
    """Epochs between two evaluations. 0: never."""
    least: Mapping[str, float] | None = None
    """Thresholds that end a run when all are reached, and then end the run. None: nothing ends
    it.
    """
    in_a_row: int = 1
    """Successful evaluations in a row that the target needs."""
    begin_after: int = 0
    """Epochs without any evaluation at the beginning."""


class Task(ABC):
    """One kind of work for a run: its aim, its data, and its measure of success.

    A run calls `set_up` first, once its generators are seeded, then the others. Two come earlier in
    a resumed run: `check_resume` with the content of its checkpoint, and `evaluation` if the run
    had a target.

    Attributes:
        unit: name of a training example in tables, in the plural.
        units: everything that phases count, `unit` included.
        shown: validation figures on the display of a running run, without `val.`.
        metrics: the task's lines of the table of names; the first dot of other names becomes a
            slash in charts.
        rare: prefixes of its metrics that some epochs alone have, in addition to that of the
            evaluation.
        fresh_data: whether every epoch has another loader.
        module: the module to train; `set_up` makes it.
        data: its training data; `set_up` makes it.
    """

    unit: ClassVar[str] = "examples"
    units: ClassVar[Sequence[str]] = ("examples",)
    shown: ClassVar[Collection[str]] = ("loss",)
    metrics: ClassVar[Sequence[Metric]] = ()
    fresh_data: ClassVar[bool] = False
    rare: Collection[str] = ()
    module: TrainedModule
    data: L.LightningDataModule

    @abstractmethod
    def set_up(self, session: Session) -> None:
        """Make `module` and `data`, and what else the session needs."""

    @abstractmethod
    def forward_flops(self) -> int:
        """Floating-point operations of one example's forward pass."""

    def training_flops(self) -> int:
        """Those of an example in training at this time, where the network may compute more than in
        evaluation.
        """
        return self.forward_flops()

    def check_resume(self, saved: Mapping[str, Any], folder: Path) -> None:
        """Raise `UsageError` where the run in `folder` cannot continue as configured.

        `saved` are the module's hyperparameters in its checkpoint.
        """
        return

    def prepare(self, phase: Phase) -> None:
        """Compile or load what the first epoch needs; `phase` shows the progress."""
        return

    def evaluation(self) -> Evaluation | None:
        """How the network is measured after an epoch. None: only by its losses."""
        return None

    def before_evaluation(self, is_due: Callable[[L.Trainer], bool]) -> list[L.Callback]:
        """Callbacks that come right before the evaluation; `is_due(trainer)` is whether one
        follows.
        """
        return []

    def callbacks(self) -> list[L.Callback]:
        """Callbacks that come right after the evaluation."""
        return []

    def losses_compare(self) -> bool:
        """Whether the losses of this epoch compare with those of the run's other epochs."""
        return True

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Numbers of the data to log after every epoch, by prefix and name."""
        return {}

    def data_flops(self) -> int:
        """Operations of the network so far for making data."""
        return 0

    def cpu_seconds(self) -> float:
        """Processor time of other processes that work for the run."""
        return 0.0

    def used(self, identity: Identity) -> Sequence[Files]:
        """Files that the run `identity` has learned from."""
        return ()

    def finish(self) -> Mapping[str, Any]:
        """Look back once training has ended well; the results go into the summary."""
        return {}

    def summary(self) -> Mapping[str, Any]:
        """The task's part of `summary.json`."""
        return {}

    def engine(self) -> str:
        """The engine that works next to the training, for the line on the device, such as
        `evaluated by cuda graphs`.
        """
        return ""

    def close(self) -> None:
        """End all workers of the run; called after an exception too."""
        return

    @abstractmethod
    def show_summary(self, summary: Mapping[str, Any]) -> None:
        """Print the summary of the run."""

    @abstractmethod
    def show_ending(
        self, ending: Mapping[str, Any], figures: Mapping[str, Any], command: str
    ) -> None:
        """Print why the run ended, and the `command` that continues it if there is more to do.

        `figures` are those of the latest evaluation.
        """
