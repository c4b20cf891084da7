"""Optimizers and the learning rate over a run."""

from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from torch import nn
from torch.nn import functional

from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net
from hexlit.training.config import OPTIMIZERS, OptimizerConfig, TrainerConfig
from hexlit.training.optimizer import (
    Adafactor,
    AdamWBf16,
    adapt_state,
    build_optimizer,
    learning_rate_factor,
    optimizer_state_bytes,
    scaled_lr,
)

CONF = Path(__file__).resolve().parents[2] / "conf" / "optimizer"
KINDS: dict[str, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
    "adafactor": Adafactor,
    "adamw_bf16": AdamWBf16,
}


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2))


def preset(name: str) -> OptimizerConfig:
    config = OmegaConf.to_object(
        OmegaConf.merge(OmegaConf.structured(OptimizerConfig), OmegaConf.load(CONF / f"{name}.yaml"))
    )
    assert isinstance(config, OptimizerConfig)
    return config


@pytest.mark.row("A22")
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("fused", [False, True])
def test_only_kernels_and_matrices_decay_and_every_parameter_is_updated_once(name: str, fused: bool) -> None:
    model = net()
    optimizer = build_optimizer(OptimizerConfig(name=name, weight_decay=0.3), model, fused=fused, lr=0.1)
    assert isinstance(optimizer, KINDS[name])
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(decay) == len(list(model.parameters()))
    for parameter_name, parameter in model.named_parameters():
        decays = parameter_name in ("0.weight", "3.weight")
        assert decay[id(parameter)] == (0.3 if decays else 0.0), parameter_name
    if name in ("adamw", "sgd"):  # the others have no fused kernel
        assert all(group["fused"] == fused for group in optimizer.param_groups)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.step()
    assert all((was != now).all() for was, now in zip(before, model.parameters(), strict=True))


@pytest.mark.row("A11")
@pytest.mark.parametrize(
    ("scaling", "rates"), [("none", [1, 1, 1]), ("linear", [0.5, 1, 8]), ("sqrt", [0.707, 1, 2.83])]
)
def test_the_rate_is_scaled_to_the_batch_as_configured(scaling: str, rates: list[float]) -> None:
    config = OptimizerConfig(lr=1.0, lr_scaling=scaling, lr_batch=128)
    assert [scaled_lr(config, batch) for batch in (64, 128, 1024)] == pytest.approx(rates, rel=1e-3)


def noisy(examples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs `[N, 8]` and a curved function of three of them with noise of variance 0.09, `[N, 1]`."""
    x = torch.randn(examples, 8)
    return x, torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3] + 0.3 * torch.randn(examples, 1)


def regression(name: str) -> tuple[float, float]:
    """Mean squared error of a small network on new examples, before and after 400 steps."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = build_optimizer(preset(name), model, fused=False, lr=preset(name).lr)
    unseen = noisy(2048)

    def loss(examples: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return functional.mse_loss(model(examples[0]), examples[1])

    before = loss(unseen).item()
    for _ in range(400):
        optimizer.zero_grad()
        loss(noisy(64)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return before, loss(unseen).item()


@pytest.mark.row("A22")
def test_every_optimizer_lowers_the_loss_of_a_regression_and_bf16_state_as_far_as_fp32() -> None:
    last = {}
    for name in OPTIMIZERS:
        before, last[name] = regression(name)
        assert last[name] < 0.5 * before, name
    assert last["adamw_bf16"] == pytest.approx(last["adamw"], rel=0.05)


@pytest.mark.row("A22")
def test_state_takes_8_bytes_a_parameter_4_or_hardly_any() -> None:
    """On the network of the default run."""
    model = build_net(NetConfig(blocks=[4]))
    found = {}
    for name in OPTIMIZERS:
        optimizer = build_optimizer(preset(name), model, fused=False, lr=preset(name).lr)
        assert optimizer_state_bytes(optimizer) == 0
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        found[name] = optimizer_state_bytes(optimizer) / sum(p.numel() for p in model.parameters())
    assert 8 <= found["adamw"] < 8.01
    assert found["sgd"] == 4
    assert found["adamw_bf16"] == 4
    assert found["adafactor"] < 0.15


def test_the_rate_warms_up_and_falls_along_a_cosine() -> None:
    progress = 0.0
    factor = learning_rate_factor(OptimizerConfig(warmup_steps=9, final_lr_share=0.1), lambda: progress)
    assert [round(factor(step), 6) for step in (0, 4, 9, 50)] == [0.1, 0.5, 1.0, 1.0]
    progress = 0.5
    assert factor(50) == pytest.approx(0.55)
    progress = 1.0
    assert factor(50) == pytest.approx(0.1)
    progress = 1.5
    assert factor(50) == pytest.approx(0.1)


def test_the_rate_stays_low_after_the_share_of_the_run_in_which_it_falls() -> None:
    settings = OptimizerConfig(warmup_steps=0, final_lr_share=0.2, decay_share=0.5)
    at = {share: learning_rate_factor(settings, lambda share=share: share)(1) for share in (0.0, 0.25, 0.5, 0.75, 1.0)}  # type: ignore[misc]
    assert at == pytest.approx({0.0: 1.0, 0.25: 0.6, 0.5: 0.2, 0.75: 0.2, 1.0: 0.2})


@pytest.mark.parametrize(
    ("text", "seconds"), [("00:30:00", 1800), ("1:02:03:04", 93784), ("12:00:00", 43200), ("0:0:5", 5), (None, None)]
)
def test_a_time_limit_is_read_in_hours_or_days(text: str | None, seconds: float | None) -> None:
    assert TrainerConfig(max_time=text).max_seconds == seconds


@pytest.mark.parametrize("text", ["abc", "30", "5:00", "1:2:3:4:5", "-1:00:00", "00:30:00s", ""])
def test_another_time_limit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="00:30:00"):
        TrainerConfig(max_time=text)


@pytest.mark.row("A24")
@pytest.mark.parametrize("fused", [True, False])
def test_the_step_of_a_loaded_state_is_where_this_runs_kernel_reads_it(fused: bool) -> None:
    """A run begun in 16-mixed continues in 32-true, or the other way: only a fused kernel reads it on the device."""
    parameter = torch.zeros(2, 2, device="meta")  # stands for a card
    optimizer = torch.optim.AdamW([parameter], fused=False)
    optimizer.defaults["fused"] = fused
    optimizer.param_groups[0]["fused"] = not fused
    step = Step(torch.tensor(3.0))
    optimizer.state[parameter] = {"step": step, "exp_avg": torch.zeros(2, 2), "exp_avg_sq": torch.zeros(2, 2)}
    adapt_state(optimizer)
    assert optimizer.param_groups[0]["fused"] is fused
    assert optimizer.state[parameter]["step"] == ("moved", "meta" if fused else "cpu")
    assert optimizer.state[parameter]["exp_avg"].device.type == "meta"


class Step(torch.Tensor):
    """Tells where it is moved to; nothing can be copied from the meta device."""

    def to(self, device: torch.device | str) -> Any:  # type: ignore[override]
        return "moved", str(device)
