"""A whole training step as one CUDA graph: gradients, clipping, the update and the running average.

A step launches some hundred small kernels, which takes Python longer than a card needs for them. A
graph launches all of them at once. What differs between steps lies in tensors that the graph reads:
the batch and the learning rate.
"""

import logging
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import lightning as L
import torch
from torch import Tensor

from hexlit.accelerate.memory import is_out_of_memory, release
from hexlit.training.batches import tensors_like, tensors_of

log = logging.getLogger(__name__)

WARM_UP = 3
"""Steps with a batch of new shapes before it is captured: libraries take their memory, and the
running average begins.
"""
MOST_GRAPHS = 16
"""Most shapes of a batch that are captured; each graph keeps memory of its own."""
GRAPH_MODES = ("reduce-overhead", "max-autotune")
"""Modes of `torch.compile` that make graphs of their own."""
HOOKS = (
    *("on_before_backward", "on_after_backward", "on_before_optimizer_step"),
    "on_before_zero_grad",
)
"""Hooks of callbacks within a step, which no graph calls."""

Work = Callable[[], dict[str, Tensor]]
Capture = Callable[[Work], tuple[dict[str, Tensor], Callable[[], None]]]
"""Does the work once, and returns its result with a function that does it again: on the same
tensors, into the same result.
"""


class CudaGraphs:
    """Captures work on a card as graphs, whose memory they share."""

    def __init__(self, device: torch.device) -> None:
        """Graphs of `device`."""
        self._stream: Any = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()

    def warm_up(self, work: Work) -> dict[str, Tensor]:
        """Do the work on the stream of the captures."""
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            result = work()
        current.wait_stream(self._stream)
        return result

    def capture(self, work: Work) -> tuple[dict[str, Tensor], Callable[[], None]]:
        """See `Capture`."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(
            graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
        ):
            result = work()
        graph.replay()
        return result, graph.replay


@dataclass
class _Captured:
    """A captured step, and the tensors that it reads and writes."""

    batch: Any
    rates: list[Tensor]
    """Learning rate of each group of the optimizer, `[]`."""
    losses: dict[str, Tensor]
    again: Callable[[], None]


class CapturedStep:
    """Steps of a module, captured once per shape of the batch and replayed afterwards.

    Whatever cannot be captured is computed as usual from then on, with one warning.
    """

    def __init__(
        self, module: Any, warm_up: Callable[[Work], dict[str, Tensor]], capture: Capture
    ) -> None:
        """Steps of `module`, a `hexlit.training.module.TrainedModule`."""
        self._module = module
        self._warm_up = warm_up
        self._capture = capture
        self._captured: dict[Hashable, _Captured] = {}
        self._steps: Counter[Hashable] = Counter()
        self._failed = False

    def step(self, batch: Any) -> dict[str, Tensor]:
        """Update the weights with one batch; returns its losses."""
        module = self._module
        shapes = [(tensor.shape, tensor.dtype) for tensor in tensors_of(batch)]
        key = (*shapes, module.micro_batch, module.whole)
        known = self._captured.get(key)
        if known is not None:
            return self._replay(known, batch)
        self._steps[key] += 1
        if self._failed or len(self._captured) == MOST_GRAPHS:
            return self._usual(batch)
        if self._steps[key] <= WARM_UP:
            return self._warm_up(lambda: self._usual(batch))
        try:
            self._captured[key] = known = self._record(batch)
        except Exception as error:  # a driver may refuse for any reason
            self._failed = True
            self._captured.clear()
            release(module.device)
            if not is_out_of_memory(error):
                reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
                log.warning("steps are not captured as graphs of cuda (%s)", reason)
            return self._usual(batch)
        return {name: value.clone() for name, value in known.losses.items()}

    def _usual(self, batch: Any) -> dict[str, Tensor]:
        losses: dict[str, Tensor] = self._module.whole_step(batch)
        return losses

    def _record(self, batch: Any) -> _Captured:
        """Do the step of `batch` and capture it."""
        module = self._module
        copies = tensors_like(batch, [tensor.clone() for tensor in tensors_of(batch)])
        groups = module.inner_optimizer().param_groups
        numbers = [group["lr"] for group in groups]
        rates = [torch.tensor(number, device=module.device) for number in numbers]
        module.clock.pause()
        try:
            for group, rate in zip(groups, rates, strict=True):
                group.update(lr=rate, capturable=True)
            losses, again = self._capture(lambda: module.tensor_step(copies))
        finally:
            for group, number in zip(groups, numbers, strict=True):
                group.update(lr=number, capturable=False)
            module.clock.go_on()
        module.count_step()
        return _Captured(copies, rates, losses, again)

    def _replay(self, captured: _Captured, batch: Any) -> dict[str, Tensor]:
        for own, new in zip(tensors_of(captured.batch), tensors_of(batch), strict=True):
            own.copy_(new)
        groups = self._module.inner_optimizer().param_groups
        for rate, group in zip(captured.rates, groups, strict=True):
            rate.fill_(group["lr"])
        captured.again()
        self._module.count_step()
        return {name: value.clone() for name, value in captured.losses.items()}


def captured_step(module: Any) -> CapturedStep | None:
    """The captured steps of `module`; None where they are computed as usual."""
    if not may_capture(module):
        return None
    graphs = CudaGraphs(module.profile.device)
    return CapturedStep(module, graphs.warm_up, graphs.capture)


def may_capture(module: Any) -> bool:
    """Whether the steps of `module` ask nothing of Python: those of one card, by optimizers,
    callbacks and settings that allow it.
    """
    profile = module.profile
    config = profile.config
    if not config.graphs or profile.device.type != "cuda" or module.ranks.several:
        return False
    optimizer = module.inner_optimizer()
    if type(optimizer) is not torch.optim.AdamW or not optimizer.defaults["fused"]:
        return False
    scales = getattr(module.trainer.precision_plugin, "scaler", None) is not None
    compiles_graphs = profile.compile and config.compile_mode in GRAPH_MODES
    if scales or compiles_graphs or config.checkpoint_gradients:
        return False
    for callback in module.trainer.callbacks:
        for hook in HOOKS:
            if getattr(type(callback), hook) is not getattr(L.Callback, hook):
                return False
    return True
