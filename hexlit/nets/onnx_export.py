"""The network as an ONNX model for other programs: one graph for every batch and every board."""

from typing import cast

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from torch import Tensor, nn

from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN, PLANES
from hexlit.nets.blocks import ConvNorm, ResidualBlock
from hexlit.nets.config import obstacle_for_plain_blocks
from hexlit.nets.tower import ILLEGAL, HexNet

OPSET = 20
"""The first with Gelu; ONNX Runtime reads it from 1.17 on."""

IR_VERSION = 9

NODES = {"relu": "Relu", "gelu": "Gelu", "mish": "Mish", "leaky_relu": "LeakyRelu", "sigmoid": "Sigmoid"}
"""The operator of each activation; their defaults are torch's."""


def onnx_model(net: HexNet) -> ModelProto:
    """The network as an ONNX model for every board; it answers as the evaluator does.

    `planes` int8 `[B, 5, n, n]` → `policy` `[B, n*n + 1]`, probabilities of the legal actions and 0 elsewhere, and
    `value` `[B]` in [-1, 1] for the player to move; both float32. B and n are free.

    Raises:
        RuntimeError: the network has a part that the graph lacks.
    """
    if obstacle := obstacle_for_plain_blocks(net.config, "its graph"):
        raise RuntimeError(obstacle)
    writer = _Writer(net.config.activation)
    logits, value = writer.network(net)
    writer.node("Softmax", [writer.mask(logits)], output="policy", axis=1)
    writer.node("Tanh", [writer.node("Squeeze", [value, writer.constant(np.array([1]))])], output="value")
    graph = helper.make_graph(
        writer.nodes,
        "hexlit",
        [helper.make_tensor_value_info("planes", TensorProto.INT8, ["B", PLANES, "n", "n"])],
        [
            helper.make_tensor_value_info("policy", TensorProto.FLOAT, ["B", "A"]),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, ["B"]),
        ],
        writer.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


class _Writer:
    """Writes nodes; a handle is the name of a tensor."""

    def __init__(self, activation: str) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.activation = activation
        self.planes = self.node("Cast", ["planes"], to=TensorProto.FLOAT)

    def node(self, kind: str, inputs: list[str], output: str = "", **attributes: object) -> str:
        output = output or f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, value: Tensor | NDArray[np.generic]) -> str:
        name = f"w{len(self.constants)}"
        array = value.detach().float().cpu().numpy() if isinstance(value, Tensor) else value
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def network(self, net: HexNet) -> tuple[str, str]:
        """Logits `[B, n*n + 1]` of the policy and `[B, 1]` of the value."""
        x = self.activate(self.convolve(self.planes, net.stem))
        for block in net.blocks:
            x = self.block(cast(ResidualBlock, block), x)
        summary = self.pool(self.activate(self.convolve(x, net.summary.layer)))
        bias = self.per_channel(self.connect(summary, net.policy.bias))
        features = self.activate(self.node("Add", [self.convolve(x, net.policy.layer), bias]))
        last = net.policy.cells
        cells = self.flatten(self.convolution(features, last.weight, cast(Tensor, last.bias)))
        logits = self.concatenate(cells, self.connect(summary, net.policy.swap))
        return logits, self.connect(self.activate(self.connect(summary, net.value.hidden)), net.value.last)

    def block(self, block: ResidualBlock, x: str) -> str:
        inner = x
        for layer in block.layers[:-1]:
            inner = self.activate(self.convolve(inner, cast(ConvNorm, layer)))
        y = self.convolve(inner, cast(ConvNorm, block.layers[-1]))
        if block.gate is not None:
            mean = self.flatten(self.node("GlobalAveragePool", [y]))
            excite = self.connect(self.activate(self.connect(mean, block.gate.squeeze)), block.gate.excite)
            y = self.node("Mul", [y, self.per_channel(self.node("Sigmoid", [excite]))])
        y = self.node("Add", [y, x])
        if block.bias is not None:
            y = self.node("Add", [y, self.per_channel(self.connect(self.pool(inner), block.bias.linear))])
        return self.activate(y)

    def convolve(self, x: str, layer: ConvNorm) -> str:
        return self.convolution(x, *layer.folded())

    def convolution(self, x: str, weight: Tensor, bias: Tensor) -> str:
        return self.node("Conv", [x, self.constant(weight), self.constant(bias)], pads=[weight.shape[2] // 2] * 4)

    def connect(self, x: str, layer: nn.Linear) -> str:
        return self.node("Gemm", [x, self.constant(layer.weight.t()), self.constant(layer.bias)])

    def activate(self, x: str) -> str:
        if self.activation == "silu":
            return self.node("Mul", [x, self.node("Sigmoid", [x])])
        return self.node(NODES[self.activation], [x])

    def pool(self, x: str) -> str:
        """As `pool_board`: `[B, C, n, n]` → `[B, 3*C]`."""
        mean = self.flatten(self.node("GlobalAveragePool", [x]))
        size = self.node("Cast", [self.node("Shape", ["planes"], start=2, end=3)], to=TensorProto.FLOAT)
        ten = self.constant(np.array([10], np.float32))
        scaled = self.node("Mul", [mean, self.node("Div", [self.node("Sub", [size, ten]), ten])])
        return self.concatenate(mean, scaled, self.flatten(self.node("GlobalMaxPool", [x])))

    def mask(self, logits: str) -> str:
        """`logits` `[B, n*n + 1]` with `ILLEGAL` for taken cells, and for a swap that is not allowed."""
        taken = self.flatten(self.node("Add", [self.plane(OWN), self.plane(OPPONENT)]))
        allowed = self.node("ReduceMax", [self.flatten(self.plane(MAY_SWAP)), self.constant(np.array([1]))])
        refused = self.node("Sub", [self.constant(np.array([1], np.float32)), allowed])
        illegal = self.node("Cast", [self.concatenate(taken, refused)], to=TensorProto.BOOL)
        return self.node("Where", [illegal, self.constant(np.array([ILLEGAL], np.float32)), logits])

    def plane(self, number: int) -> str:
        """Plane `number` of the input, `[B, 1, n, n]`."""
        first, last, axis = (self.constant(np.array([at])) for at in (number, number + 1, 1))
        return self.node("Slice", [self.planes, first, last, axis])

    def concatenate(self, *inputs: str) -> str:
        return self.node("Concat", list(inputs), axis=1)

    def flatten(self, x: str) -> str:
        """`[B, C, n, n]` → `[B, C*n*n]`."""
        return self.node("Flatten", [x], axis=1)

    def per_channel(self, x: str) -> str:
        """`[B, C]` → `[B, C, 1, 1]`, which is broadcast to every cell."""
        return self.node("Unsqueeze", [x, self.constant(np.array([2, 3]))])
