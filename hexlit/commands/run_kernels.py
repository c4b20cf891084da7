"""The kernels of a training run: those of self-play are compiled first, those of evaluation during the first epoch."""

from collections.abc import Callable, Sequence

import lightning as L

from hexlit.commands.compiling import BESIDE, Advance, Compiling
from hexlit.training.phases import Phase, PhaseClock


class RunKernels:
    """The compiled code of a run: kernels of self-play first, kernels of evaluation during the first epoch."""

    def __init__(self, first: Compiling, later: Sequence[str]) -> None:
        """`first` is running already; the sets `later` are begun after it."""
        self._first = first
        self._later: Compiling | None = None
        self._later_names = later
        self.waited = 0.0
        """Seconds that an evaluation had to wait."""

    @property
    def running(self) -> bool:
        """Whether the kernels of evaluation are still being compiled."""
        return self._later is not None and self._later.running

    def begin(self, phase: Phase) -> None:
        """Wait for self-play's kernels, then begin with the others."""
        self._first.wait(shown_in(phase))
        self._later = Compiling(self._later_names, niceness=BESIDE)

    def await_all(self, phase: Phase) -> None:
        """Wait for all kernels."""
        if self._later is not None:
            self._later.wait(shown_in(phase))
            self.waited = phase.wall_seconds

    def cpu_seconds(self) -> float:
        """Processor time of the processes that compile."""
        return sum(compiling.cpu_seconds() for compiling in (self._first, self._later) if compiling is not None)

    def close(self) -> None:
        """End all compiling."""
        for compiling in (self._first, self._later):
            if compiling is not None:
                compiling.close()

    def summary(self) -> dict[str, float]:
        """Seconds of compiling before and during the first epoch, and of waiting for the latter."""
        later = 0.0 if self._later is None else self._later.seconds
        return {
            "first_seconds": self._first.seconds,
            "beside_seconds": later,
            "waited_seconds": self.waited,
            "cpu_seconds": self.cpu_seconds(),
        }


class KernelsPhase(L.Callback):
    """Before the first evaluation: waits, as the phase `compiling`, for kernels that are not ready."""

    def __init__(self, kernels: RunKernels, clock: PhaseClock, is_due: Callable[[L.Trainer], bool]) -> None:
        """The row goes to `clock`; `is_due(trainer)` tells whether the ending epoch is measured."""
        self._kernels = kernels
        self._clock = clock
        self._is_due = is_due

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Wait if kernels are missing."""
        if self._kernels.running and self._is_due(trainer):
            with self._clock.phase("compiling", trainer.current_epoch) as phase:
                self._kernels.await_all(phase)


def shown_in(phase: Phase) -> Advance:
    """Shows the progress of compiling in `phase`."""

    def advance(done: int, total: int, what: str) -> None:
        phase.goal, phase.detail = float(total), what
        phase.advance(done)

    return advance
