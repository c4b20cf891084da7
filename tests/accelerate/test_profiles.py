"""Profiles of devices, whether this machine has them or not."""

import pytest
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.accelerate.profiles import every_profile
from hexlit.tasks.classify.config import DEVICE_DEFAULTS


@pytest.mark.row("B1")
@pytest.mark.row("B2")
def test_every_type_of_device_has_a_profile_on_any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    found = every_profile(AcceleratorConfig(), DEVICE_DEFAULTS)
    profiles = {kind: outlook.profile for kind, outlook in found.items()}
    assert {kind: (one.train_batch, one.workers) for kind, one in profiles.items()} == {
        "mps": (64, 4),
        "cuda": (32, 2),
        "cpu": (16, 0),
    }
    assert {kind: one.device.type for kind, one in profiles.items()} == {kind: kind for kind in profiles}
    assert (profiles["cuda"].precision, profiles["mps"].precision) == ("bf16-mixed", "32-true")
    assert (profiles["cuda"].pin_memory, profiles["mps"].pin_memory) == (True, False)
    assert profiles["cpu"] == build_profile(AcceleratorConfig(device="cpu"), DEVICE_DEFAULTS)
    assert not found["cpu"].missing
    assert all(kind in found[kind].missing for kind in ("cuda", "mps"))
