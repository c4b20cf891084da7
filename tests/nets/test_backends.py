"""The optional runtimes say what the plain network says, and refresh."""

import logging
import os
from typing import Any

import numpy as np
import pytest

from hexlit.accelerate.backends import PACKAGES, is_installed
from hexlit.accelerate.precision import cpu_has_bf16
from hexlit.nets.evaluator import NetworkEvaluator
from tests.commands.preloaded import run_apart
from tests.nets.test_evaluator import cpu_profile, evaluated, plain, random_positions, trained_like


@pytest.fixture(params=list(PACKAGES))
def backend(request: pytest.FixtureRequest) -> str:
    """An optional backend, where it is installed."""
    name = str(request.param)
    if not is_installed(name):
        pytest.skip(f"{name} is not installed")
    return name


@pytest.mark.row("F3")
@pytest.mark.parametrize("size", [2, 5, 11])
@pytest.mark.parametrize(
    "fields",
    [
        {"global_pooling": True},
        {"global_pooling": False},
        {"block": "bottleneck"},
        {"attention": "se", "block": "bottleneck"},
        {"attention": "se"},
        {"blocks": [1, 2], "channels": 20, "policy_channels": 7},
    ],
    ids=str,
)
def test_float32_of_a_backend_equals_the_plain_network(backend: str, fields: dict[str, Any], size: int) -> None:
    net = trained_like(**fields)
    evaluator = NetworkEvaluator(net, size=size, swap=True, batch=6, profile=cpu_profile(backend))
    assert evaluator.backend == backend
    planes = random_positions(6, size)
    for got, expected in zip(evaluated(evaluator, planes), plain(net, planes, size * size + 1), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-4)


@pytest.mark.row("F3")
@pytest.mark.parametrize("activation", ["gelu", "silu", "mish", "leaky_relu"])
def test_a_backend_has_every_activation(backend: str, activation: str) -> None:
    net = trained_like(activation=activation, attention="se")
    evaluator = NetworkEvaluator(net, size=5, swap=False, batch=3, profile=cpu_profile(backend))
    assert evaluator.backend == backend
    planes = random_positions(3, 5)
    for got, expected in zip(evaluated(evaluator, planes), plain(net, planes, 25), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-3)


@pytest.mark.row("F3")
def test_a_refreshed_backend_has_the_new_weights(backend: str) -> None:
    planes = random_positions(8, 5)
    evaluator = NetworkEvaluator(trained_like(0), size=5, swap=False, batch=8, profile=cpu_profile(backend))
    before, _ = evaluated(evaluator, planes)
    other = trained_like(1)
    evaluator.refresh(other)
    after, value = evaluated(evaluator, planes)
    assert np.abs(after - before).max() > 0.01
    expected_policy, expected_value = plain(other, planes, 25)
    np.testing.assert_allclose(after, expected_policy, atol=1e-4)
    np.testing.assert_allclose(value, expected_value, atol=1e-4)


def test_answers_of_a_backend_stay_when_it_is_asked_again(backend: str) -> None:
    evaluator = NetworkEvaluator(trained_like(), size=4, swap=False, batch=4, profile=cpu_profile(backend))
    policy, value = evaluated(evaluator, random_positions(4, 4, seed=0))
    kept = policy.copy(), value.copy()
    evaluated(evaluator, random_positions(4, 4, seed=1))
    np.testing.assert_array_equal(policy, kept[0])
    np.testing.assert_array_equal(value, kept[1])


@pytest.mark.skipif(os.name != "posix", reason="signal stacks are of POSIX")
@pytest.mark.parametrize("released_by", ["this thread", "another thread"])
def test_a_signal_is_heard_after_networks_were_released(backend: str, released_by: str) -> None:
    """In a process of its own, which a runtime that leaves a released signal stack behind would kill."""
    program = f"""
import gc, signal, threading
from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net

profile = build_profile(AcceleratorConfig(device="cpu", inference={backend!r}, inference_precision="fp32", threads=1))
net = build_net(NetConfig(channels=8, blocks=[1]))
kept = [NetworkEvaluator(net, size=3, swap=False, batch=2, profile=profile) for _ in range(2)]
assert [evaluator.backend for evaluator in kept] == [{backend!r}] * 2

def release():
    while kept:
        del kept[0]
        gc.collect()

if {released_by!r} == "this thread":
    release()
else:
    thread = threading.Thread(target=release)
    thread.start()
    thread.join()
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append("interrupt"))
signal.raise_signal(signal.SIGINT)
assert heard == ["interrupt"]
"""
    done = run_apart(program)
    assert done.returncode == 0, done.stderr


@pytest.mark.row("F3")
def test_bfloat16_of_openvino_is_near_the_plain_network() -> None:
    if not is_installed("openvino") or not cpu_has_bf16():
        pytest.skip("no openvino, or a processor without bfloat16")
    net, planes = trained_like(), random_positions(64, 7)
    evaluator = NetworkEvaluator(net, size=7, swap=True, batch=64, profile=cpu_profile("openvino", "bf16"))
    assert evaluator.backend == "openvino"
    for got, expected in zip(evaluated(evaluator, planes), plain(net, planes, 50), strict=True):
        np.testing.assert_allclose(got, expected, atol=0.05)


def test_a_network_that_a_backend_cannot_express_goes_eager_with_one_warning(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    net = trained_like(attention="self")
    with caplog.at_level(logging.WARNING):
        evaluator = NetworkEvaluator(net, size=4, swap=False, batch=4, profile=cpu_profile(backend))
    assert evaluator.backend == "eager"
    (record,) = caplog.records
    assert "net.attention=self" in record.getMessage()
