"""Backends for a network of fixed batch and board size: on the host, or on a device with one copy
each way.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol

import torch
from torch import Tensor, nn

from hexlit.accelerate.device import as_current
from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.nets.blocks import ConvNorm
from hexlit.nets.tower import HexNet, build_net, masked_logits, state_for_play


def folded_twin(
    net: HexNet, device: torch.device, dtype: torch.dtype, channels_last: bool
) -> HexNet:
    """A network on `device` in `dtype` that answers as `net` does in evaluation. `net` is not
    changed.

    Only batch norm of a `ConvNorm` is folded; that of another package's block stays.
    """
    twin = build_net(net.config).eval().requires_grad_(False)
    for layer in twin.modules():
        if isinstance(layer, ConvNorm):
            layer.conv.bias = nn.Parameter(
                torch.zeros(layer.conv.out_channels), requires_grad=False
            )
            layer.norm = nn.Identity()  # type: ignore[assignment]
    twin.to(device, dtype)
    if channels_last:
        twin.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    copy_folded(net, twin)
    return twin


def copy_folded(net: HexNet, twin: HexNet) -> None:
    """Copy the current weights and buffers of `net` into its `twin`.

    This is in place, so that a captured or compiled twin stays valid.
    """
    state: dict[str, Tensor] = state_for_play(net.state_dict())
    for name, layer in net.named_modules():
        if isinstance(layer, ConvNorm) and f"{name}.conv.weight" in state:
            for norms in layer.norm.state_dict():
                del state[f"{name}.norm.{norms}"]
            state[f"{name}.conv.weight"], state[f"{name}.conv.bias"] = layer.folded()
    twin.load_state_dict(state)


Planes = Int8Array
Floats = FloatArray
Run = Callable[[Planes, Floats, Floats], None]


class Forward(Protocol):
    """A network ready for evaluation."""

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """int8 `[B, 5, n, n]` → policy logits `[B, n*n + 1]` and value logits `[B]`."""

    def refresh(self, net: HexNet) -> None:
        """Use the current weights of `net` from now on."""


class TwinForward:
    """The folded network by torch's own operators, compiled if `compile_mode` names a mode of
    `torch.compile`.
    """

    def __init__(
        self,
        net: HexNet,
        device: torch.device,
        dtype: torch.dtype,
        channels_last: bool,
        compile_mode: str = "",
    ) -> None:
        self.dtype = dtype
        self.layout = torch.channels_last if channels_last else torch.contiguous_format
        self.twin = folded_twin(net, device, dtype, channels_last)
        if compile_mode:
            self.twin.compile(mode=compile_mode, dynamic=False)

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """As `Forward`."""
        output = self.twin(planes.to(self.dtype).contiguous(memory_format=self.layout))
        return output.policy_logits, output.value_logit

    def refresh(self, net: HexNet) -> None:
        """Copy in place, so that a compiled or captured twin stays valid."""
        copy_folded(net, self.twin)


class HostRun:
    """Evaluates in the host's memory and writes straight into the caller's arrays."""

    def __init__(self, forward: Forward) -> None:
        self.forward = forward

    def __call__(self, planes: Planes, policy: Floats, value: Floats) -> None:
        """As `NetworkEvaluator.evaluate`."""
        seen = torch.from_numpy(planes)
        logits, value_logit = self.forward(seen)
        logits = masked_logits(logits[:, : policy.shape[1]], seen)
        torch.softmax(logits, 1, out=torch.from_numpy(policy))
        torch.tanh(value_logit.float(), out=torch.from_numpy(value))


class DeviceRun:
    """Evaluates on a device: one copy of int8 planes to it, and one copy of policy and value,
    concatenated, back.

    On cuda the host buffers are page-locked, and every evaluator has its own stream, so that groups
    of games overlap. With `graph` the whole evaluation is captured once and replayed as one CUDA
    graph. More positions than `shape` has are evaluated in several turns.
    """

    def __init__(
        self,
        forward: Forward,
        device: torch.device,
        shape: tuple[int, int, int, int],
        actions: int,
        graph: bool,
    ) -> None:
        self.forward = forward
        self.device = device
        self.actions = actions
        cuda = device.type == "cuda"
        with as_current(device):
            self.host_in = torch.zeros(shape, dtype=torch.int8, pin_memory=cuda)
            self.host_out = torch.zeros((shape[0], actions + 1), pin_memory=cuda)
            self.planes = torch.zeros(shape, dtype=torch.int8, device=device)
            self.packed = torch.zeros((shape[0], actions + 1), device=device)
            self.stream = torch.cuda.Stream(device) if cuda else None  # type: ignore[no-untyped-call]
            if self.stream is not None:
                self.stream.wait_stream(torch.cuda.current_stream(device))
            self.step = self._captured() if graph else self._step

    def __call__(self, planes: Planes, policy: Floats, value: Floats) -> None:
        """As `NetworkEvaluator.evaluate`; returns when the results are there."""
        rows = len(self.host_in)
        with as_current(self.device):
            for first in range(0, len(planes), rows):
                part = slice(first, first + rows)
                self._evaluate(planes[part], policy[part], value[part])

    def _evaluate(self, planes: Planes, policy: Floats, value: Floats) -> None:
        count, stream = len(planes), self.stream
        self.host_in.numpy()[:count] = planes
        with nullcontext() if stream is None else torch.cuda.stream(stream):
            self.planes.copy_(self.host_in, non_blocking=stream is not None)
            self.step()
            self.host_out.copy_(self.packed, non_blocking=stream is not None)
        if stream is not None:
            stream.synchronize()
        packed = self.host_out.numpy()[:count]
        policy[...] = packed[:, : self.actions]
        value[...] = packed[:, self.actions]

    def _step(self) -> None:
        logits, value_logit = self.forward(self.planes)
        logits = masked_logits(logits[:, : self.actions], self.planes)
        self.packed[:, : self.actions] = torch.softmax(logits, 1)
        self.packed[:, self.actions] = torch.tanh(value_logit.float())

    def _captured(self) -> Callable[[], None]:
        assert self.stream is not None
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self._step()
        self.stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
            self._step()
        return graph.replay
