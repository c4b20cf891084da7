"""Whole networks by Winograd's convolutions say what the plain network says."""

from typing import Any

import pytest
import torch

from hexlit.errors import UsageError
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet
from hexlit.nets.winograd import forward
from hexlit.nets.winograd.forward import WinogradForward
from hexlit.nets.winograd.vectors import POINTS
from tests.nets.test_evaluator import (
    assert_plain,
    assert_takes_new_weights,
    cpu_profile,
    random_positions,
    trained_like,
)


def assert_equal(net: HexNet, size: int, batch: int = 6) -> None:
    evaluator = NetworkEvaluator(
        net, size=size, swap=True, batch=batch, profile=cpu_profile("winograd")
    )
    assert evaluator.backend == "winograd"
    assert_plain(evaluator, net, random_positions(batch, size), 1e-4)


@pytest.mark.parametrize("size", range(2, 20))
def test_every_board_size_equals_the_plain_network(size: int) -> None:
    assert_equal(trained_like(channels=16, blocks=[3]), size)


@pytest.mark.parametrize("tile", POINTS)
@pytest.mark.parametrize("size", [5, 11])
def test_every_tile_equals_the_plain_network(
    size: int, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forward, "best_tile", lambda size, channels, batch: tile)
    assert_equal(trained_like(channels=16, blocks=[3]), size)


@pytest.mark.parametrize("size", [2, 5, 11])
@pytest.mark.parametrize(
    "fields",
    [
        {"global_pooling": False},
        {"block": "bottleneck"},
        {"attention": "se", "block": "bottleneck"},
        {"attention": "se"},
        {"blocks": [1, 2], "channels": 20, "policy_channels": 7},
        {"channels": 3, "value_channels": 5, "value_hidden": 2, "policy_channels": 1},
        {"channels": 64, "blocks": [6]},
    ],
    ids=str,
)
def test_every_network_equals_the_plain_one(fields: dict[str, Any], size: int) -> None:
    assert_equal(trained_like(**fields), size)


def test_threads_and_neighbours_change_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, in one slice of all as in slices of one position,
    whole or in groups, in any order.
    """
    net, planes = trained_like(), torch.from_numpy(random_positions(7, 5))

    def equal(threads: int, order: list[int]) -> bool:
        found = WinogradForward(net, 5, 7, threads)(planes[order].contiguous())
        return all(
            torch.equal(got, expected[order]) for got, expected in zip(found, right, strict=True)
        )

    right = WinogradForward(net, 5, 7, 1)(planes)
    forwards = list(range(7))
    assert equal(2, forwards)
    assert equal(7, forwards)
    assert equal(2, forwards[::-1])
    monkeypatch.setattr(forward, "NEAR_FLOATS", 3 * 32 * 25)  # three positions at a time
    assert equal(1, forwards)


def test_refresh_takes_over_the_new_weights() -> None:
    evaluator = NetworkEvaluator(
        trained_like(), size=7, swap=True, batch=64, profile=cpu_profile("winograd")
    )
    assert_takes_new_weights(evaluator, torch.device("cpu"), 1e-4)


def test_bfloat16_is_refused() -> None:
    with pytest.raises(
        UsageError, match="accelerator.inference_precision=bf16: winograd evaluates in fp32"
    ):
        cpu_profile("winograd", "bf16")
