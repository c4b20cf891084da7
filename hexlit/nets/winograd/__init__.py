"""Evaluation on a CPU by Winograd's convolutions, in float32; this part imports no kernel."""

import numba

from hexlit.nets.config import BLOCKS
from hexlit.nets.tower import HexNet


def winograd_obstacle(net: HexNet) -> str:
    """Why `net` cannot be evaluated this way; empty if it can."""
    if net.config.block not in BLOCKS:
        return f"net.block={net.config.block} is not in its kernels, {' and '.join(BLOCKS)} are"
    if net.config.activation != "relu":
        return f"net.activation={net.config.activation} is not in its kernels, only relu is"
    if net.config.attention == "self":
        return f"net.attention={net.config.attention} is not in its kernels, none and se are"
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set, and its kernels only run compiled"
    return ""
