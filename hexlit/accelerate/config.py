"""The `accelerator` section of the configuration: what a user may ask of the hardware."""

import re
from dataclasses import dataclass

from hexlit.errors import UsageError

DEVICE_FORM = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
TRAINING_PRECISIONS = ("auto", "32-true", "bf16-mixed", "16-mixed")
INFERENCE_PRECISIONS = ("auto", "fp32", "bf16", "fp16")
MATMUL_PRECISIONS = ("highest", "high", "medium")
INFERENCE_PATHS = ("auto", "eager", "fused", "winograd", "graph", "compile", "onnxruntime", "openvino")
COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@dataclass
class AcceleratorConfig:
    """What is wanted of the hardware; `auto` and null are filled in by `build_profile` for the chosen device.

    Raises:
        UsageError: a value is out of range; the message names the dotted key.
    """

    device: str = "auto"
    """auto (cuda, then mps, then cpu), cpu, cuda, cuda:N or mps."""

    devices: int | None = None
    """Devices that train together, each with a process (rank) of its own: cuda's first ones, or parts of the cpu. Null
    is as many as torchrun or srun has started processes, else 1. Each holds the whole network; FSDP is out of scope."""

    precision: str = "auto"
    """Precision of training: auto, 32-true, bf16-mixed or 16-mixed. Parameters stay fp32 in all of them."""

    inference_precision: str = "auto"
    """Number format of the network where it is only evaluated: auto, fp32, bf16 or fp16."""

    matmul_precision: str = "high"
    """Inner precision of fp32 products, as `torch.set_float32_matmul_precision` takes it: highest, high or medium."""

    channels_last: bool | None = None
    """Memory layout of images: true is NHWC, false is NCHW, null is what suits the device."""

    cudnn_benchmark: bool | None = None
    """Whether cuDNN tries its convolutions and keeps the fastest; null is true on cuda unless `deterministic`."""

    deterministic: bool = False
    """Whether cuda takes operators that give the same result twice, more slowly, and warns where it has none; the cpu
    always does."""

    compile: bool = False
    """Whether the network is compiled for training; costs up to a minute at the start."""

    compile_mode: str = "default"
    """Mode of `torch.compile`: default, reduce-overhead, max-autotune or max-autotune-no-cudagraphs."""

    inference: str = "auto"
    """How the network is evaluated: auto, eager, compile, graph (CUDA), or on a CPU fused, winograd (fp32 only),
    onnxruntime or openvino. On a CPU auto is the fastest of the last four; it is measured once, where there is a
    choice, and remembered."""

    train_batch: int | None = None
    """Examples in one optimisation step; null is what the recipe says (`data.batch`), the same on every device."""

    micro_batch: int | None = None
    """Most examples that go through the network at once in training, on each device; the gradients of a step are added
    up over its micro-batches. Null is the whole batch. It halves by itself when the one device runs out of memory."""

    evaluation_batch: int | None = None
    """Examples in one call when the network is only evaluated; null is what suits the device."""

    checkpoint_gradients: bool = False
    """Whether activations are computed again in the backward pass: less memory for about a quarter more time."""

    fused_optimizer: bool | None = None
    """Whether an update is one kernel; null is wherever the optimizer has one."""

    workers: int | None = None
    """Processes that load data; 0 loads in the main process. Null is what suits task and device."""

    prefetch: int | None = None
    """Batches that each loading process prepares ahead; null is 2. Without such processes it means nothing."""

    persistent_workers: bool | None = None
    """Whether loading processes live on between epochs; null is yes, where there are any. Hex, with
    another data set and loader each epoch, refuses it."""

    pin_memory: bool | None = None
    """Whether host batches are page-locked; only cuda can, null is true on cuda and false elsewhere."""

    memory_cap: float | None = None
    """GiB of device memory that torch may take, at most; only cuda and mps can."""

    memory_warning: float = 8000.0
    """MB (10^6 bytes) of host or device memory above which an epoch is warned of."""

    threads: int = 0
    """CPU threads of torch and of whatever else computes; 0 is all cores this process may use."""

    def __post_init__(self) -> None:
        if not DEVICE_FORM.fullmatch(self.device):
            raise UsageError(f"accelerator.device={self.device}: must be auto, cpu, cuda, cuda:N or mps")
        if (self.devices or 1) > 1 and (self.device == "mps" or self.device.startswith("cuda:")):
            raise UsageError(f"accelerator.devices={self.devices}: accelerator.device={self.device} is one device")
        _one_of("precision", self.precision, TRAINING_PRECISIONS)
        _one_of("inference_precision", self.inference_precision, INFERENCE_PRECISIONS)
        _one_of("matmul_precision", self.matmul_precision, MATMUL_PRECISIONS)
        _one_of("inference", self.inference, INFERENCE_PATHS)
        _one_of("compile_mode", self.compile_mode, COMPILE_MODES)
        for key in ("devices", "train_batch", "micro_batch", "evaluation_batch", "prefetch"):
            _at_least(key, getattr(self, key), 1)
        for key in ("workers", "threads"):
            _at_least(key, getattr(self, key), 0)
        for key in ("memory_cap", "memory_warning"):
            value = getattr(self, key)
            if value is not None and not value > 0:
                raise UsageError(f"accelerator.{key}={value}: must be above 0")
        if self.cudnn_benchmark and self.deterministic:
            raise UsageError(
                "accelerator.cudnn_benchmark=true: chooses convolutions by their time, so it excludes "
                "accelerator.deterministic=true; leave one of them out"
            )


@dataclass(frozen=True)
class LoadingDefaults:
    """What a task asks of one type of device, where its user leaves it open."""

    train_batch: int
    """Examples in one optimisation step."""
    evaluation_batch: int
    """Examples in one call when the network is only evaluated."""
    workers: int
    """Processes that load data; there are none inside a notebook."""


def _one_of(key: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise UsageError(f"accelerator.{key}={value}: must be one of {', '.join(valid)}")


def _at_least(key: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise UsageError(f"accelerator.{key}={value}: must be {least} or more")
