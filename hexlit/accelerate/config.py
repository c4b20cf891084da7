"""The `accelerator` section of the configuration: what a user may ask of the hardware."""

import re
from dataclasses import dataclass

from hexlit.errors import UsageError

DEVICE_FORM = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
TRAINING_PRECISIONS = ("auto", "32-true", "bf16-mixed", "16-mixed")
INFERENCE_PRECISIONS = ("auto", "fp32", "bf16", "fp16")
MATMUL_PRECISIONS = ("highest", "high", "medium")
INFERENCE_PATHS = ("auto", "eager", "fused", "graph", "compile")


@dataclass
class AcceleratorConfig:
    """What is wanted of the hardware; `auto` and null are filled in by `build_profile` for the chosen device.

    Raises:
        UsageError: a value is out of range; the message names the dotted key.
    """

    device: str = "auto"
    """auto (cuda, then mps, then cpu), cpu, cuda, cuda:N or mps."""

    precision: str = "auto"
    """Precision of training: auto, 32-true, bf16-mixed or 16-mixed. Parameters stay fp32 in all of them."""

    inference_precision: str = "auto"
    """Number format of the network in self-play, matches and play: auto, fp32, bf16 or fp16."""

    matmul_precision: str = "high"
    """Inner precision of fp32 products, as `torch.set_float32_matmul_precision` takes it: highest, high or medium."""

    channels_last: bool | None = None
    """Memory layout of images: true is NHWC, false is NCHW, null is what suits the device."""

    compile: bool = False
    """Whether the network is compiled for training; costs up to a minute at the start."""

    inference: str = "auto"
    """How the network is evaluated: auto, eager, fused (CPU), graph (CUDA) or compile."""

    selfplay_games: int | None = None
    """Games of one group that advance in lock step: positions in one network call. Processes that play share them."""

    train_batch: int | None = None
    """Positions in one optimisation step."""

    workers: int | None = None
    """Processes that load data; 0 loads in the main process."""

    pin_memory: bool | None = None
    """Whether host batches are page-locked; only cuda can, null is true on cuda and false elsewhere."""

    threads: int = 0
    """CPU threads of torch and of the search; 0 is all cores this process may use."""

    groups: int | None = None
    """Groups of games that alternate: while one is in the network, the trees of another grow."""

    def __post_init__(self) -> None:
        if not DEVICE_FORM.fullmatch(self.device):
            raise UsageError(f"accelerator.device={self.device}: must be auto, cpu, cuda, cuda:N or mps")
        _one_of("precision", self.precision, TRAINING_PRECISIONS)
        _one_of("inference_precision", self.inference_precision, INFERENCE_PRECISIONS)
        _one_of("matmul_precision", self.matmul_precision, MATMUL_PRECISIONS)
        _one_of("inference", self.inference, INFERENCE_PATHS)
        _at_least("selfplay_games", self.selfplay_games, 1)
        _at_least("train_batch", self.train_batch, 1)
        _at_least("workers", self.workers, 0)
        _at_least("threads", self.threads, 0)
        _at_least("groups", self.groups, 1)


def _one_of(key: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise UsageError(f"accelerator.{key}={value}: must be one of {', '.join(valid)}")


def _at_least(key: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise UsageError(f"accelerator.{key}={value}: must be {least} or more")
