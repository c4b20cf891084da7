"""The `accelerator` section of the configuration: a user's choices for the hardware."""

from dataclasses import dataclass

from hexlit.errors import UsageError
from hexlit.settings import Settings, number, one_of

DEVICES = ("auto", "cpu", "cuda", "cuda:N", "mps")
COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@dataclass
class AcceleratorConfig(Settings, section="accelerator"):
    """Choices for the hardware; `build_profile` replaces `auto` and null by values for the chosen
    device.

    Raises:
        UsageError: a value is out of range; the message names the dotted key.
    """

    device: str = one_of(DEVICES, "auto")
    """Device. auto takes the first one that is there: cuda, mps or cpu. The training of a small
    Hex network takes the faster one, measured once.
    """

    devices: int | None = number(None, "[1, inf)")
    """Number of devices that train together, each with a process (rank) of its own: cuda's first
    ones, or parts of the cpu. Null: the number of processes that torchrun or srun has started, else
    1. Each holds the whole network; FSDP is out of scope.
    """

    precision: str = one_of(("auto", "32-true", "bf16-mixed", "16-mixed"), "auto")
    """Precision of training. Parameters stay fp32 in all of them."""

    inference_precision: str = one_of(("auto", "fp32", "bf16", "fp16"), "auto")
    """Number format of evaluating the network. `auto`: the device's faster one; on a cpu also
    float32 by `winograd`, where that measures faster.
    """

    matmul_precision: str = one_of(("highest", "high", "medium"), "high")
    """Inner precision of fp32 products, as in `torch.set_float32_matmul_precision`."""

    channels_last: bool | None = None
    """Whether images are laid out NHWC (true) or NCHW (false). Null: the device's better one."""

    deterministic: bool = False
    """Whether cuda uses operators with repeatable results, which are slower; it warns where there
    is none. The cpu always does.
    """

    compile: bool = False
    """Whether to compile the network for training; takes up to a minute at the start."""

    compile_mode: str = one_of(COMPILE_MODES, "default")
    """Mode of `torch.compile`."""

    graphs: bool = False
    """Whether one card computes a training step as a CUDA graph, where it can: with adamw, without
    float16 and recomputed activations. Off, since it has been tested on a CPU alone.
    """

    inference: str = one_of(
        ("auto", "eager", "fused", "winograd", "graph", "cudnn", "compile"), "auto"
    )
    """Backend for evaluating the network: auto, eager, compile; on CUDA also graph, and cudnn, a
    graph of cuDNN's fused operators; on a CPU also fused and winograd (fp32 only), of which auto
    takes the faster one, measured once and remembered.
    """

    train_batch: int | None = number(None, "[1, inf)")
    """Examples in one optimisation step. Null: the recipe's `data.batch`, alike on all devices."""

    micro_batch: int | None = number(None, "[1, inf)")
    """Most examples that go through the network at once in training, on each device. The gradients
    of a step are added up over its micro-batches. It halves by itself when a single device runs out
    of memory. Null: the whole batch.
    """

    evaluation_batch: int | None = number(None, "[1, inf)")
    """Examples in one call when the network is only evaluated. Null: the device's default."""

    checkpoint_gradients: bool = False
    """Whether to compute activations again in the backward pass: less memory, a quarter more
    time.
    """

    workers: int | None = number(None, "[0, inf)")
    """Processes that load data; 0: the main process loads. Null: the default of task and device."""

    prefetch: int | None = number(None, "[1, inf)")
    """Batches that each loading process prepares ahead. Null: 2."""

    memory_cap: float | None = number(None, "(0, inf)", unit="GiB")
    """Most device memory that torch may take, in GiB; of cuda and mps. Null: no limit."""

    memory_warning: float = number(8000.0, "(0, inf)", unit="MB")
    """Memory of host or device, in MB (10^6 bytes), above which an epoch gets a warning."""

    rank_timeout: float = number(30.0, "(0, inf)", unit="minutes")
    """Longest wait of a rank for another one, in minutes; the first rank evaluates alone while the
    others wait. A host that has fallen silent ends the run after this time.
    """

    threads: int = number(0, "[0, inf)")
    """CPU threads of torch and of all other computations. 0: all cores that this process may use,
    for the steps of training as many of them as are fastest, measured once.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.devices or 1) > 1 and (self.device == "mps" or self.device.startswith("cuda:")):
            raise UsageError(
                f"accelerator.devices={self.devices}: accelerator.device={self.device} is one device"
            )


@dataclass(frozen=True)
class LoadingDefaults:
    """A task's defaults for one type of device, used where the user leaves them open."""

    train_batch: int
    """Examples in one optimisation step."""
    evaluation_batch: int
    """Examples in one call when the network is only evaluated."""
    workers: int
    """Number of processes that load data; there are none inside a notebook."""
