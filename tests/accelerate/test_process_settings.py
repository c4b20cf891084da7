import numba
import pytest
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.process_settings import kept_settings
from hexlit.accelerate.profile import build_profile


def settings() -> dict[str, object]:
    kernels = numba.get_num_threads()  # first: where Numba starts its threads, it gives torch all cores again
    return {
        "threads": torch.get_num_threads(),
        "kernels": kernels,
        "products": torch.get_float32_matmul_precision(),
        "convolutions": torch.backends.cudnn.allow_tf32,
        "benchmark": torch.backends.cudnn.benchmark,
        "fixed": torch.backends.cudnn.deterministic,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


@pytest.mark.row("F10")
def test_what_a_profile_sets_is_put_back_also_after_an_error() -> None:
    before = settings()
    chosen = AcceleratorConfig(device="cpu", threads=1, matmul_precision="medium", deterministic=True)

    def fail() -> None:
        with kept_settings():
            build_profile(chosen).apply()
            numba.set_num_threads(1)
            assert settings() != before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert settings() == before
