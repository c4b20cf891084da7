"""DataLoaders with the settings of the device profile."""

from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler

from hexlit.accelerate.profile import DeviceProfile

T = TypeVar("T")


def loader_settings(profile: DeviceProfile) -> dict[str, Any]:
    """Keyword arguments of `DataLoader` for processes, prefetching and pinning.

    Without processes there is no prefetching and nothing to persist: torch refuses both. Processes are spawned: a fork
    would carry a live CUDA, MPS or OpenMP runtime into a process where it does not work.
    """
    settings: dict[str, Any] = {"num_workers": profile.workers, "pin_memory": profile.pin_memory}
    if profile.workers:
        settings["prefetch_factor"] = profile.prefetch
        settings["persistent_workers"] = profile.persistent_workers
        settings["multiprocessing_context"] = "spawn"
    return settings


def loading_lines(profile: DeviceProfile) -> list[str]:
    """The lines of a run about its device and about loading its data."""
    return [
        f"Device: {profile.device.type}",
        f"DataLoader Configuration for {profile.device.type.upper()}:",
        f"  Training Batch Size: {profile.train_batch}",
        f"  Evaluation Batch Size: {profile.evaluation_batch}",
        f"  Number of Workers: {profile.workers}",
        f"  Pin Memory: {profile.pin_memory}",
    ]


def make_loader(
    dataset: Dataset[T], profile: DeviceProfile, *, shuffle: bool = False, seed: int = 0, **arguments: Any
) -> DataLoader[T]:
    """A `DataLoader` over `dataset`, with `arguments` and the settings of `profile`.

    The samples and their order depend only on `seed`, never on the number of processes. The order has a generator of
    its own, as the loader draws seeds for its processes from the other.
    """
    if shuffle:
        order = torch.Generator().manual_seed(seed)
        arguments["sampler"] = RandomSampler(dataset, generator=order)  # type: ignore[arg-type]  # it has a length
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(dataset, generator=generator, **loader_settings(profile), **arguments)
