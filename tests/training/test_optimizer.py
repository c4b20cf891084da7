"""Optimizers and the learning rate over a run."""

import pytest
import torch
from torch import nn

from hexlit.errors import UsageError
from hexlit.training.config import OptimizerConfig, TrainerConfig
from hexlit.training.optimizer import build_optimizer, learning_rate_factor


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2))


@pytest.mark.parametrize(("name", "kind"), [("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)])
@pytest.mark.parametrize("fused", [False, True])
def test_only_kernels_and_matrices_decay_and_every_parameter_is_updated_once(
    name: str, kind: type[torch.optim.Optimizer], fused: bool
) -> None:
    """A22."""
    model = net()
    optimizer = build_optimizer(OptimizerConfig(name=name, lr=0.1, weight_decay=0.3), model, fused=fused)
    assert isinstance(optimizer, kind)
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(decay) == len(list(model.parameters()))
    for parameter_name, parameter in model.named_parameters():
        decays = parameter_name in ("0.weight", "3.weight")
        assert decay[id(parameter)] == (0.3 if decays else 0.0), parameter_name
    assert all(group["fused"] == fused for group in optimizer.param_groups)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.step()
    assert all((was != now).all() for was, now in zip(before, model.parameters(), strict=True))


def test_fused_and_plain_updates_agree() -> None:
    """A22, A26."""
    results = []
    for fused in (False, True):
        torch.manual_seed(0)
        model = net()
        optimizer = build_optimizer(OptimizerConfig(lr=0.01), model, fused=fused)
        for step in range(5):
            for parameter in model.parameters():
                parameter.grad = torch.sin(parameter.detach() * 7 + step)
            optimizer.step()
        results.append(torch.cat([parameter.detach().flatten() for parameter in model.parameters()]))
    assert torch.allclose(results[0], results[1], atol=1e-6)


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


def test_a_constant_rate_stays_and_no_warmup_starts_at_once() -> None:
    constant = learning_rate_factor(OptimizerConfig(schedule="constant", warmup_steps=0), lambda: 0.9)
    assert [constant(step) for step in (0, 1, 1000)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "adam"},
        {"schedule": "linear"},
        {"lr": 0.0},
        {"lr": float("nan")},
        {"lr": float("inf")},
        {"weight_decay": -0.1},
        {"momentum": 1.0},
        {"final_lr_share": 0.0},
        {"warmup_steps": -1},
    ],
    ids=str,
)
def test_optimizer_settings_out_of_range_are_refused(wrong: dict[str, float | str]) -> None:
    (key,) = wrong
    with pytest.raises(UsageError, match=key):
        OptimizerConfig(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "seconds"), [("00:30:00", 1800), ("1:02:03:04", 93784), ("12:00:00", 43200), ("0:0:5", 5), (None, None)]
)
def test_a_time_limit_is_read_in_hours_or_days(text: str | None, seconds: float | None) -> None:
    assert TrainerConfig(max_time=text).max_seconds == seconds


@pytest.mark.parametrize("text", ["abc", "30", "5:00", "1:2:3:4:5", "-1:00:00", "00:30:00s", ""])
def test_another_time_limit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="00:30:00"):
        TrainerConfig(max_time=text)


def test_trainer_settings_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match=r"trainer.max_epochs=0"):
        TrainerConfig(max_epochs=0)
    with pytest.raises(UsageError, match=r"trainer.gradient_clip=-1"):
        TrainerConfig(gradient_clip=-1)
