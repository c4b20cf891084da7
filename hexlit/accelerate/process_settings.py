"""The settings that torch and Numba keep for the whole process, restored after work that changed them."""

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch


@contextmanager
def kept_settings() -> Iterator[None]:
    """Restore, at the end of the block, all settings of `DeviceProfile.apply`, and the threads of Numba.

    The memory cap of a device stays: torch has no way to ask for it.
    """
    threads, kernels = torch.get_num_threads(), numba.get_num_threads()
    products, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    benchmark, fixed = torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
    deterministic = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        yield
    finally:
        numba.set_num_threads(kernels)  # first: when it starts its threads, it gives torch all cores again
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(products)
        torch.backends.cudnn.allow_tf32 = convolutions
        torch.backends.cudnn.benchmark = benchmark
        torch.backends.cudnn.deterministic = fixed
        torch.use_deterministic_algorithms(deterministic, warn_only=warns)
