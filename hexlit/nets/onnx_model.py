"""The network as an ONNX model: of fixed shapes for the evaluator, and of any board for other programs."""

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN, PLANES
from hexlit.nets.graph import Array, write_network, write_open_network
from hexlit.nets.heads import ILLEGAL
from hexlit.nets.tower import HexNet

OPSET = 20
"""The first with Gelu; ONNX Runtime reads it from 1.17 on."""

IR_VERSION = 9

NODES = {"relu": "Relu", "gelu": "Gelu", "mish": "Mish", "leaky_relu": "LeakyRelu", "sigmoid": "Sigmoid"}
"""The operator of each activation; their defaults are torch's."""


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
    return _model(writer, [batch, PLANES, size, size], [batch, size * size + 1], [batch, 1])


def portable_onnx_model(net: HexNet) -> ModelProto:
    """The network as an ONNX model for every board; it answers as the evaluator does.

    `planes` int8 `[B, 5, n, n]` → `policy` `[B, n*n + 1]`, probabilities of the legal actions and 0 elsewhere, and
    `value` `[B]` in [-1, 1] for the player to move; both float32. B and n are free.

    Raises:
        RuntimeError: the network has a part that the graph lacks.
    """
    writer = _OnnxOperators()
    logits, value = write_open_network(net, writer)
    writer.node("Softmax", [writer.mask(logits)], output="policy", axis=1)
    writer.node("Tanh", [writer.node("Squeeze", [value, writer.constant(np.array([1]))])], output="value")
    return _model(writer, ["B", PLANES, "n", "n"], ["B", "A"], ["B"])


def _model(
    writer: "_OnnxOperators", planes: list[int | str], policy: list[int | str], value: list[int | str]
) -> ModelProto:
    """The model of the nodes written so far, with the shapes of its input and its outputs."""
    graph = helper.make_graph(
        writer.nodes,
        "hexlit",
        [helper.make_tensor_value_info("planes", TensorProto.INT8, planes)],
        [
            helper.make_tensor_value_info("policy", TensorProto.FLOAT, policy),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, value),
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

    def scale_by_size(self, x: str) -> str:
        size = self.node("Cast", [self.node("Shape", ["planes"], start=2, end=3)], to=TensorProto.FLOAT)
        ten = self.constant(np.array([10], np.float32))
        return self.multiply(x, self.node("Div", [self.node("Sub", [size, ten]), ten]))

    def mask(self, logits: str) -> str:
        """`logits` `[B, n*n + 1]` with `ILLEGAL` for taken cells, and for a swap that is not allowed."""
        x = self.planes()
        taken = self.flatten(self.add(self._plane(x, OWN), self._plane(x, OPPONENT)))
        open_ = self.node("ReduceMax", [self.flatten(self._plane(x, MAY_SWAP)), self.constant(np.array([1]))])
        one = self.constant(np.array([1], np.float32))
        closed = self.node("Sub", [one, open_])
        illegal = self.node("Cast", [self.concatenate(taken, closed)], to=TensorProto.BOOL)
        return self.node("Where", [illegal, self.constant(np.array([ILLEGAL], np.float32)), logits])

    def _plane(self, x: str, number: int) -> str:
        """Plane `number` of the input, `[B, 1, n, n]`."""
        first, last, axis = (self.constant(np.array([at])) for at in (number, number + 1, 1))
        return self.node("Slice", [x, first, last, axis])
