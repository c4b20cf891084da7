"""Evaluation and training on a CPU by Winograd's convolutions, in float32; this part imports no
kernel.
"""

from hexlit.nets.config import obstacle_for_plain_parts
from hexlit.nets.tower import HexNet


def winograd_obstacle(net: HexNet) -> str:
    """Why `net` cannot be evaluated this way; empty if it can."""
    return obstacle_for_plain_parts(net.config, "its kernels")
