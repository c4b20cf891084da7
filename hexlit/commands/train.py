"""`hexlit train`: from nothing, or from recorded games, to a network that plays, and the proof of how well it does."""

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.config import EvaluationConfig
from hexlit.commands.application import MISTAKE, register_schema, run, typed
from hexlit.commands.run_folder import SavedSettings, resumed_arguments, resumed_folder
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.search.config import SearchConfig
from hexlit.selfplay.config import SelfPlayConfig, check_search
from hexlit.tasks.hex.config import DataConfig
from hexlit.training.config import LoggerConfig, OptimizerConfig, TrainerConfig
from hexlit.tuning import plugin
from hexlit.tuning.config import SweepConfig
from hexlit.tuning.space import quoted

LARGEST_BOARD = 19


@dataclass
class TrainConfig:
    """What `hexlit train` takes."""

    name: str = "hex5"
    """Name of the recipe: the folder of its runs."""
    task: str = "hex"
    """What is learned; so far `hex`."""
    board: int = 5
    """Size of the board, 2 to 19."""
    swap: bool = False
    """Whether White may answer the first move by swap-pieces."""
    seed: int = 1
    """The one seed: of the weights, the games and the order of the batches."""
    resume: str | None = None
    """Folder of an interrupted run to go on with."""
    best: str | None = None
    """Folder of a sweep whose best trial's settings are taken; those of the command line win."""
    init_from: str | None = None
    """Checkpoint, or folder of a run, whose network a new run begins with instead of random weights."""
    policy_weight: float = 1.0
    """Weight of the policy loss in the loss that is minimised."""
    value_weight: float = 1.0
    """Weight of the value loss in it."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    net: NetConfig = field(default_factory=NetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    sweep: SweepConfig = field(default_factory=SweepConfig)

    def __post_init__(self) -> None:
        """Refuse what no part can check alone."""
        if self.task != "hex":
            raise UsageError(f"task={self.task}: choose hex")
        if not 2 <= self.board <= LARGEST_BOARD:
            raise UsageError(f"board={self.board}: networks and search take boards of 2 to {LARGEST_BOARD} rows")
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"seed={self.seed}: a whole number from 0 to 2^32 - 1")
        check_search(self.search)
        for name in ("policy_weight", "value_weight"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{name}={getattr(self, name)}: must be 0 or more")
        if self.policy_weight == self.value_weight == 0:
            raise UsageError("policy_weight=0 and value_weight=0: nothing would be learned; give one of them a weight")
        if not self.name or not all(c.isalnum() or c in "-_." for c in self.name):
            raise UsageError(f"name={self.name!r}: letters, digits, '-', '_' and '.' only, since a folder is named so")
        self._check_monitor()

    def _check_monitor(self) -> None:
        """What is watched must be measured; the run itself would find out only in its last epoch."""
        monitor = self.trainer.monitor
        if monitor.startswith("val.") and self.data.source != "games":
            raise UsageError(
                f"trainer.monitor={monitor}: only data=games is validated; with self-play choose strength.score, or "
                "train.loss with trainer.monitor_mode=min"
            )
        if monitor.startswith("strength.") and not self.evaluation.every_epochs:
            loss = "val.loss" if self.data.source == "games" else "train.loss"
            raise UsageError(
                f"trainer.monitor={monitor}: evaluation.every_epochs=0 measures no strength; measure it, or choose "
                f"trainer.monitor={loss} trainer.monitor_mode=min"
            )


register_schema("train", TrainConfig)
plugin.register()


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    folder = resumed_folder(argv)
    saved = SavedSettings(folder)
    trained = when_trained(folder)
    code = run(train, "train", argv, prepare=lambda arguments: resumed_arguments(best_arguments(arguments)))
    if code == MISTAKE and when_trained(folder) == trained:
        saved.restore()
    return code


def when_trained(folder: Path | None) -> int | None:
    """The time of the latest checkpoint of the run in `folder`; None where there is none."""
    path = None if folder is None else folder / "checkpoints" / "last.ckpt"
    return path.stat().st_mtime_ns if path is not None and path.exists() else None


def best_arguments(argv: list[str]) -> list[str]:
    """`argv`, or, where it says `+best=FOLDER`, the overrides of the best trial of that sweep, then those of `argv`."""
    named = [argument for argument in argv if argument.startswith(("+best=", "best="))]
    value = named[-1].partition("=")[2].strip("'\"") if named else ""
    if value in ("", "null"):
        return argv
    path = Path(value).resolve()
    path = path if path.suffix == ".yaml" else path / "best.yaml"
    try:
        found = OmegaConf.to_container(OmegaConf.load(path))
        overrides = [str(override) for override in found["overrides"]]  # type: ignore[index,call-overload]
    except FileNotFoundError:
        raise UsageError(f"best={value}: no sweep with a best trial ({path} is not there)") from None
    except Exception as error:  # a torn file can make the parser raise anything
        raise UsageError(f"best={value}: {path} does not name a trial's overrides ({type(error).__name__})") from error
    own = [argument for argument in argv if argument not in named]
    keys = {argument.lstrip("+").partition("=")[0] for argument in own}
    taken = [override for override in overrides if override.lstrip("+").partition("=")[0] not in keys]
    return [*taken, *own, f"best={quoted(str(path.parent))}"]


def train(config: DictConfig) -> Any:
    """Train as the composed configuration says; in a sweep the value(s) of the trial are returned."""
    began = time.monotonic()
    settings = typed(config, TrainConfig)
    from hydra.core.hydra_config import HydraConfig

    from hexlit.tuning.ticket import ticket_of

    folder = Path(HydraConfig.get().runtime.output_dir)
    ticket = ticket_of(os.environ)
    if ticket is not None:
        from hexlit.commands.trial_training import train_trial

        return train_trial(settings, folder, ticket)
    chosen = HydraConfig.get().runtime.choices.get("sweep", "none")
    if settings.resume is None and (chosen != "none" or settings.sweep.resume):
        what = f"sweep={chosen}" if chosen != "none" else "sweep.resume=true"
        raise UsageError(f"{what}: a sweep is run by hexlit train --multirun with hydra/sweeper=optuna")
    say_hello(settings, folder)
    with terminated_as_interrupted():
        from hexlit.commands.compiling import Compiling

        first = Compiling(sets_to_begin(settings))  # beside the import of torch
        from hexlit.commands.hex_training import train_hex

        train_hex(settings, folder, started=began, compiling=first)
    return None


def say_hello(settings: TrainConfig, folder: Path) -> None:
    """Print the first line of a run, before imports that take seconds."""
    verb = "begins" if settings.resume is None else "goes on"
    board = f"{settings.board}×{settings.board}"
    print(
        f"hexlit train · {settings.name} · {board} · {verb} in {os.path.relpath(folder)}; loading PyTorch", flush=True
    )


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, by which batch systems end what runs, ends a run as Ctrl-C does: its last lines are printed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def accelerator_of(settings: TrainConfig) -> AcceleratorConfig:
    """What the run asks of the hardware; its examples a step are the recipe's, unless the hardware's section says."""
    asked = settings.accelerator
    return replace(asked, train_batch=settings.data.batch if asked.train_batch is None else asked.train_batch)


def sets_to_begin(settings: TrainConfig) -> list[str]:
    """The kernels that a run needs before it begins, by the names in `hexlit.commands.kernels`."""
    return ["selfplay"] if settings.data.source == "selfplay" else []


def sets_to_measure(settings: TrainConfig) -> list[str]:
    """The kernels that its first evaluation needs besides."""
    from hexlit.hex.openings import SOLVED

    if not settings.evaluation.every_epochs:
        return []
    return ["search", "solver", "positions"] if settings.board in SOLVED else ["search"]
