"""The network by ONNX Runtime on a CPU, in float32. Optional: `pip install hexlit[onnx]`."""

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from torch import Tensor

from hexlit.hex.encoding import PLANES
from hexlit.nets.graph import Array, write_network
from hexlit.nets.tower import HexNet

OPSET = 20
"""The first with Gelu; ONNX Runtime reads it from 1.17 on."""

IR_VERSION = 9

NODES = {"relu": "Relu", "gelu": "Gelu", "mish": "Mish", "leaky_relu": "LeakyRelu", "sigmoid": "Sigmoid"}
"""The operator of each activation; their defaults are torch's."""


class OnnxForward:
    """The network as a session of ONNX Runtime, which lays out the weights for this processor when it is built.

    Args:
        net: the network; a snapshot is taken.
        size: board size n.
        batch: positions B in a call.
        threads: CPU threads of a call.

    Raises:
        RuntimeError: this network or this ONNX Runtime cannot do it.
    """

    def __init__(self, net: HexNet, size: int, batch: int, threads: int) -> None:
        self.size = size
        self.batch = batch
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 3
        # Threads that wait for the next call would take the cores from the search.
        self.options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = self._build(net)

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """As `Forward`."""
        logits, value = self.session.run(None, {"planes": planes.numpy()})
        return torch.from_numpy(logits), torch.from_numpy(value)[:, 0]

    def refresh(self, net: HexNet) -> None:
        """Build the session again: tens of milliseconds."""
        self.session = self._build(net)

    def _build(self, net: HexNet) -> onnxruntime.InferenceSession:
        content = onnx_model(net, self.size, self.batch).SerializeToString()
        try:
            return onnxruntime.InferenceSession(content, self.options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions have no other class in common
            raise RuntimeError(f"ONNX Runtime: {error}") from error


def onnx_model(net: HexNet, size: int, batch: int) -> ModelProto:
    """The network as an ONNX model of fixed shapes.

    `planes` int8 `[B, 5, n, n]` → `policy` `[B, n*n + 1]` and `value` `[B, 1]`, both logits in float32.

    Raises:
        RuntimeError: the network has a part that the graph lacks.
    """
    writer = _OnnxOperators()
    policy, value = write_network(net, size, writer)
    writer.node("Identity", [policy], output="policy")
    writer.node("Identity", [value], output="value")
    graph = helper.make_graph(
        writer.nodes,
        "hexlit",
        [helper.make_tensor_value_info("planes", TensorProto.INT8, [batch, PLANES, size, size])],
        [
            helper.make_tensor_value_info("policy", TensorProto.FLOAT, [batch, size * size + 1]),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, [batch, 1]),
        ],
        writer.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


class _OnnxOperators:
    """`Operators` whose handles are names."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def node(self, kind: str, inputs: list[str], output: str = "", **attributes: object) -> str:
        output = output or f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, array: Array | NDArray[np.int64]) -> str:
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def planes(self) -> str:
        return self.node("Cast", ["planes"], to=TensorProto.FLOAT)

    def convolve(self, x: str, weight: Array, bias: Array) -> str:
        return self.node("Conv", [x, self.constant(weight), self.constant(bias)], pads=[weight.shape[2] // 2] * 4)

    def activate(self, x: str, name: str) -> str:
        if name == "silu":
            return self.multiply(x, self.activate(x, "sigmoid"))
        return self.node(NODES[name], [x])

    def add(self, x: str, y: str) -> str:
        return self.node("Add", [x, y])

    def multiply(self, x: str, y: str) -> str:
        return self.node("Mul", [x, y])

    def mean(self, x: str) -> str:
        return self.flatten(self.node("GlobalAveragePool", [x]))

    def largest(self, x: str) -> str:
        return self.flatten(self.node("GlobalMaxPool", [x]))

    def concatenate(self, x: str, y: str) -> str:
        return self.node("Concat", [x, y], axis=1)

    def connect(self, x: str, weight: Array, bias: Array) -> str:
        return self.node("Gemm", [x, self.constant(weight), self.constant(bias)])

    def flatten(self, x: str) -> str:
        return self.node("Flatten", [x], axis=1)

    def spread(self, x: str) -> str:
        return self.node("Unsqueeze", [x, self.constant(np.array([2, 3]))])
