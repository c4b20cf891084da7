"""The network by ONNX Runtime on a CPU, in float32. Optional: the extra `onnx`."""

import onnxruntime
import torch
from torch import Tensor

from hexlit.nets.onnx_model import onnx_model
from hexlit.nets.tower import HexNet


class OnnxForward:
    """The network as a session of ONNX Runtime, which lays out the weights for this processor when it is built.

    Args:
        net: the network; a snapshot is taken.
        size: board size n.
        batch: positions B in a call.
        threads: CPU threads of a call.

    Raises:
        RuntimeError: this network or this ONNX Runtime does not support it.
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
        except Exception as error:  # its exceptions have no closer common class
            raise RuntimeError(f"ONNX Runtime: {error}") from error
