"""A GradScaler is there for float16 on CUDA, and nowhere else."""

from dataclasses import replace

import lightning as L
import torch
from lightning.pytorch.plugins.precision import MixedPrecision

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.training.distributed import precision_arguments


def profile_on(device: str, precision: str) -> DeviceProfile:
    made = build_profile(AcceleratorConfig(device="cpu", precision="32-true"))
    return replace(made, device=torch.device(device), precision=precision)


def test_float16_on_mps_has_no_scaler() -> None:
    arguments = precision_arguments(profile_on("mps", "16-mixed"))
    trainer = L.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, **arguments)
    plugin = trainer.precision_plugin
    assert isinstance(plugin, MixedPrecision)
    assert (plugin.scaler, plugin.device, plugin.precision) == (None, "mps", "16-mixed")
    assert plugin.state_dict() == {}
    assert plugin.autocast_context_manager().fast_dtype == torch.float16


def test_float16_on_cuda_scales_its_gradients() -> None:
    """Lightning builds the scaler for this name."""
    assert precision_arguments(profile_on("cuda", "16-mixed")) == {
        "precision": "16-mixed",
        "plugins": [],
    }
    assert (
        MixedPrecision("16-mixed", "cuda", torch.amp.GradScaler("cuda", enabled=False)).scaler
        is not None
    )
