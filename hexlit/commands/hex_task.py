"""What the task `hex` gets from above: its kernels,
compiled beside other work, and its measure by the exact truth.
"""

from collections.abc import Callable, Mapping
from typing import Any

import lightning as L
from rich.console import Console

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.arena.strength import Strength, evaluation_batch, proof_of
from hexlit.commands.kernels import BESIDE, Beginning, Compiling
from hexlit.files import cache_folder
from hexlit.hex.openings import SOLVED
from hexlit.search.evaluator import Evaluator
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.task import HexTask
from hexlit.training.phases import Phase, PhaseClock


def make(config: HexTrainConfig, console: Console, begun: Beginning) -> HexTask:
    """The task; its first kernels and its players are `begun`."""
    return HexTask(config, console, MeasuredStrength(config, begun))


class MeasuredStrength:
    """Strength by solved positions, and the kernels: of self-play first, of evaluation beside them
    and the first epoch.

    The first rank alone needs those of evaluation.
    """

    def __init__(self, config: HexTrainConfig, first: Beginning) -> None:
        """`first` is compiling the kernels of self-play, and has started its players."""
        self._config = config
        self._first, self.players = first, first.players
        self._later = Compiling([])
        self._waited, own = 0.0, config.evaluation
        if own.every_epochs and ranks().writes:
            counts = f"{own.positions} {own.quick_positions} {own.game_positions} {own.seed}"
            solved = (
                ["solver", f"positions {config.board} {counts}"] if config.board in SOLVED else []
            )
            self._later = Compiling(["search", *solved], niceness=BESIDE)

    def begin(self, phase: Phase) -> None:
        self._first.wait(shown_in(phase))

    def set_up(self, profile: DeviceProfile) -> int:
        config, own, cache = self._config, self._config.evaluation, cache_folder() / "truth"
        batch = evaluation_batch(own, config.board, profile.evaluation_batch)
        self._strength = Strength(
            own, config.search, size=config.board, swap=config.swap, batch=batch, cache=cache
        )
        return batch

    def least(self) -> Mapping[str, float] | None:
        return proof_of(self._config.evaluation, self._config.board)

    def measure(self, evaluator: Evaluator, *, final: bool) -> Mapping[str, Any]:
        return self._strength.measure(evaluator, final=final)

    def callback(self, clock: PhaseClock, is_due: Callable[[L.Trainer], bool]) -> L.Callback:
        """Before the first evaluation it waits,
        as the phase `compiling`, for kernels that are not ready.
        """

        def wait(trainer: L.Trainer, module: L.LightningModule) -> None:
            if self._later.running and is_due(trainer):
                with clock.phase("compiling", trainer.current_epoch) as phase:
                    self._later.wait(shown_in(phase))
                    self._waited = phase.wall_seconds

        return L.pytorch.callbacks.LambdaCallback(on_train_epoch_end=wait)

    def summary(self) -> dict[str, float]:
        """Seconds of compiling before and during the first epoch, and of waiting for the latter."""
        first, beside = self._first.seconds, self._later.seconds
        return {"first_seconds": first, "beside_seconds": beside, "waited_seconds": self._waited}

    def close(self) -> None:
        self._first.close()
        self._later.close()


def shown_in(phase: Phase) -> Callable[[str], None]:
    """Says in `phase` what is compiled."""

    def advance(what: str) -> None:
        phase.detail = what
        phase.advance(0)

    return advance
