"""The network as an ONNX model for other programs: one graph for every batch and every board."""

import io
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hexlit import __version__
from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.hex.encoding import PLANES
from hexlit.nets.backends import folded_twin
from hexlit.nets.config import BLOCKS, obstacle_for_plain_parts
from hexlit.nets.tower import HexNet, at_board, masked_logits

OPSET = 20
"""The first with Gelu; ONNX Runtime reads it from 1.17 on."""

AXES = {"planes": {0: "B", 2: "n", 3: "n"}, "policy": {0: "B", 1: "A"}, "value": {0: "B"}}
"""The free axes of input and outputs."""


class _Answers(nn.Module):
    """The network as other programs see it: board in, probabilities and value out."""

    def __init__(self, net: HexNet) -> None:
        super().__init__()
        self.net = folded_twin(net, torch.device("cpu"), torch.float32, channels_last=False)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        output = self.net(planes.float())
        return torch.softmax(masked_logits(output.policy_logits, planes), 1), output.value


def onnx_model(net: HexNet) -> Any:
    """The network as an ONNX model for every board; it answers as the evaluator does.

    `planes` int8 `[B, 5, n, n]` → `policy` `[B, n*n + 1]`, probabilities of the legal actions and 0
    on other cells, and `value` `[B]` in [-1, 1] for the player to move; both float32. B and n are free.

    Raises:
        RuntimeError: it has blocks of another package, which may follow the board in ways that a
            trace misses.
    """
    import onnx

    if net.config.block not in BLOCKS:
        raise RuntimeError(obstacle_for_plain_parts(net.config, "its graph"))
    model, example = io.BytesIO(), torch.zeros(2, PLANES, 5, 5, dtype=torch.int8)
    with warnings.catch_warnings(action="ignore"):
        # The exporter by torch.export needs one more package; this one follows free axes as well.
        options = {"dynamo": False, "opset_version": OPSET, "dynamic_axes": AXES}
        names = {"input_names": ["planes"], "output_names": ["policy", "value"]}
        torch.onnx.export(_Answers(net).eval(), (example,), model, **options, **names)  # type: ignore[arg-type]
    return onnx.load_from_string(model.getvalue())


def write_onnx(net: HexNet, path: Path, *, size: int, swap: bool) -> None:
    """Write the network to `path` as an ONNX model for every board, and next to it a text on inputs
    and outputs.

    Raises:
        UsageError: the network has a part that the model lacks.
    """
    inputs = Path(__file__).with_name("onnx.md").read_text(encoding="utf-8")
    text = inputs.format(
        name=path.name, version=__version__, size=size, swap="on" if swap else "off"
    )
    try:
        model = onnx_model(at_board(net, size))
    except RuntimeError as obstacle:
        raise UsageError(
            f"format=onnx: {obstacle}; format=safetensors takes every network"
        ) from None
    model.doc_string = text
    model.producer_name, model.producer_version = "hexlit", __version__
    with replacing(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    with replacing(inputs_file(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def inputs_file(path: Path) -> Path:
    """The text next to an ONNX model."""
    return path.with_name(f"{path.name}.md")
