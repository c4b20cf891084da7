"""The profile of every type of device, including types that this machine lacks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from hexlit.accelerate.config import AcceleratorConfig, LoadingDefaults
from hexlit.accelerate.profile import DEFAULTS, DeviceProfile, build_profile, profile_on
from hexlit.errors import UsageError


@dataclass(frozen=True)
class DeviceOutlook:
    """The settings of one type of device."""

    profile: DeviceProfile
    missing: str
    """Why this machine does not have it; empty if it does."""


def every_profile(
    config: AcceleratorConfig, task_defaults: Mapping[str, LoadingDefaults] | None = None
) -> dict[str, DeviceOutlook]:
    """By type, cpu, cuda and mps: the profile of a run with `config` on it.

    A missing cuda device is assumed to multiply bf16, as all have done since compute capability 8.0.
    """
    return {kind: _outlook(kind, config, task_defaults) for kind in DEFAULTS}


def _outlook(
    kind: str, config: AcceleratorConfig, task_defaults: Mapping[str, LoadingDefaults] | None
) -> DeviceOutlook:
    try:
        return DeviceOutlook(build_profile(replace(config, device=kind), task_defaults), "")
    except UsageError as error:
        missing = str(error)
    if kind != "cuda":
        return DeviceOutlook(profile_on(torch.device(kind), config, task_defaults), missing)
    # Only a cuda device itself can tell its precision.
    plain = replace(config, precision="32-true", inference_precision="fp32")
    profile = profile_on(torch.device(kind), plain, task_defaults)
    return DeviceOutlook(replace(profile, precision="bf16-mixed", inference_dtype=torch.bfloat16), missing)
