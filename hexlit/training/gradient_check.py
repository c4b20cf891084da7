"""Gradients of a device next to those of the CPU: a driver may compute them wrongly and say nothing."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from hexlit.accelerate.compiling import unchanged
from hexlit.errors import UsageError
from hexlit.training.batches import tensors_like, tensors_of

EXAMPLES = 16
LARGEST = 0.1
"""Largest trusted difference, as a share of the gradient: above the effect of TF32, below that of a
wrong operator.
"""
DRAWN = 0.01
"""Difference between two seeds from which on a network draws random numbers."""


def check_gradients(module: Any) -> None:
    """Compare the gradients of a few examples in float32 with the CPU's; does nothing on a CPU, and
    with several ranks, whose statistics belong together.

    `module` is a `hexlit.training.module.TrainedModule`, whose weights, statistics and random
    numbers stay as they are.

    Raises:
        UsageError: they differ.
    """
    if module.device.type == "cpu" or module.ranks.several:
        return
    difference = gradient_difference(module, module.example_batch(EXAMPLES))
    if not difference <= LARGEST:
        raise UsageError(
            f"training: the gradients of {module.device} differ from the CPU's by {difference:.0%}; "
            "use accelerator=cpu, or another version of torch or of the driver"
        )


def gradient_difference(module: Any, batch: Any) -> float:
    """Norm of the difference of the gradients on the module's device and on the CPU, as a share of
    the CPU's. Dropout is off; 0 where the network draws other random numbers.
    """
    own = module.net
    with unchanged(own):
        module.net = _without_dropout(own)
        try:
            here = [_gradient(module, batch, seed) for seed in range(2)]
            module.net = _without_dropout(own).to("cpu")
            on_cpu = tensors_like(batch, [tensor.cpu() for tensor in tensors_of(batch)])
            expected = _gradient(module, on_cpu, 0)
        finally:
            module.net = own
    size = expected.norm().clamp_min(1e-12)
    draws = float((here[0] - here[1]).norm() / size) > DRAWN
    return 0.0 if draws else float((here[0] - expected).norm() / size)


def _without_dropout(net: nn.Module) -> nn.Module:
    twin = copy.deepcopy(net)
    for layer in twin.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    return twin


def _gradient(module: Any, batch: Any, seed: int) -> Tensor:
    """The gradient of the loss of `batch` by the weights, on the CPU, `[N]`."""
    torch.manual_seed(seed)
    module.net.zero_grad()
    with torch.enable_grad(), torch.autocast(module.device.type, enabled=False):
        module.losses(module.output(batch), batch)["loss"].backward()
    gradients = [one.grad for one in module.net.parameters() if one.grad is not None]
    return torch.cat([one.flatten().float().cpu() for one in gradients])
