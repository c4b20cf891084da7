"""Settings of Ray that cannot be are refused with what would be right."""

from typing import Any

import pytest

from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.selfplay.config import SelfPlayConfig


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (RayConfig, {"gpus": 1.5}, "ray.gpus=1.5: a share of one GPU"),
        (RayConfig, {"resources": {"player": 0}}, "ray.resources.player=0: must be above 0"),
        (
            RayConfig,
            {"address": "ray://head:10001"},
            "ray.address=ray://head:10001: must be auto, null, or HOST:PORT",
        ),
        (RayConfig, {"address": "head"}, "ray.address=head: must be auto, null, or HOST:PORT"),
        (
            RayConfig,
            {"address": "head:70000"},
            "ray.address=head:70000: must be auto, null, or HOST:PORT",
        ),
        (SelfPlayConfig, {"where": "ray", "workers": 0}, "selfplay.workers=0: Ray plays in shares"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    kind: type, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        kind(**settings)
    assert str(refused.value).startswith(message)


def test_an_actor_with_a_part_of_a_gpu_plays_on_cuda_and_has_a_thread() -> None:
    config = RayConfig(cpus=0.5, gpus=0.25, resources={"player": 1})
    assert (config.device, config.threads, config.asked) == (
        "cuda",
        1,
        "0.5 CPU, 0.25 GPU, 1 player",
    )
    assert (RayConfig(cpus=4).device, RayConfig(cpus=4).threads) == ("cpu", 4)
