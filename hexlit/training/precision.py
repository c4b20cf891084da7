"""Lightning's precision plugin: only float16 on CUDA scales its gradients."""

from collections.abc import Sequence
from typing import Any

import torch
from lightning.pytorch.plugins.precision import MixedPrecision

from hexlit.accelerate.profile import DeviceProfile


class UnscaledHalfPrecision(MixedPrecision):
    """float16 autocast without a GradScaler; Lightning would build one on every device."""

    def __init__(self, device: torch.device) -> None:
        """Autocast on `device`."""
        # Not the base class's constructor: it makes a scaler for float16 when it gets none.
        self.precision = "16-mixed"
        self.device = device.type
        self.scaler = None


def precision_arguments(profile: DeviceProfile, plugins: Sequence[Any] = ()) -> dict[str, Any]:
    """The arguments of `Trainer` that make it compute in the precision of `profile`, with `plugins` of other kinds.

    float16 loses small gradients below 6e-8; on CUDA a scaler preserves them. Other devices have no scaler, so
    bf16-mixed or 32-true suits them better.
    """
    if profile.precision == "16-mixed" and profile.device.type != "cuda":
        return {"plugins": [UnscaledHalfPrecision(profile.device), *plugins]}
    return {"precision": profile.precision, "plugins": list(plugins)}
