"""The network by OpenVINO on a CPU, in float32 or bfloat16. Optional: the extra `openvino`."""

import openvino
import torch
from openvino import Node, Type, opset13
from torch import Tensor

from hexlit.hex.encoding import PLANES
from hexlit.nets.graph import Array, write_network
from hexlit.nets.tower import HexNet

PRECISIONS = {torch.float32: "f32", torch.bfloat16: "bf16"}

ACTIVATIONS = {"relu": opset13.relu, "silu": opset13.swish, "mish": opset13.mish, "sigmoid": opset13.sigmoid}

LEAKY_SLOPE = 0.01
"""As in `torch.nn.LeakyReLU`."""

CORE = openvino.Core()
"""One core for the whole process, never released.

The CPU plugin of each core sets a stack for signal handlers (`SigAltStackSetup` in OpenVINO) and unmaps it when it is
released. Two cores released in the order they were made, or one released by another thread, leave a thread with a
stack that is gone. The next signal with a handler, such as Ctrl-C or the end of a child, then kills the process.
"""


class OpenVinoForward:
    """The network as a compiled model of OpenVINO, which lays out the weights for this processor.

    Args:
        net: the network; a snapshot is taken.
        dtype: float32 or bfloat16.
        size: board size n.
        batch: positions B in a call.
        threads: CPU threads of a call.

    Raises:
        RuntimeError: this network or this OpenVINO does not support it.
    """

    def __init__(self, net: HexNet, dtype: torch.dtype, size: int, batch: int, threads: int) -> None:
        if dtype not in PRECISIONS:
            raise RuntimeError(f"it computes in float32 or bfloat16, not in {str(dtype).removeprefix('torch.')}")
        self.size = size
        self.batch = batch
        self.settings = {
            "INFERENCE_PRECISION_HINT": PRECISIONS[dtype],
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            # Every process would take the first cores.
            "ENABLE_CPU_PINNING": False,
        }
        self.request = self._build(net)

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """As `Forward`; the next call overwrites the result."""
        found = self.request.infer([planes.numpy()], share_inputs=True, share_outputs=True)
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])[:, 0]

    def refresh(self, net: HexNet) -> None:
        """Compile again: tens of milliseconds."""
        self.request = self._build(net)

    def _build(self, net: HexNet) -> openvino.InferRequest:
        operators = _OpenVinoOperators(self.batch, self.size)
        policy, value = write_network(net, self.size, operators)
        model = openvino.Model([policy, value], [operators.parameter], "hexlit")
        return CORE.compile_model(model, "CPU", self.settings).create_infer_request()


class _OpenVinoOperators:
    """`Operators` by an operator set of OpenVINO."""

    def __init__(self, batch: int, size: int) -> None:
        self.parameter = opset13.parameter([batch, PLANES, size, size], Type.i8, "planes")

    def planes(self) -> Node:
        return opset13.convert(self.parameter, Type.f32)

    def convolve(self, x: Node, weight: Array, bias: Array) -> Node:
        padding = [weight.shape[2] // 2] * 2
        found = opset13.convolution(x, opset13.constant(weight), [1, 1], padding, padding, [1, 1])
        return opset13.add(found, opset13.constant(bias.reshape(1, -1, 1, 1)))

    def activate(self, x: Node, name: str) -> Node:
        if name == "gelu":
            return opset13.gelu(x, "erf")
        if name == "leaky_relu":
            return opset13.prelu(x, opset13.constant([LEAKY_SLOPE], Type.f32))
        return ACTIVATIONS[name](x)

    def add(self, x: Node, y: Node) -> Node:
        return opset13.add(x, y)

    def multiply(self, x: Node, y: Node) -> Node:
        return opset13.multiply(x, y)

    def mean(self, x: Node) -> Node:
        return opset13.reduce_mean(x, [2, 3], False)

    def largest(self, x: Node) -> Node:
        return opset13.reduce_max(x, [2, 3], False)

    def concatenate(self, x: Node, y: Node) -> Node:
        return opset13.concat([x, y], 1)

    def connect(self, x: Node, weight: Array, bias: Array) -> Node:
        return opset13.add(opset13.matmul(x, opset13.constant(weight), False, False), opset13.constant(bias[None]))

    def flatten(self, x: Node) -> Node:
        return opset13.reshape(x, [0, -1], True)

    def spread(self, x: Node) -> Node:
        return opset13.unsqueeze(x, [2, 3])
