"""DataLoaders with the settings of the device profile."""

from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler

from hexlit.accelerate.profile import DeviceProfile

T = TypeVar("T")


def make_loader(
    dataset: Dataset[T],
    profile: DeviceProfile,
    *,
    shuffle: bool = False,
    seed: int = 0,
    **arguments: Any,
) -> DataLoader[T]:
    """A `DataLoader` over `dataset`, with `arguments` and the settings of `profile`.

    The samples and their order depend only on `seed`, never on the number of processes. The order
    has a generator of its own, as the loader draws seeds for its processes from the other.

    Processes stay alive between epochs. Without any there is no prefetching and nothing to persist:
    torch refuses both. They are spawned, since a fork would carry a live CUDA, MPS or OpenMP
    runtime into a process where it does not work.
    """
    if profile.workers:
        arguments |= {
            "prefetch_factor": profile.prefetch,
            "persistent_workers": True,
        }
        arguments["multiprocessing_context"] = "spawn"
    if shuffle:
        order = torch.Generator().manual_seed(seed)
        arguments["sampler"] = RandomSampler(dataset, generator=order)  # type: ignore[arg-type]  # it has a length
    arguments |= {"num_workers": profile.workers, "pin_memory": profile.pin_memory}
    return DataLoader(dataset, generator=torch.Generator().manual_seed(seed), **arguments)
