"""The accelerator section refuses what cannot be, and names the key."""

import pytest
from omegaconf import OmegaConf

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.errors import UsageError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("device", "gpu"),
        ("device", "cuda:x"),
        ("precision", "64-true"),
        ("inference_precision", "int8"),
        ("matmul_precision", "low"),
        ("inference", "onnx"),
        ("train_batch", 0),
        ("workers", -1),
        ("threads", -1),
        ("micro_batch", 0),
        ("evaluation_batch", 0),
        ("prefetch", 0),
        ("compile_mode", "fast"),
        ("memory_cap", 0.0),
        ("memory_cap", float("nan")),
        ("memory_warning", -1.0),
    ],
)
def test_value_out_of_range_is_refused_in_one_line_that_names_key_and_value(key: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"accelerator.{key}={value}: ") as caught:
        AcceleratorConfig(**{key: value})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.row("C5")
def test_determinism_excludes_convolutions_chosen_by_their_time() -> None:
    with pytest.raises(UsageError, match="accelerator.cudnn_benchmark=true: .* accelerator.deterministic=true"):
        AcceleratorConfig(cudnn_benchmark=True, deterministic=True)


def test_config_is_a_hydra_structured_config_and_validates_when_made_an_object() -> None:
    node = OmegaConf.structured(AcceleratorConfig)
    node.train_batch = 128
    made = OmegaConf.to_object(node)
    assert isinstance(made, AcceleratorConfig)
    assert (made.train_batch, made.workers, made.channels_last) == (128, None, None)
    node.train_batch = 0
    with pytest.raises(UsageError, match="accelerator.train_batch=0"):
        OmegaConf.to_object(node)
