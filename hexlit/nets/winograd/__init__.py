"""Evaluation and training on a CPU by Winograd's convolutions, in float32; this part imports no kernel."""

import numba

from hexlit.nets.config import obstacle_for_plain_blocks
from hexlit.nets.tower import HexNet


def winograd_obstacle(net: HexNet) -> str:
    """Why `net` cannot be evaluated this way; empty if it can."""
    if obstacle := obstacle_for_plain_blocks(net.config, "its kernels"):
        return obstacle
    if net.config.activation != "relu":
        return f"net.activation={net.config.activation} is not in its kernels, only relu is"
    return training_obstacle()


def training_obstacle() -> str:
    """Why no convolution can be trained this way; empty if those of 3x3 can."""
    return "NUMBA_DISABLE_JIT is set, and its kernels only run compiled" if numba.config.DISABLE_JIT else ""
