"""Optimizers with little state."""

import io

import pytest
import torch
from torch import Tensor, nn

from hexlit.training.config import OptimizerConfig
from hexlit.training.optimizer import AdamWBf16, FlatParameters, build_optimizer, rounded_to_bf16


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.Flatten(), nn.Linear(6, 2))


def give_gradients(model: nn.Module, step: int) -> None:
    for parameter in model.parameters():
        parameter.grad = torch.sin(parameter.detach() * 7 + step)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        give_gradients(model, step)
        optimizer.step()


def weights(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_bf16_rounding_goes_to_a_neighbour_and_is_right_on_average() -> None:
    x = torch.tensor([1 + 2**-9, -3.3, 1e-20, 0.0, 1 + 2**-7])
    many = rounded_to_bf16(
        x.expand(20_000, 5).contiguous(), torch.Generator().manual_seed(0)
    ).float()
    assert [len(column.unique()) for column in many.T] == [2, 2, 2, 1, 1], (
        "what bfloat16 can hold stays exact"
    )
    assert (many - x).abs().div(x.abs().clamp_min(1e-30)).max() < 2**-7
    assert torch.allclose(many.double().mean(0), x.double(), rtol=2e-4, atol=0)


def test_bf16_rounding_keeps_what_is_not_finite() -> None:
    """The NaN of CUDA has all bits set, which noise would carry over into a number."""
    all_bits_set = torch.tensor([0x7FFFFFFF], dtype=torch.int32).view(torch.float32)
    x = torch.cat((all_bits_set, torch.tensor([torch.nan, torch.inf, -torch.inf])))
    for _ in range(20):
        rounded = rounded_to_bf16(x)
        assert rounded[:2].isnan().all()
        assert rounded[2:].tolist() == [torch.inf, -torch.inf]


def test_second_moment_in_bf16_falls_as_in_fp32_where_the_nearest_value_would_stand_still() -> None:
    """Gradients of 1, then of 0.1; the mean of the squares has to follow."""
    gradients = [1.0] * 500 + [0.1] * 1500
    exact, nearest = 0.0, torch.zeros((), dtype=torch.bfloat16)
    parameter = nn.Parameter(torch.zeros(1000))
    optimizer = AdamWBf16([parameter], lr=1e-3)
    for gradient in gradients:
        exact = 0.999 * exact + 0.001 * gradient**2
        nearest = (0.999 * nearest.float() + 0.001 * gradient**2).bfloat16()
        parameter.grad = torch.full_like(parameter, gradient)
        optimizer.step()
    moment = optimizer.state[parameter]["exp_avg_sq"]
    assert moment.dtype == torch.bfloat16
    assert moment.float().mean().item() == pytest.approx(exact, rel=0.02)
    assert nearest.item() > 2 * exact


def test_bf16_draws_depend_on_the_seed_alone_and_leave_the_stream_of_torch_alone() -> None:
    results: list[Tensor] = []
    for seed in (5, 5, 6):
        model = net()
        torch.manual_seed(seed)
        optimizer = AdamWBf16(model.parameters(), lr=0.01)
        torch.rand(len(results))
        before = torch.get_rng_state()
        train(model, optimizer, range(20))
        assert torch.equal(torch.get_rng_state(), before)
        results.append(weights(model))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_state_goes_through_a_file_and_training_goes_on_as_if_never_stopped() -> None:
    model = net()
    optimizer = AdamWBf16(model.parameters(), lr=0.01)
    train(model, optimizer, range(5))
    file = io.BytesIO()
    torch.save({"net": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    train(model, optimizer, range(5, 10))
    file.seek(0)
    saved = torch.load(file, weights_only=True)

    torch.manual_seed(99)
    resumed = net()
    resumed.load_state_dict(saved["net"])
    second = AdamWBf16(resumed.parameters(), lr=0.5)
    second.load_state_dict(saved["optimizer"])
    for state in second.state.values():
        kinds = {name: tensor.dtype for name, tensor in state.items() if name != "step"}
        assert kinds == {"exp_avg": torch.bfloat16, "exp_avg_sq": torch.bfloat16}
    train(resumed, second, range(5, 10))
    assert torch.equal(weights(resumed), weights(model))


def test_closure_is_evaluated_with_gradients_and_its_loss_returned() -> None:
    """Lightning always passes a closure."""
    parameter = nn.Parameter(torch.ones(3))
    unused = nn.Parameter(torch.ones(3))
    optimizer = AdamWBf16([parameter, unused], lr=0.1)

    def closure() -> float:
        loss = parameter.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    assert optimizer.step(closure) == 3
    assert (parameter < 1).all()
    assert (unused == 1).all(), "what has no gradient stays"
    assert unused not in optimizer.state


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_adafactor_sees_a_kernel_as_a_matrix(memory_format: torch.memory_format) -> None:
    torch.manual_seed(0)
    layer = nn.Conv2d(4, 6, 3, bias=False).to(memory_format=memory_format)  # type: ignore[call-overload]
    matrix = nn.Parameter(layer.weight.detach().flatten(1).clone())
    parameters = FlatParameters(layer, by_parameter=True)
    config = OptimizerConfig(name="adafactor", weight_decay=0.1)
    ours = build_optimizer(config, parameters, fused=False, lr=0.1)
    plain = torch.optim.Adafactor([matrix], lr=0.1, weight_decay=0.1, eps=(None, 1e-2))
    for step in range(20):
        layer.weight.grad = torch.sin(layer.weight.detach() * 7 + step)
        matrix.grad = torch.sin(matrix.detach() * 7 + step)
        parameters.gradients()
        ours.step()
        plain.step()  # type: ignore[no-untyped-call]
    assert torch.allclose(layer.weight.detach().flatten(1), matrix.detach(), atol=1e-5)
    assert layer.weight.is_contiguous(memory_format=memory_format)
    (state,) = ours.state.values()
    assert sum(tensor.numel() for name, tensor in state.items() if name != "step") == 6 + 36


@pytest.mark.gpu
def test_cuda_takes_the_steps_of_the_cpu() -> None:
    """Bf16 moments up to their rounding, as devices draw differently."""
    host, device = net(), net().cuda()
    train(host, AdamWBf16(host.parameters(), lr=0.01), range(20))
    train(device, AdamWBf16(device.parameters(), lr=0.01), range(20))
    assert torch.allclose(weights(host), weights(device).cpu(), atol=1e-2)
