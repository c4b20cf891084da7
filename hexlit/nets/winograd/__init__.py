"""Evaluation and training on a CPU by Winograd's convolutions, in float32; this part imports no kernel."""

import numba

from hexlit.nets.config import obstacle_for_plain_parts
from hexlit.nets.tower import HexNet


def winograd_obstacle(net: HexNet) -> str:
    """Why `net` cannot be evaluated this way; empty if it can."""
    return obstacle_for_plain_parts(net.config, "its kernels") or training_obstacle()


def training_obstacle() -> str:
    """Why no convolution can be trained this way; empty if those of 3x3 can."""
    return "NUMBA_DISABLE_JIT is set, and its kernels only run compiled" if numba.config.DISABLE_JIT else ""
