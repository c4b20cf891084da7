"""Floating-point operations of a forecaster's forward pass."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from hexlit.tasks.forecast.config import ForecastNetConfig
from hexlit.tasks.forecast.nets import WindowShape, build_net


def forward_flops(config: ForecastNetConfig, shape: WindowShape) -> int:
    """Operations of one window in the network of `config`.

    It counts products of matrices, including those of attention; a multiplication and the addition to its sum are two.
    Gates, norms and activations are left out. Counting computes nothing.
    """
    with torch.device("meta"):  # shapes only; recurrent layers become plain products, which the counter knows
        net = build_net(config, shape).eval()
        batch = (
            torch.zeros(1, shape.history, shape.inputs),
            torch.zeros(1, shape.horizons, shape.calendar),
            torch.zeros(1, shape.statics),
            torch.zeros(1, dtype=torch.long),
        )
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        net(*batch)
    return int(counter.get_total_flops())
