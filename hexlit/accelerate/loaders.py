"""DataLoaders as the device profile asks for them."""

from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from hexlit.accelerate.profile import DeviceProfile

T = TypeVar("T")


def loader_settings(profile: DeviceProfile) -> dict[str, Any]:
    """Keyword arguments of `DataLoader` for processes, prefetching and pinning.

    Without processes there is no prefetching and nothing to persist: torch refuses both. Processes are spawned, as a
    fork would carry a live CUDA, MPS or OpenMP runtime into a process where it does not work.
    """
    settings: dict[str, Any] = {"num_workers": profile.workers, "pin_memory": profile.pin_memory}
    if profile.workers:
        settings["prefetch_factor"] = profile.prefetch
        settings["persistent_workers"] = profile.persistent_workers
        settings["multiprocessing_context"] = "spawn"
    return settings


def make_loader(dataset: Dataset[T], profile: DeviceProfile, **arguments: Any) -> DataLoader[T]:
    """A `DataLoader` over `dataset`: `arguments` beside the settings of `profile`.

    Its own generator keeps it from drawing from torch's, so that the number of processes changes no other draw.
    """
    generator = torch.Generator().manual_seed(0)
    return DataLoader(dataset, **{"generator": generator, **loader_settings(profile), **arguments})
