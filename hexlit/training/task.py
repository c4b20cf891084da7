"""What a task gives to a run: its module, its data, and whatever else the shared rails have to know of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import lightning as L

from hexlit.accelerate.profile import DeviceProfile
from hexlit.tracking.identity import Identity
from hexlit.tracking.metric_names import Metric
from hexlit.tracking.tracked_run import Files
from hexlit.training.config import LoggerConfig, OptimizerConfig, TrainerConfig
from hexlit.training.display import Display
from hexlit.training.module import TrainedModule
from hexlit.training.phases import Phase, PhaseClock


class RunSettings(Protocol):
    """What a run reads of its configuration; every task's configuration has it."""

    @property
    def name(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def resume(self) -> str | None: ...
    @property
    def optimizer(self) -> OptimizerConfig: ...
    @property
    def trainer(self) -> TrainerConfig: ...
    @property
    def logger(self) -> LoggerConfig: ...


@dataclass(frozen=True)
class Session:
    """What a run gives to its task."""

    folder: Path
    """Of the run."""
    profile: DeviceProfile
    clock: PhaseClock
    """Times the phases; the task's own ones, too."""
    display: Display
    first_epoch: int
    """The epoch that the run begins with, or goes on with."""
    trial: bool
    """Whether it is a trial of a sweep: it is judged on validation data alone."""
    deadline: float | None
    """Time on `time.monotonic()` after which nothing long should begin."""


@dataclass(frozen=True)
class Evaluation:
    """How a task measures its network beside the losses, and what proves that it has learned enough."""

    prefix: str
    """The figures are logged as `prefix.name`."""
    measure: Callable[[bool], Mapping[str, Any]]
    """Figures of the network in use; called with True after the last epoch."""
    every_epochs: int
    """0: never."""
    least: Mapping[str, float] | None = None
    """Figures that prove the aim where all of them are reached, and by that end the run; None: nothing does."""
    in_a_row: int = 1
    """Evaluations in a row that it takes."""


class Task(ABC):
    """One kind of work for the rails: what is learned, from what, and how it is judged.

    A run calls `set_up` first, once its generators are seeded, then the others. Before that a resumed run passes what
    its checkpoint holds to `check_resume`.

    Attributes:
        unit: what an example of training is called in tables, in the plural.
        units: everything that phases count, `unit` included.
        shown: figures of a validation that are shown while a run goes on, without `val.`.
        metrics: the task's lines of the table of names; the first dot of other names becomes a slash in charts.
        fresh_data: whether every epoch has another loader.
        module: what is trained; `set_up` makes it.
        data: what it is trained on; `set_up` makes it.
    """

    unit: ClassVar[str] = "examples"
    units: ClassVar[Sequence[str]] = ("examples",)
    shown: ClassVar[Collection[str]] = ("loss",)
    metrics: ClassVar[Sequence[Metric]] = ()
    fresh_data: ClassVar[bool] = False
    module: TrainedModule
    data: L.LightningDataModule

    @abstractmethod
    def set_up(self, session: Session) -> None:
        """Make `module` and `data`, and what else the session needs."""

    @abstractmethod
    def forward_flops(self) -> int:
        """Floating-point operations of one example's forward pass."""

    def training_flops(self) -> int:
        """Those of its forward pass in training, where the network computes more than in evaluation."""
        return self.forward_flops()

    def check_resume(self, saved: Mapping[str, Any], folder: Path) -> None:
        """Raise `UsageError` where the run in `folder` cannot go on as configured.

        `saved` are the module's hyperparameters in its checkpoint.
        """
        return

    def prepare(self, phase: Phase) -> None:
        """Compile or load what the first epoch needs; `phase` shows how far that is."""
        return

    def evaluation(self) -> Evaluation | None:
        """How the network is measured after an epoch; None: by its losses only."""
        return None

    def before_evaluation(self, is_due: Callable[[L.Trainer], bool]) -> list[L.Callback]:
        """Callbacks that come right before the evaluation; `is_due(trainer)` says whether there will be one."""
        return []

    def callbacks(self) -> list[L.Callback]:
        """Callbacks that come right after the evaluation."""
        return []

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Numbers of the data to log after every epoch, by prefix and name."""
        return {}

    def forward_passes(self) -> int:
        """Examples that went through the network so far while data was made."""
        return 0

    def cpu_seconds(self) -> float:
        """Processor time of other processes that work for the run."""
        return 0.0

    def used(self, identity: Identity) -> Sequence[Files]:
        """Files that the run known by `identity` has learned from."""
        return ()

    def finish(self) -> Mapping[str, Any]:
        """Look back once training has ended well; what is found goes into the summary."""
        return {}

    def summary(self) -> Mapping[str, Any]:
        """The task's part of `summary.json`."""
        return {}

    def engine(self) -> str:
        """What computes beside the training, for the line on the device, such as `evaluated by cuda graphs`."""
        return ""

    def close(self) -> None:
        """End what works for the run; called after an exception as well."""
        return

    @abstractmethod
    def show_summary(self, summary: Mapping[str, Any]) -> None:
        """Print the summary of the run."""

    @abstractmethod
    def show_ending(self, ending: Mapping[str, Any], figures: Mapping[str, Any], command: str) -> None:
        """Print why the run ended, and `command`, which goes on with it, where there is more to do.

        `figures` are those of the latest evaluation.
        """
