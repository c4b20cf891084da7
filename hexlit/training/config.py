"""The sections `trainer`, `optimizer` and `logger` of the configuration. Nothing heavy is imported
here.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from hexlit.errors import UsageError
from hexlit.settings import OPTIMIZER_GROUP, SCHEDULE_GROUP, Settings, install, number, one_of
from hexlit.tracking.config import WandbConfig as WandbConfig

OPTIMIZERS = ("adamw", "sgd", "adafactor", "adamw_bf16")
ELEMENTWISE = ("adamw", "sgd", "adamw_bf16")
"""Those that treat each number alike, so that all parameters may be one tensor."""
TORCH = "torch.optim.NAME"


@dataclass
class OptimizerConfig(Settings, section="optimizer"):
    """How the weights are updated."""

    name: str = one_of((*OPTIMIZERS, TORCH), "adamw", group=OPTIMIZER_GROUP)
    """Optimizer. `adamw`: 8 bytes of state per parameter. `sgd`: with Nesterov momentum, 4 bytes.
    `adamw_bf16`: AdamW with moments in bfloat16, 4 bytes. `adafactor`: steps relative to the
    parameters, hardly any state. Others, such as `torch.optim.Muon`, take `arguments`.
    """
    arguments: dict[str, Any] = field(default_factory=dict)
    """Arguments of an optimizer of torch or of another package, next to its rate and weight decay."""
    parameters: str = one_of(("all", "matrices"), "all")
    """Parameters that such an optimizer updates. `matrices`: weights and kernels, as Muon wants
    them; AdamW updates the others at the same rate.
    """
    lr: float = number(2e-3, "(0, inf)")
    """Learning rate at its highest."""
    lr_scaling: str = one_of(("none", "linear", "sqrt"), "none")
    """Scaling of `lr`, meant for `lr_batch` examples a step, to the batch of the run. `none`,
    `linear` (by batch / lr_batch, Goyal et al. 2017) or `sqrt` (by its square root, which suits
    adamw; Malladi et al. 2022).
    """
    lr_batch: int = number(512, "[1, inf)")
    """Batch size that `lr` is meant for, in examples per step."""
    weight_decay: float = number(1e-4, "[0, inf)")
    """Weight decay of matrices and kernels: L2 for sgd, decoupled otherwise. Biases and norms have
    none.
    """
    momentum: float | None = number(None, "[0, 1)")
    """Momentum of sgd; first beta of adamw and adamw_bf16. None: 0.9. adafactor has none."""
    schedule: str = one_of(("cosine", "constant"), "cosine", group=SCHEDULE_GROUP)
    """Course of the learning rate: `cosine` falls to `final_lr_share` of `lr` over the run,
    `constant` stays.
    """
    final_lr_share: float = number(0.05, "(0, 1]")
    """Learning rate at the end of the cosine, as a share of `lr`."""
    decay_share: float = number(1.0, "(0, 1]")
    """Share of the run during the fall of the cosine; afterwards the rate stays at `final_lr_share`
    of `lr`.
    """
    warmup_steps: int = number(100, "[0, inf)")
    """Length of the linear rise of the learning rate to `lr`, in steps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.momentum is not None and self.name not in ELEMENTWISE:
            raise UsageError(
                f"optimizer.momentum={self.momentum}: optimizer.name={self.name} takes none"
            )
        for name in ("lr", "weight_decay"):
            if name in self.arguments:
                raise UsageError(f"optimizer.arguments.{name}: optimizer.{name} sets it")
        if self.name in OPTIMIZERS and (self.arguments or self.parameters != "all"):
            raise UsageError(
                f"optimizer.arguments, optimizer.parameters: optimizer.name={self.name} takes none"
            )


@dataclass
class TrainerConfig(Settings, section="trainer"):
    """Length of the training, and how its steps are made."""

    max_epochs: int = number(40, "[1, inf)")
    """Number of epochs. An epoch of self-play is self-play, optimisation and evaluation."""
    max_time: str | None = None
    """Time limit of a run, `hours:minutes:seconds` or `days:hours:minutes:seconds`: no epoch begins
    after it. A resumed run gets the full time again. A run that cannot finish all its epochs says
    so early. None: no limit.
    """
    max_flops: float | None = number(None, "(0, inf)")
    """Limit of floating-point operations, such as 1e15: no epoch begins after it. Training counts,
    and also the network's work when it makes its own data. Evaluation and validation do not count.
    Unlike `max_time` it ends the same run at the same epoch on every machine.
    """
    patience: int | None = number(None, "[1, inf)")
    """Measured epochs without a better `monitor` before training ends. The run then ends with the
    weights of its best epoch, also if it ends for another reason. None: never stop early, and keep
    the weights of the last epoch.
    """
    monitor: str = "train.loss"
    """Metric, a column of metrics.csv, that decides the best epoch for `patience` and
    `best.ckpt`.
    """
    monitor_mode: str = one_of(("max", "min"), "min")
    """Whether the highest (`max`) or the lowest (`min`) value of `monitor` is the best."""
    gradient_clip_val: float = number(5.0, "[0, inf)")
    """Largest norm of the gradient; larger ones are scaled down to it. 0: no clipping."""
    limit_train_batches: float | None = number(None, "(0, inf)")
    """Steps of an epoch at most: a number, or a share below 1. None: all."""
    limit_val_batches: float | None = number(None, "[0, inf)")
    """Batches of a validation at most, likewise."""
    fast_dev_run: bool = False
    """Whether to try the run: one epoch of one step, validated on one batch."""
    profiler: str | None = one_of(("simple", "advanced", "pytorch"), None)
    """Profiler of Lightning; its table is `fit-profile.txt` in the run's folder."""
    detect_anomaly: bool = False
    """Whether a backward pass that makes NaN ends the run with the operation's place; slow."""
    ema_decay: float = number(0.0, "[0, 1)")
    """Decay per step of the averaged weights (EMA), used for play and evaluation. 0: no average."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fast_dev_run:
            self.max_epochs = 1
            self.limit_train_batches = self.limit_val_batches = 1
        for name in ("limit_train_batches", "limit_val_batches"):
            limit = getattr(self, name)
            if limit is not None and limit > 1 and limit % 1:
                raise UsageError(f"trainer.{name}={limit}: a whole number, or a share below 1")
        if self.max_time is not None and not re.fullmatch(
            r"(\d+:)?\d+:\d{1,2}:\d{1,2}", self.max_time
        ):
            raise UsageError(
                f"trainer.max_time={self.max_time}: write hours:minutes:seconds, such as 00:30:00"
            )

    @property
    def max_seconds(self) -> float | None:
        """`max_time` in seconds."""
        if self.max_time is None:
            return None
        seconds, *larger = (int(part) for part in reversed(self.max_time.split(":")))
        return float(
            seconds
            + sum(part * unit for part, unit in zip(larger, (60, 3600, 86400), strict=False))
        )


_HARDWARE = "the section accelerator sets it"
_LENGTH = "a run is measured in epochs; trainer.max_epochs, max_time and max_flops end it"
_EPOCHS = "a run logs and validates once an epoch"
NOT_TAKEN = {
    **dict.fromkeys(("accelerator", "devices", "precision", "strategy", "num_nodes"), _HARDWARE),
    **dict.fromkeys(("deterministic", "benchmark", "sync_batchnorm"), _HARDWARE),
    **dict.fromkeys(("max_steps", "min_steps", "min_epochs"), _LENGTH),
    **dict.fromkeys(("log_every_n_steps", "num_sanity_val_steps"), _EPOCHS),
    **dict.fromkeys(("val_check_interval", "check_val_every_n_epoch"), _EPOCHS),
    "accumulate_grad_batches": "data.batch is a whole step, accelerator.micro_batch divides it",
    "gradient_clip_algorithm": "gradients are clipped by their norm",
    "overfit_batches": "trainer.limit_train_batches limits an epoch",
    "callbacks": "+callbacks.NAME._target_=package.Class adds one",
    "logger": "the section logger chooses them",
    "default_root_dir": "hydra.run.dir is the folder of a run",
}
"""Arguments of Lightning's Trainer that a run does not take, and why."""


@dataclass
class LoggerConfig(Settings, section="logger"):
    """Loggers in addition to `metrics.csv`, which is always written."""

    wandb: WandbConfig = field(default_factory=WandbConfig)
    tensorboard: bool = False
    """Whether to write TensorBoard event files to `tensorboard/` in the run's folder (extra
    `tensorboard`).
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tensorboard and not (find_spec("tensorboard") or find_spec("tensorboardX")):
            raise UsageError(f"logger.tensorboard=true: needs a package; {install('tensorboard')}")


@dataclass(frozen=True)
class RunOptions:
    """What the caller of a run adds to its settings."""

    started: float = field(default_factory=time.monotonic)
    """Time on `time.monotonic()` from which the run counts its time."""
    callbacks: Sequence[Any] = ()
    """Callbacks of Lightning; they come after those of the run, before its checkpoints."""
    run_name: str | None = None
    """Name for the loggers; None: made of the configuration's name and the folder's."""
    trial: bool = False
    """Whether it is a trial of a sweep; see `hexlit.training.task.Session`."""
    given_up: Callable[[], bool] = lambda: False
    """Whether the result does not matter, as of a pruned trial: then it is not measured again after
    the last epoch.
    """
    saved: Callable[[], None] = lambda: None
    """Called after each epoch whose checkpoints have been written and checked."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """They describe the run on Weights & Biases, in addition to its configuration."""
    tags: Sequence[str] = ()
