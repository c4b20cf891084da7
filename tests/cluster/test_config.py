"""Settings of Ray that cannot be are refused with what would be right."""

from typing import Any

import pytest

from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.selfplay.config import SelfPlayConfig

pytestmark = pytest.mark.row("E14")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gpus": 1.5}, "ray.gpus=1.5: a share of one GPU"),
        ({"resources": {"player": 0}}, "ray.resources.player=0: must be above 0"),
        ({"address": "ray://head:10001"}, "ray.address=ray://head:10001: must be auto, null, or HOST:PORT"),
        ({"address": "head"}, "ray.address=head: must be auto, null, or HOST:PORT"),
        ({"address": "head:70000"}, "ray.address=head:70000: must be auto, null, or HOST:PORT"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        RayConfig(**settings)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"where": "ray", "workers": 0}, "selfplay.workers=0: Ray plays in shares"),
        ({"versions_behind": 2, "ahead": False}, "selfplay.versions_behind=2: no effect"),
    ],
)
def test_places_of_self_play_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        SelfPlayConfig(**settings)
    assert str(refused.value).startswith(message)


def test_an_actor_with_a_part_of_a_gpu_plays_on_cuda_and_has_a_thread() -> None:
    config = RayConfig(cpus=0.5, gpus=0.25, resources={"player": 1})
    assert (config.device, config.threads, config.asked) == ("cuda", 1, "0.5 CPU, 0.25 GPU, 1 player")
    assert (RayConfig(cpus=4).device, RayConfig(cpus=4).threads) == ("cpu", 4)
