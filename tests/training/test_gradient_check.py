"""Gradients of a device next to those of the CPU."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import Function

from hexlit.errors import UsageError
from hexlit.training import gradient_check
from hexlit.training.gradient_check import check_gradients, gradient_difference
from tests.training.test_module import Regression, batches, weights


class _Faulty(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * torch.linspace(0, 2, gradient.shape[1])


class OnlyHere(nn.Module):
    """Its gradient is wrong until it is moved to the CPU."""

    moved = False

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = x if self.moved else _Faulty.apply(x)  # type: ignore[no-untyped-call]
        return result

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self.moved = True
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]


class Drawing(nn.Module):
    """Noise that no setting of dropout ends."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rand_like(x)


def with_layer(layer: nn.Module) -> Regression:
    def layers() -> nn.Module:
        return nn.Sequential(
            nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Tanh(), layer, nn.Linear(8, 1)
        )

    return Regression(layers=layers)


def test_equal_gradients_pass_and_nothing_changes() -> None:
    module = with_layer(nn.Identity())
    before = weights(module).clone(), copy.deepcopy(module.net.state_dict()), torch.get_rng_state()
    assert gradient_difference(module, batches(1)[0]) < 1e-6
    assert torch.equal(weights(module), before[0])
    for name, tensor in module.net.state_dict().items():
        assert torch.equal(tensor, before[1][name])
    assert torch.equal(torch.get_rng_state(), before[2])
    assert all(parameter.grad is None for parameter in module.net.parameters())


def test_a_network_that_draws_is_not_judged() -> None:
    assert gradient_difference(with_layer(Drawing()), batches(1)[0]) == 0


def test_a_wrong_gradient_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = OnlyHere()
    module = with_layer(layer)
    layer.moved = False
    assert gradient_difference(module, batches(1)[0]) > 0.1
    check_gradients(module)  # on a CPU there is nothing to compare
    monkeypatch.setattr(gradient_check, "gradient_difference", lambda module, batch: 0.34)
    monkeypatch.setattr(Regression, "device", torch.device("mps"))
    with pytest.raises(UsageError, match=r"^training: the gradients of mps differ .* by 34%;"):
        check_gradients(module)
