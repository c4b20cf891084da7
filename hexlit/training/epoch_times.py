"""Sends the times of an epoch's phases and steps to the loggers that draw charts; files of their own hold them too."""

from collections.abc import Iterator

import lightning as L

from hexlit.tracking.metric_names import EPOCH
from hexlit.tracking.tracked_run import TrackedRun
from hexlit.training.metrics import MetricsCsv
from hexlit.training.phase_table import PER_SECOND
from hexlit.training.phases import Phase, PhaseClock
from hexlit.training.steps import PARTS, StepClock


class EpochTimes(L.Callback):
    """Logs `time.*`, `device.*` and `throughput.*` of every epoch; `metrics.csv` does not get them.

    It covers the phases that have ended by then: all but `saving` and the rest of `between`. This callback comes after
    the evaluation.
    """

    def __init__(self, clock: PhaseClock, steps: StepClock) -> None:
        """`clock` has timed the phases, `steps` the parts of the optimisation."""
        self._clock = clock
        self._steps = steps

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log the times of the epoch."""
        charts = [logger for logger in trainer.loggers if not isinstance(logger, MetricsCsv)]
        if not charts:
            return
        row = dict([*self._phases(trainer.current_epoch), *self._parts(), (EPOCH, float(trainer.current_epoch))])
        for logger in charts:
            logger.log_metrics(row, trainer.global_step - 1)

    def _phases(self, epoch: int) -> Iterator[tuple[str, float]]:
        for name, row in self._clock.epoch_rows(epoch).items():
            yield f"time.{name}_seconds", row.wall_seconds
            if row.cpu_seconds is not None:
                yield f"time.{name}_cpu_seconds", row.cpu_seconds
            if row.device_utilisation is not None:
                yield f"device.{name}_utilisation", row.device_utilisation
            if row.peak_device_bytes is not None:
                yield f"device.{name}_peak_bytes", row.peak_device_bytes
            for unit in row.counts:
                if (rate := row.rate(unit)) is not None:
                    yield f"throughput.{name}_{unit}{PER_SECOND}", rate

    def _parts(self) -> Iterator[tuple[str, float]]:
        row = self._steps.latest
        for part in PARTS:
            for clock in ("seconds", "cpu_seconds"):
                if row.get(f"{part}_{clock}"):
                    yield f"time.steps_{part}_{clock}", float(row[f"{part}_{clock}"])
        for name in ("wall_seconds", "load_share"):
            if row.get(name):
                yield f"time.steps_{name}", float(row[name])
        if row.get("device_utilisation"):
            yield "device.steps_utilisation", float(row["device_utilisation"])


class RowsAreWhole:
    """Ends the row of an epoch once a phase of a later one begins, so that a kill does not lose it.

    It listens to the clock, since making data may take long before Lightning begins the next epoch.
    """

    def __init__(self, tracked: TrackedRun) -> None:
        """The rows of `tracked`."""
        self._tracked = tracked
        self._epoch: int | None = None

    def phase_started(self, name: str, epoch: int, goal: float | None) -> None:
        """End the row if this is another epoch."""
        if self._epoch is not None and epoch > self._epoch:
            self._tracked.flush()
        self._epoch = epoch

    def phase_advanced(self, phase: Phase) -> None:
        """Ignored."""

    def phase_ended(self, phase: Phase) -> None:
        """Ignored."""
