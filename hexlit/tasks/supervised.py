"""The common part of tasks that learn from a table of examples: module, task, checkpoint."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.nets.outside_blocks import BlockError
from hexlit.reporting.page import Section
from hexlit.reporting.run import print_end, print_ending
from hexlit.reporting.run_files import RunFiles
from hexlit.training.checkpoints import checkpoint_file, read_checkpoint, weights_in_use
from hexlit.training.module import TrainedModule
from hexlit.training.task import Session, Task

T = TypeVar("T")


class SupervisedModule(TrainedModule):
    """Learns from batches that are named tuples: `inputs` of the network, then the rest."""

    inputs: ClassVar[int]
    """Number of a batch's tensors that the network takes."""

    def output(self, batch: Any) -> Tensor:
        output: Tensor = self.net_of_mode(*batch[: self.inputs])
        return output


class ShownTask(Task):
    """A task that prints the end of its runs to a console, as its report has it.

    Attributes:
        sections: the task's own sections of the report of a run.
    """

    sections: ClassVar[Callable[[RunFiles], Sequence[Section]]]
    session: Session

    def __init__(self, config: Any, console: Console) -> None:
        """Output goes to `console`."""
        self.config = config
        self.console = console

    def show_summary(self, summary: Mapping[str, Any]) -> None:
        print_end(self.console, summary, self.session.folder, type(self).sections)

    def show_ending(
        self, ending: Mapping[str, Any], figures: Mapping[str, Any], command: str
    ) -> None:
        print_ending(self.console, ending, figures, command)


class SupervisedTask(ShownTask):
    """A task with a test set, which it uses once, at the very end."""

    @abstractmethod
    def test(self) -> Any:
        """The results on the test set, in plain containers."""

    def finish(self) -> Mapping[str, Any]:
        """The results on the test set; trials of a sweep, judged on validation data, have none."""
        return {} if self.session.trial else {"test": self.test()}

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Examples of the splits that training uses."""
        counts = self.summary()["data"][self.unit]
        return {
            "data": {
                f"{split}_{self.unit}": float(counts[split]) for split in ("train", "validation")
            }
        }

    def save_figure(self, name: str, figure: bytes) -> None:
        """Write `figure` to the file `name` in the folder of the run."""
        with replacing(self.session.folder / name) as temporary:
            temporary.write_bytes(figure)


def check_unchanged(was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise `UsageError` if an entry of the data differs from that of the run to continue."""
    changed = [name for name, value in was.items() if now.get(name) != value]
    if changed:
        raise UsageError(
            f"data: {changed[0]} differs from that of the run; keep file and settings to resume"
        )


def load_trained(
    path: Path,
    kind: str,
    make: Callable[[dict[str, Any], dict[str, Tensor]], T],
    key: str = "checkpoint",
) -> T:
    """What `make` builds from a checkpoint's hyperparameters and the state of its network.

    The state has the averaged weights where there are any, on the CPU.

    Args:
        path: the checkpoint, or the folder of a run.
        kind: what it should hold, for messages.
        make: builds the result.
        key: the setting that names `path`, for messages.

    Raises:
        UsageError: it is no checkpoint of a `kind`, or a package that it needs is not installed.
    """
    path = checkpoint_file(path, key)
    saved = read_checkpoint(path, key)
    try:
        return make(saved["hyper_parameters"], weights_in_use(saved["state_dict"]))
    except BlockError as error:
        raise UsageError(f"{key}={path}: {error}") from error
    except Exception as error:  # a foreign file can hold anything
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise UsageError(f"{key}={path}: not a checkpoint of a {kind} ({reason})") from error


@contextmanager
def evaluating(net: nn.Module) -> Iterator[torch.device]:
    """Put `net` in evaluation mode without gradients for a while; yields its device."""
    was_training = net.training
    net.eval()
    with torch.no_grad():
        yield next(net.parameters()).device
    net.train(was_training)


def forward_flops(net: nn.Module, *inputs: Tensor) -> int:
    """Floating-point operations of a forward pass in evaluation.

    It counts products of matrices, including those of attention; a multiplication and the addition
    to its sum are two. Gates, norms, activations and the look-up of embeddings are left out.
    """
    # With gradients torch uses plain products, which the counter knows, instead of one operator per
    # layer.
    with (
        evaluating(net),
        torch.enable_grad(),
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        net(*inputs)
    return int(counter.get_total_flops())
