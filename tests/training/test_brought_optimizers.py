"""Optimizers of torch and of other packages, by name: what they update, in checkpoints, refused."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from hexlit.errors import UsageError
from hexlit.settings import OPTIMIZER_GROUP, SCHEDULE_GROUP
from hexlit.training.config import OptimizerConfig
from hexlit.training.optimizer import (
    check_optimizer,
    learning_rate_factor,
    optimizer_state_bytes,
)
from tests.nets.brought_blocks import package
from tests.training.test_module import Regression, batches, weights
from tests.training.trainers import as_they_are, quiet_trainer


class Signs(torch.optim.Optimizer):
    """Steps by the sign of the gradient."""

    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.data.add_(parameter.grad.sign(), alpha=-group["lr"])


def falling(progress: float) -> float:
    """A schedule."""
    return 1 - progress


MUON = {"name": "torch.optim.Muon", "parameters": "matrices"}


@pytest.mark.parametrize(
    ("optimizer", "kind"),
    [
        (MUON, torch.optim.Muon),
        ({"name": "torch.optim.RMSprop", "arguments": {"alpha": 0.9}}, torch.optim.RMSprop),
    ],
    ids=["matrices", "all"],
)
def test_a_run_goes_on_with_the_state_of_its_optimizer(
    optimizer: dict[str, Any], kind: type, tmp_path: Path
) -> None:
    whole, first, second = (
        Regression(optimizer={"momentum": None, "lr": 0.05, **optimizer}) for _ in range(3)
    )
    data = as_they_are(batches())
    trainer = quiet_trainer(1)
    trainer.fit(first, data)
    trainer.save_checkpoint(tmp_path / "net.ckpt")
    made = trainer.optimizers[0]
    assert isinstance(made, kind) or kind in {type(one) for one in made._pair}  # type: ignore[attr-defined]
    assert optimizer_state_bytes(made) > 0
    quiet_trainer(2).fit(second, data, ckpt_path=tmp_path / "net.ckpt", weights_only=True)
    quiet_trainer(2).fit(whole, data)
    assert torch.equal(weights(second), weights(whole))
    assert not torch.equal(weights(first), weights(whole))


def test_matrices_alone_go_to_the_named_optimizer() -> None:
    """The others are updated by AdamW: a first step of size `lr`, whatever the gradient."""
    module = Regression(optimizer={"momentum": None, "lr": 0.01, **MUON})
    before = [parameter.detach().clone() for parameter in module.net.parameters()]
    quiet_trainer(1).fit(module, as_they_are(batches(1)))
    for old, new in zip(before, module.net.parameters(), strict=True):
        moved: Tensor = (new.detach() - old).abs()
        assert moved.max() > 0
        if old.ndim == 1:
            torch.testing.assert_close(moved, torch.full_like(moved, 0.01), rtol=1e-3, atol=1e-4)


def test_packages_bring_optimizers_and_schedules(tmp_path: Path) -> None:
    place = f"{__name__}:"
    with (
        package(tmp_path / "a", f"signs = {place}Signs", name="a", group=OPTIMIZER_GROUP),
        package(tmp_path / "b", f"falling = {place}falling", name="b", group=SCHEDULE_GROUP),
    ):
        module = Regression(optimizer={"name": "signs", "momentum": None, "lr": 0.25})
        before = weights(module)
        quiet_trainer(1).fit(module, as_they_are(batches(1)))
        torch.testing.assert_close((weights(module) - before).abs().max(), torch.tensor(0.25))
        config = OptimizerConfig(schedule="falling", warmup_steps=0)
        assert learning_rate_factor(config, lambda: 0.25)(7) == 0.75


def test_a_schedule_gives_no_rate_below_zero(tmp_path: Path) -> None:
    """That would climb the loss; and a package that cannot be imported is one line."""
    lines = (f"falling = {__name__}:falling", "gone = nothing_like_it:gone")
    with package(tmp_path / "a", *lines, name="a", group=SCHEDULE_GROUP):
        factor = learning_rate_factor(OptimizerConfig(schedule="falling"), lambda: 1.5)
        with pytest.raises(UsageError, match=r"^optimizer\.schedule=falling: returned -0.5, not"):
            factor(200)
        with pytest.raises(
            UsageError, match=r"^optimizer\.schedule=gone: nothing_like_it:gone can"
        ):
            learning_rate_factor(OptimizerConfig(schedule="gone"), lambda: 0.0)


@pytest.mark.parametrize(
    ("optimizer", "part"),
    [
        ({"name": "torch.optim.Nothing"}, "no subclass of torch.optim.Optimizer"),
        ({"name": "torch.optim.lr_scheduler"}, "no subclass of torch.optim.Optimizer"),
        ({"name": "torch.optim.LBFGS"}, "closure"),
        ({"name": "torch.optim.Adagrad", "arguments": {"odd": 1}}, "odd"),
        ({"name": "torch.optim.Muon"}, "2D.*optimizer.parameters=matrices leaves"),
    ],
)
def test_an_optimizer_that_does_not_fit_is_refused(optimizer: dict[str, Any], part: str) -> None:
    said = f"optimizer.name={optimizer['name']}.*{part}"
    module = Regression(optimizer={"momentum": None, **optimizer})
    with pytest.raises(UsageError, match=said):
        quiet_trainer(1).fit(module, as_they_are(batches(1)))
    with pytest.raises(UsageError, match=said):
        check_optimizer(OptimizerConfig(**optimizer))


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "os.system"},
        {"name": "torch.optim.a.b"},
        {"name": "torch.nn.Linear"},
        {"arguments": {"eps": 1.0}},
        {"name": "torch.optim.NAdam", "arguments": {"lr": 0.1}},
        {"parameters": "matrices"},
        {"name": "torch.optim.SGD", "momentum": 0.9},
        {"schedule": "falling"},
    ],
    ids=str,
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"optimizer\.\w+"):
        OptimizerConfig(**settings)
