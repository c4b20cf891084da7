"""Optimizers and the learning rate over a run."""

import math
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from torch import nn
from torch.nn import functional

from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net
from hexlit.training.config import OPTIMIZERS, OptimizerConfig, TrainerConfig
from hexlit.training.optimizer import (
    AdamWBf16,
    FlatParameters,
    RunningAverage,
    StateBefore,
    build_optimizer,
    learning_rate_factor,
    optimizer_state_bytes,
    scaled_lr,
)

CONF = Path(__file__).resolve().parents[2] / "conf" / "optimizer"
KINDS: dict[str, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
    "adafactor": torch.optim.Adafactor,
    "adamw_bf16": AdamWBf16,
}


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2))


def preset(name: str) -> OptimizerConfig:
    config = OmegaConf.to_object(
        OmegaConf.merge(
            OmegaConf.structured(OptimizerConfig), OmegaConf.load(CONF / f"{name}.yaml")
        )
    )
    assert isinstance(config, OptimizerConfig)
    return config


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("fused", [False, True])
def test_only_kernels_and_matrices_decay_and_every_parameter_is_updated_once(
    name: str, fused: bool
) -> None:
    model = net()
    parameters = FlatParameters(model, by_parameter=name == "adafactor")
    optimizer = build_optimizer(
        OptimizerConfig(name=name, weight_decay=0.3), parameters, fused=fused, lr=0.1
    )
    assert isinstance(optimizer, KINDS[name])
    decays = {
        group["weight_decay"]: {p.data_ptr() for p in group["params"]}
        for group in optimizer.param_groups
    }
    kernels = {model.get_parameter(name).data_ptr() for name in ("0.weight", "3.weight")}
    assert decays[0.3] == (
        kernels if name == "adafactor" else {model.get_parameter("0.weight").data_ptr()}
    )
    assert decays[0.0].isdisjoint(kernels)
    sizes = [p.numel() for group in optimizer.param_groups for p in group["params"]]
    assert sum(sizes) == sum(p.numel() for p in model.parameters())
    if name in ("adamw", "sgd"):  # the others have no fused kernel
        assert all(group["fused"] == fused for group in optimizer.param_groups)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    parameters.gradients()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.step()
    assert all((was != now).all() for was, now in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_a_flat_update_is_that_of_each_parameter_and_a_resumed_run_may_have_another_layout(
    name: str,
) -> None:
    """Also with `channels_last` kernels, a parameter without gradient, and an average beside it."""
    torch.manual_seed(0)
    plain = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 1, bias=False), nn.BatchNorm2d(2)
    ).double()
    plain[3].weight.requires_grad_(False)
    flat, other = deepcopy(plain).to(memory_format=torch.channels_last), deepcopy(plain)  # type: ignore[call-overload]
    config = OptimizerConfig(name=name, weight_decay=0.1)
    kind: Any = torch.optim.AdamW if name == "adamw" else torch.optim.SGD
    more = {} if name == "adamw" else {"momentum": 0.9, "nesterov": True}
    trained = [p for p in plain.parameters() if p.requires_grad]
    decays = [
        {"params": [p for p in trained if (p.ndim > 1) == matrix], "weight_decay": 0.1 * matrix}
        for matrix in (1, 0)
    ]
    reference = kind(decays, lr=0.05, **more)
    parameters = FlatParameters(flat)
    optimizer = build_optimizer(config, parameters, fused=True, lr=0.05)
    average = RunningAverage(flat, 0.9)
    average.follow(flat, parameters)
    means = [p.detach().clone() for p in plain.parameters()]

    def step(
        model: nn.Module, held: FlatParameters, one: torch.optim.Optimizer, x: torch.Tensor
    ) -> None:
        model(x).pow(3).mean().backward()
        held.gradients()
        one.step()

    for number in range(3):
        x = torch.randn(2, 3, 5, 5, dtype=torch.float64)
        reference.zero_grad()
        plain(x).pow(3).mean().backward()
        reference.step()
        step(flat, parameters, optimizer, x)
        average.update()
        for mean, now in zip(means, plain.parameters(), strict=True):
            mean.lerp_(now.detach(), 0.1 if number else 1.0)
    torch.testing.assert_close(list(flat.parameters()), list(plain.parameters()))
    torch.testing.assert_close([p.detach() for p in average.module.parameters()], means)
    assert flat[0].weight.is_contiguous(memory_format=torch.channels_last)

    other.load_state_dict(flat.state_dict())
    theirs = FlatParameters(other)
    resumed = build_optimizer(config, theirs, fused=False, lr=0.05)
    saved = deepcopy(optimizer.state_dict())
    moment = "exp_avg" if name == "adamw" else "momentum_buffer"
    assert [state[moment].shape for state in saved["state"].values()] == [
        (4, 3, 3, 3),
        (2, 4, 1, 1),
        (4,),
        (2,),
    ]
    resumed.load_state_dict(saved)
    assert [group["fused"] for group in resumed.param_groups] == [False, False]
    step(flat, parameters, optimizer, x)
    step(other, theirs, resumed, x)
    torch.testing.assert_close(list(other.parameters()), list(flat.parameters()))


@pytest.mark.parametrize(
    ("scaling", "rates"), [("none", [1, 1, 1]), ("linear", [0.5, 1, 8]), ("sqrt", [0.707, 1, 2.83])]
)
def test_the_rate_is_scaled_to_the_batch_as_configured(scaling: str, rates: list[float]) -> None:
    config = OptimizerConfig(lr=1.0, lr_scaling=scaling, lr_batch=128)
    assert [scaled_lr(config, batch) for batch in (64, 128, 1024)] == pytest.approx(rates, rel=1e-3)


def noisy(examples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs `[N, 8]` and a curved function of three
    of them with noise of variance 0.09, `[N, 1]`.
    """
    x = torch.randn(examples, 8)
    return x, torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3] + 0.3 * torch.randn(examples, 1)


def regression(name: str) -> tuple[float, float]:
    """Mean squared error of a small network on new examples, before and after 400 steps."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
    parameters = FlatParameters(model, by_parameter=name == "adafactor")
    optimizer = build_optimizer(preset(name), parameters, fused=False, lr=preset(name).lr)
    unseen = noisy(2048)

    def loss(examples: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return functional.mse_loss(model(examples[0]), examples[1])

    before = loss(unseen).item()
    for _ in range(400):
        optimizer.zero_grad()
        loss(noisy(64)).backward()  # type: ignore[no-untyped-call]
        parameters.gradients()
        optimizer.step()
    return before, loss(unseen).item()


def test_every_optimizer_lowers_the_loss_of_a_regression_and_bf16_state_as_far_as_fp32() -> None:
    last = {}
    for name in OPTIMIZERS:
        before, last[name] = regression(name)
        assert last[name] < 0.5 * before, name
    assert last["adamw_bf16"] == pytest.approx(last["adamw"], rel=0.05)


def test_state_takes_8_bytes_a_parameter_4_or_hardly_any() -> None:
    """On the network of the default run."""
    model = build_net(NetConfig(blocks=[4]))
    found = {}
    for name in OPTIMIZERS:
        parameters = FlatParameters(model, by_parameter=name == "adafactor")
        optimizer = build_optimizer(preset(name), parameters, fused=False, lr=preset(name).lr)
        assert optimizer_state_bytes(optimizer) == 0
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        parameters.gradients()
        optimizer.step()
        found[name] = optimizer_state_bytes(optimizer) / sum(p.numel() for p in model.parameters())
    assert 8 <= found["adamw"] < 8.01
    assert found["sgd"] == 4
    assert found["adamw_bf16"] == 4
    assert found["adafactor"] < 0.15


def test_the_rate_warms_up_and_falls_along_a_cosine() -> None:
    progress = 0.0
    factor = learning_rate_factor(
        OptimizerConfig(warmup_steps=9, final_lr_share=0.1), lambda: progress
    )
    assert [round(factor(step), 6) for step in (0, 4, 9, 50)] == [0.1, 0.5, 1.0, 1.0]
    progress = 0.5
    assert factor(50) == pytest.approx(0.55)
    progress = 1.0
    assert factor(50) == pytest.approx(0.1)
    progress = 1.5
    assert factor(50) == pytest.approx(0.1)


def test_the_rate_stays_low_after_the_share_of_the_run_in_which_it_falls() -> None:
    settings = OptimizerConfig(warmup_steps=0, final_lr_share=0.2, decay_share=0.5)
    at = {}
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        at[share] = learning_rate_factor(settings, partial(float, share))(1)
    assert at == pytest.approx({0.0: 1.0, 0.25: 0.6, 0.5: 0.2, 0.75: 0.2, 1.0: 0.2})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:30:00", 1800), ("1:02:03:04", 93784), ("12:00:00", 43200), ("0:0:5", 5), (None, None)],
)
def test_a_time_limit_is_read_in_hours_or_days(text: str | None, seconds: float | None) -> None:
    assert TrainerConfig(max_time=text).max_seconds == seconds


def test_a_state_that_a_step_has_replaced_is_restored() -> None:
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    optimizer.state[parameter]["mean"] = torch.ones(2)
    before = StateBefore(optimizer)
    optimizer.state[parameter]["mean"] = torch.full((2,), math.nan)
    before.restore_unless(torch.tensor(False))
    assert optimizer.state[parameter]["mean"].tolist() == [1.0, 1.0]
