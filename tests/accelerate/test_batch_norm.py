"""Batch renormalisation: training normalises as evaluation does."""

import torch
from torch import Tensor

from hexlit.accelerate.batch_norm import MOST_RATIO, MOST_SHIFT, BatchRenorm2d


def norm() -> BatchRenorm2d:
    layer = BatchRenorm2d(3).double()
    mean, variance = running(layer)
    with torch.no_grad():
        layer.weight.normal_()
        layer.bias.normal_()
        mean.normal_()
        variance.uniform_(0.5, 2)
    return layer


def running(layer: BatchRenorm2d) -> tuple[Tensor, Tensor]:
    assert layer.running_mean is not None
    assert layer.running_var is not None
    return layer.running_mean, layer.running_var


def test_training_gives_what_evaluation_does_and_notes_the_batch() -> None:
    torch.manual_seed(0)
    layer = norm()
    images = torch.randn(8, 3, 5, 5, dtype=torch.float64)
    expected = layer.eval()(images)
    before = running(layer)[0].clone()
    torch.testing.assert_close(layer.train()(images), expected)
    moved = running(layer)[0] - before
    torch.testing.assert_close(moved, 0.003 * (images.mean((0, 2, 3)) - before))


def test_gradients_are_those_of_the_batch_with_a_fixed_correction() -> None:
    """Ioffe 2017, algorithm 1; statistics far away are corrected up to the bounds."""
    torch.manual_seed(0)
    layer = norm()
    images = torch.randn(8, 3, 5, 5, dtype=torch.float64)
    images[:, 2] = 100 * images[:, 2] + 2000
    mean, variance = (one.clone() for one in running(layer))
    found, plain = (images.clone().requires_grad_() for _ in range(2))
    layer.train()(found).pow(3).sum().backward()
    own = plain.mean((0, 2, 3), keepdim=True)
    deviation = (plain.var((0, 2, 3), keepdim=True, correction=0) + layer.eps).sqrt()
    steady = (variance + layer.eps).sqrt().view_as(own)
    ratio = (deviation / steady).detach().clamp(1 / MOST_RATIO, MOST_RATIO)
    shift = ((own - mean.view_as(own)) / steady).detach().clamp(-MOST_SHIFT, MOST_SHIFT)
    scaled = (plain - own) / deviation * ratio + shift
    weight, bias = (one.detach().view_as(own) for one in (layer.weight, layer.bias))
    (scaled * weight + bias).pow(3).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(found.grad, plain.grad)
