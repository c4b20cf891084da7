"""The fast backends say what the plain network says."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.errors import UsageError
from hexlit.nets import fused
from hexlit.nets.backends import DeviceRun, Planes, TwinForward
from hexlit.nets.blocks import ConvNorm
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet, build_net, masked_logits
from hexlit.search.evaluator import Evaluator
from hexlit.testing import EvaluatorConformance
from tests.pretended_device import PretendedDevice, pretend_cuda

Floats = NDArray[np.float32]


def profile_on(device: torch.device, precision: str = "fp32") -> DeviceProfile:
    """Plain operators, which every device has."""
    return build_profile(
        AcceleratorConfig(
            device=str(device),
            inference="eager",
            inference_precision=precision,
            matmul_precision="highest",
        )
    )


def cpu_profile(inference: str = "fused", precision: str = "fp32") -> DeviceProfile:
    return build_profile(
        AcceleratorConfig(device="cpu", inference=inference, inference_precision=precision)
    )


def trained_like(seed: int = 0, **fields: object) -> HexNet:
    """A network whose every layer, batch norm's statistics too, matters for what it says."""
    torch.manual_seed(seed)
    net = build_net(NetConfig(**{"channels": 32, "blocks": [3]} | fields))  # type: ignore[arg-type]
    for module in net.modules():
        if isinstance(module, ConvNorm):
            torch.nn.init.uniform_(module.norm.weight, 0.5, 1.0)
            torch.nn.init.normal_(module.norm.bias, std=0.2)
            mean, variance, _ = module.norm.buffers()
            mean.normal_(std=0.2)
            variance.uniform_(0.5, 2.0)
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.1)
            torch.nn.init.normal_(module.bias, std=0.1)
    torch.nn.init.normal_(net.policy.cells.weight, std=0.5)
    return net


def random_positions(batch: int, size: int, seed: int = 0) -> Planes:
    generator = np.random.default_rng(seed)
    planes = np.zeros((batch, 5, size, size), np.int8)
    stones = generator.integers(0, 3, (batch, size, size))
    planes[:, 0], planes[:, 1] = stones == 1, stones == 2
    planes[:, 2, [0, -1], :] = planes[:, 3, :, [0, -1]] = 1
    planes[::2, 4] = 1
    return planes


def evaluated(evaluator: NetworkEvaluator, planes: Planes) -> tuple[Floats, Floats]:
    policy = np.full((evaluator.batch, evaluator.actions), np.nan, np.float32)
    value = np.full(evaluator.batch, np.nan, np.float32)
    evaluator.evaluate(planes, policy, value)
    return policy, value


def plain(net: HexNet, planes: Planes, actions: int) -> tuple[Floats, Floats]:
    seen = torch.from_numpy(planes)
    net.eval()
    with torch.no_grad():
        output = net(seen.float())
    policy = masked_logits(output.policy_logits[:, :actions], seen).softmax(1)
    return policy.numpy(), output.value.numpy()


def assert_plain(evaluator: NetworkEvaluator, net: HexNet, planes: Planes, atol: float) -> None:
    """The evaluator answers as the plain network."""
    expected = plain(net, planes, evaluator.actions)
    for got, right in zip(evaluated(evaluator, planes), expected, strict=True):
        np.testing.assert_allclose(got, right, atol=atol)


@pytest.mark.parametrize("block", ["basic", "bottleneck"])
@pytest.mark.parametrize("global_pooling", [True, False])
@pytest.mark.parametrize("backend", ["fused", "eager"])
@pytest.mark.parametrize("size", [2, 5, 11])
def test_fp32_backend_equals_the_plain_network(
    backend: str, block: str, global_pooling: bool, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    norm = "boards" if global_pooling else "batch"
    net = trained_like(block=block, global_pooling=global_pooling, norm=norm)
    evaluator = NetworkEvaluator(net, size=size, swap=True, batch=8, profile=cpu_profile(backend))
    for _ in range(2):
        assert_plain(evaluator, net, random_positions(8, size), 1e-3)
        evaluator.refresh(net)
    if not caplog.records:
        assert evaluator.backend == backend


@pytest.mark.parametrize("backend", ["fused", "eager"])
def test_bf16_backend_agrees_on_the_best_move(backend: str) -> None:
    net = trained_like()
    planes = random_positions(512, 7)
    evaluator = NetworkEvaluator(
        net, size=7, swap=True, batch=512, profile=cpu_profile(backend, "bf16")
    )
    policy, value = evaluated(evaluator, planes)
    expected_policy, expected_value = plain(net, planes, 50)
    # Where two moves are within 1% of each other, the rounding may exchange them.
    chosen = np.take_along_axis(expected_policy, policy.argmax(1)[:, None], 1)[:, 0]
    assert (chosen >= 0.99 * expected_policy.max(1)).mean() >= 0.98
    np.testing.assert_allclose(policy, expected_policy, atol=0.05)
    np.testing.assert_allclose(value, expected_value, atol=0.05)


def assert_takes_new_weights(
    evaluator: NetworkEvaluator, device: torch.device, tolerance: float
) -> None:
    """From the host and from its own device, and it says what the plain network says with them."""
    planes = random_positions(64, 7)
    for seed, place in ((0, torch.device("cpu")), (1, device)):
        evaluator.refresh(trained_like(seed).to(place))
        assert_plain(evaluator, trained_like(seed), planes, tolerance)


@pytest.mark.parametrize("precision", ["fp32", "auto"])
def test_on_every_device_it_says_what_the_plain_network_says_and_takes_new_weights(
    device: torch.device, precision: str
) -> None:
    profile = profile_on(device, precision)
    profile.apply()
    evaluator = NetworkEvaluator(trained_like(0), size=7, swap=True, batch=64, profile=profile)
    assert evaluator.backend == "eager"
    assert_takes_new_weights(evaluator, device, 1e-3 if evaluator.dtype == torch.float32 else 0.1)


class TestNetwork(EvaluatorConformance):
    sizes = (2, 4)

    @pytest.fixture(autouse=True)
    def _on(self, device: torch.device) -> None:
        self.profile = profile_on(device)

    def make(self, size: int, swap: bool, batch: int) -> Evaluator:
        return NetworkEvaluator(
            trained_like(), size=size, swap=swap, batch=batch, profile=self.profile
        )


class TestFused(EvaluatorConformance):
    sizes = (4,)

    def make(self, size: int, swap: bool, batch: int) -> Evaluator:
        return NetworkEvaluator(
            trained_like(), size=size, swap=swap, batch=batch, profile=cpu_profile("fused")
        )


def test_evaluator_is_a_snapshot_that_later_training_does_not_reach() -> None:
    net = trained_like()
    planes = random_positions(4, 5)
    evaluator = NetworkEvaluator(net, size=5, swap=False, batch=4, profile=cpu_profile())
    before, _ = evaluated(evaluator, planes)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.1)
    after, _ = evaluated(evaluator, planes)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("inference", ["fused", "winograd", "auto"])
@pytest.mark.parametrize(("key", "name"), [("activation", "mish"), ("attention", "self")])
def test_layer_without_an_operator_of_the_backend_goes_eager_with_one_warning(
    key: str,
    name: str,
    inference: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    net = trained_like(0, **{key: name})
    with caplog.at_level(logging.WARNING):
        evaluator = NetworkEvaluator(
            net, size=4, swap=False, batch=4, profile=cpu_profile(inference)
        )
        NetworkEvaluator(net, size=4, swap=False, batch=2, profile=cpu_profile(inference))
    assert evaluator.backend == "eager"
    (record,) = caplog.records
    assert f"net.{key}={name} " in record.getMessage()
    assert (
        "Eager operators take its place: the answers are right, but self-play takes longer"
        in record.getMessage()
    )
    assert_plain(evaluator, net, random_positions(4, 4), 1e-3)


def _wrong(self: fused.FusedForward, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(self.batch, self.size**2 + 1) * 5, torch.zeros(self.batch)


def _nan(self: fused.FusedForward, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(self.batch, self.size**2 + 1), torch.full((self.batch,), torch.nan)


def _gone(self: fused.FusedForward, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    raise RuntimeError("Expected at most 10 arguments")


@pytest.mark.parametrize(
    ("fault", "said"), [(_wrong, "off by"), (_nan, "off by nan"), (_gone, "at most 10")]
)
def test_fused_backend_that_differs_or_fails_is_not_used(
    fault: Callable[..., object],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(fused.FusedForward, "__call__", fault)
    with caplog.at_level(logging.WARNING):
        evaluator = NetworkEvaluator(
            trained_like(), size=4, swap=False, batch=4, profile=cpu_profile()
        )
    assert evaluator.backend == "eager"
    (record,) = caplog.records
    assert said in record.getMessage()


def test_network_with_diverged_weights_is_refused_as_such() -> None:
    net = trained_like()
    torch.nn.init.constant_(net.stem.conv.weight, torch.nan)
    with pytest.raises(ValueError, match="diverged"):
        NetworkEvaluator(net, size=4, swap=False, batch=4, profile=cpu_profile())


def test_wrong_shapes_are_refused() -> None:
    evaluator = NetworkEvaluator(trained_like(), size=4, swap=False, batch=4, profile=cpu_profile())
    with pytest.raises(ValueError, match="must be"):
        evaluator.evaluate(
            random_positions(3, 4), np.zeros((3, 16), np.float32), np.zeros(3, np.float32)
        )


@pytest.mark.parametrize("swap", [True, False])
def test_run_with_one_copy_each_way_says_what_the_run_in_host_memory_says(swap: bool) -> None:
    net, planes, cpu = trained_like(), random_positions(8, 5), torch.device("cpu")
    in_host_memory = NetworkEvaluator(net, size=5, swap=swap, batch=8, profile=cpu_profile("eager"))
    forward = TwinForward(net, cpu, torch.float32, channels_last=False)
    actions = 25 + int(swap)
    policy, value = np.zeros((8, actions), np.float32), np.zeros(8, np.float32)
    with torch.inference_mode():
        DeviceRun(forward, cpu, planes.shape, actions, graph=False)(planes, policy, value)
    for got, expected in zip((policy, value), evaluated(in_host_memory, planes), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.slow
def test_compiled_backend_equals_the_plain_network_and_refreshes_without_compiling_again() -> None:
    evaluator = NetworkEvaluator(
        trained_like(0), size=5, swap=True, batch=8, profile=cpu_profile("compile")
    )
    if evaluator.backend != "compile":
        pytest.skip("no compiler on this machine")
    net, planes = trained_like(1), random_positions(8, 5)
    compiled_before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    evaluator.refresh(net)
    assert_plain(evaluator, net, planes, 1e-3)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == compiled_before


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["graph", "eager", "compile"])
@pytest.mark.parametrize("precision", ["fp32", "auto"])
def test_cuda_backend_equals_the_plain_network_and_refreshes(backend: str, precision: str) -> None:
    profile = build_profile(
        AcceleratorConfig(
            device="cuda",
            inference=backend,
            inference_precision=precision,
            matmul_precision="highest",
        )
    )
    profile.apply()
    for _ in range(
        2
    ):  # self-play has one for each group of games, and evaluates in another thread every round
        evaluator = NetworkEvaluator(trained_like(0), size=7, swap=True, batch=64, profile=profile)
        assert evaluator.backend == backend
        with ThreadPoolExecutor(1) as thread:
            tolerance = 1e-3 if precision == "fp32" else 0.1
            thread.submit(
                assert_takes_new_weights, evaluator, torch.device("cuda"), tolerance
            ).result()


class FullCard:
    """A forward pass on a card that holds `most` positions at once; counts those of each call."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.calls: list[int] = []
        self.forward = TwinForward(
            trained_like(), torch.device("cpu"), torch.float32, channels_last=False
        )

    def __call__(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.calls.append(len(planes))
        if len(planes) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return self.forward(planes)

    def refresh(self, net: HexNet) -> None:
        self.forward.refresh(net)


def on_card(card: FullCard, monkeypatch: pytest.MonkeyPatch, batch: int = 7) -> NetworkEvaluator:
    """An evaluator that evaluates by `card` on a cuda:1; pretend one before."""
    monkeypatch.setattr(NetworkEvaluator, "_make_forward", lambda *arguments: card)
    profile = replace(profile_on(torch.device("cpu")), device=torch.device("cuda:1"))
    return NetworkEvaluator(trained_like(), size=4, swap=False, batch=batch, profile=profile)


def test_a_full_card_evaluates_half_of_the_positions_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While it is built, or later when the training beside it has taken the memory."""
    pretend_cuda(monkeypatch)
    card, planes = FullCard(7), random_positions(7, 4)
    with PretendedDevice("cuda"), caplog.at_level(logging.WARNING):
        evaluator = on_card(card, monkeypatch)
        card.most, card.calls = 4, []
        later = evaluated(evaluator, planes)
        assert card.calls == [7, 4, 4]
        built = evaluated(on_card(FullCard(4), monkeypatch), planes)
    for got in (later, built):
        for one, expected in zip(got, plain(trained_like(), planes, 16), strict=True):
            np.testing.assert_allclose(one, expected, atol=1e-5)
    assert len(caplog.records) == 2
    assert "cuda:1 is out of memory with 7 positions at once" in caplog.text
    assert (
        "evaluating 4 at once from now on; selfplay.ahead=false or accelerator.memory_cap"
        in caplog.text
    )


@pytest.mark.parametrize(("batch", "rows"), [(7, 4), (1, 1)])
def test_a_card_that_is_too_full_for_half_of_them_is_one_line(
    batch: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_cuda(monkeypatch)
    with (
        PretendedDevice("cuda"),
        pytest.raises(UsageError, match="with 4 positions at once .* accelerator.memory_cap"),
    ):
        on_card(FullCard(3), monkeypatch)


def test_every_thread_that_evaluates_works_on_the_card_of_the_evaluator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread begins with card 0, where a call that names no card would make a context."""
    current = pretend_cuda(monkeypatch)
    with PretendedDevice("cuda"):
        evaluator = on_card(FullCard(7), monkeypatch)
        assert (current[0], current[-1]) == ("enter cuda:1", "leave cuda:1")
        current.clear()

        def evaluate() -> None:
            with PretendedDevice("cuda"):
                evaluated(evaluator, random_positions(7, 4))

        with ThreadPoolExecutor(1) as pool:
            pool.submit(evaluate).result()
    assert current == ["enter cuda:1", "stream of cuda:1", "leave cuda:1"]
