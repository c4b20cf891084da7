"""The sections `trainer`, `optimizer` and `logger` of the configuration. Nothing heavy is imported here."""

import math
import re
from dataclasses import dataclass, field
from importlib.util import find_spec

from hexlit.errors import UsageError
from hexlit.tracking.config import WandbConfig as WandbConfig

OPTIMIZERS = ("adamw", "sgd", "adafactor", "adamw_bf16")
LR_SCALINGS = ("none", "linear", "sqrt")
SCHEDULES = ("cosine", "constant")
MONITOR_MODES = ("max", "min")


@dataclass
class OptimizerConfig:
    """How weights are updated."""

    name: str = "adamw"
    """`adamw` (8 bytes of state a parameter), `sgd` (with Nesterov momentum; 4 bytes), `adamw_bf16` (AdamW with moments
    in bfloat16; 4 bytes) or `adafactor` (steps relative to the parameters; hardly any state)."""
    lr: float = 2e-3
    """Learning rate at its highest."""
    lr_scaling: str = "none"
    """How `lr`, meant for `lr_batch` examples a step, is scaled to the batch of the run: `none`, `linear` (by
    batch / lr_batch, Goyal et al. 2017) or `sqrt` (by its square root, which suits adamw; Malladi et al. 2022)."""
    lr_batch: int = 512
    """Examples a step for which `lr` is meant."""
    weight_decay: float = 1e-4
    """Decay of matrices and kernels, L2 for sgd, else decoupled; biases and norms are left out."""
    momentum: float | None = None
    """Momentum of sgd, first beta of adamw and adamw_bf16; None: 0.9. adafactor has none."""
    schedule: str = "cosine"
    """`cosine` falls to `final_lr_share` of `lr` over the run, `constant` stays."""
    final_lr_share: float = 0.05
    """Where the cosine ends, as a share of `lr`."""
    decay_share: float = 1.0
    """Share of the run in which the cosine falls; then the rate stays at `final_lr_share` of `lr`."""
    warmup_steps: int = 100
    """Steps in which the rate rises linearly to `lr`."""

    def __post_init__(self) -> None:
        if self.name not in OPTIMIZERS:
            raise UsageError(f"optimizer.name={self.name}: choose one of {', '.join(OPTIMIZERS)}")
        if self.schedule not in SCHEDULES:
            raise UsageError(f"optimizer.schedule={self.schedule}: choose one of {', '.join(SCHEDULES)}")
        if self.lr_scaling not in LR_SCALINGS:
            raise UsageError(f"optimizer.lr_scaling={self.lr_scaling}: choose one of {', '.join(LR_SCALINGS)}")
        if self.lr_batch < 1:
            raise UsageError(f"optimizer.lr_batch={self.lr_batch}: must be 1 or more")
        if self.lr <= 0 or not math.isfinite(self.lr):
            raise UsageError(f"optimizer.lr={self.lr}: a learning rate is above 0")
        if self.weight_decay < 0:
            raise UsageError(f"optimizer.weight_decay={self.weight_decay}: must be 0 or more")
        if self.momentum is not None and self.name == "adafactor":
            raise UsageError(
                f"optimizer.momentum={self.momentum}: optimizer.name=adafactor has no momentum; leave it out (null), "
                "or choose adamw_bf16"
            )
        if not 0 < self.decay_share <= 1:
            raise UsageError(f"optimizer.decay_share={self.decay_share}: a share above 0, up to 1")
        if not 0 <= (self.momentum or 0) < 1 or not 0 < self.final_lr_share <= 1 or self.warmup_steps < 0:
            raise UsageError(
                f"optimizer: momentum={self.momentum} lies in [0, 1), final_lr_share={self.final_lr_share} in (0, 1], "
                f"warmup_steps={self.warmup_steps} is 0 or more"
            )


@dataclass
class TrainerConfig:
    """How long training goes on, and how its steps are made."""

    max_epochs: int = 40
    """Epochs; for self-play one is self-play, optimisation and evaluation."""
    max_time: str | None = None
    """Time after which no further epoch begins, `hours:minutes:seconds` or `days:hours:minutes:seconds`. None: no
    limit. A resumed run has it anew. A run that will not do all its epochs in it says so after a few of them."""
    max_flops: float | None = None
    """Floating-point operations after which no further epoch begins, such as 1e15: of the training, and of the network
    where it makes its own data. Evaluation and validation do not count. Unlike `max_time` it ends the same run at the
    same epoch on every machine."""
    patience: int | None = None
    """Measured epochs without a better `monitor` after which training ends; the run then goes on with the weights of
    its best epoch, also where it ends for another reason. None: never, and with those of the last."""
    monitor: str = "train.loss"
    """Metric, a column of metrics.csv, by which `patience` and `best.ckpt` tell the best epoch."""
    monitor_mode: str = "min"
    """Whether the highest (`max`) or the lowest (`min`) of it is the best."""
    gradient_clip: float = 5.0
    """Largest norm of the gradient; 0 leaves it as it is."""
    ema_decay: float = 0.0
    """Decay a step of the running average of the weights, with which then is played and measured; 0 keeps none."""

    def __post_init__(self) -> None:
        if self.max_epochs < 1:
            raise UsageError(f"trainer.max_epochs={self.max_epochs}: must be 1 or more")
        if self.max_flops is not None and not 0 < self.max_flops < math.inf:
            raise UsageError(f"trainer.max_flops={self.max_flops}: a number above 0, such as 1e15")
        if self.patience is not None and self.patience < 1:
            raise UsageError(f"trainer.patience={self.patience}: must be 1 or more, or null to never stop early")
        if not self.monitor:
            raise UsageError("trainer.monitor='': name a column of metrics.csv, such as train.loss")
        if self.monitor_mode not in MONITOR_MODES:
            raise UsageError(f"trainer.monitor_mode={self.monitor_mode}: choose {' or '.join(MONITOR_MODES)}")
        if self.gradient_clip < 0:
            raise UsageError(f"trainer.gradient_clip={self.gradient_clip}: must be 0 or more")
        if not 0 <= self.ema_decay < 1:
            raise UsageError(f"trainer.ema_decay={self.ema_decay}: must be at least 0 and below 1, such as 0.99")
        if self.max_time is not None and not re.fullmatch(r"(\d+:)?\d+:\d{1,2}:\d{1,2}", self.max_time):
            raise UsageError(f"trainer.max_time={self.max_time}: write hours:minutes:seconds, such as 00:30:00")

    @property
    def max_seconds(self) -> float | None:
        """`max_time` in seconds."""
        if self.max_time is None:
            return None
        seconds, *larger = (int(part) for part in reversed(self.max_time.split(":")))
        return float(seconds + sum(part * unit for part, unit in zip(larger, (60, 3600, 86400), strict=False)))


@dataclass
class LoggerConfig:
    """Loggers beside `metrics.csv`, which is always written."""

    wandb: WandbConfig = field(default_factory=WandbConfig)
    tensorboard: bool = False
    """Write TensorBoard event files to `tensorboard/` in the run's folder (extra `tensorboard`)."""

    def __post_init__(self) -> None:
        if self.tensorboard and not (find_spec("tensorboard") or find_spec("tensorboardX")):
            raise UsageError('logger.tensorboard=true: needs a package; pip install "hexlit[tensorboard]"')
