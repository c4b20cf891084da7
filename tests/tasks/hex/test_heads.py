"""Heads and losses of further targets: the usual ones by their formulas, and broken ones."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.selfplay.targets import Target
from hexlit.tasks.hex.heads import make_heads, target_loss

NAN = math.nan
PLANES = torch.zeros(2, 5, 2, 2)
PLANES[0, 0, 0, 0] = 1


def target(kind: str, **parts: Any) -> Target:
    return Target("mine", 1.0, SimpleNamespace(KIND=kind, **parts))


@pytest.mark.parametrize(
    ("kind", "output", "wanted", "loss"),
    [
        ("cells", [[0, 0, 0, 0]] * 2, [[1, 0, 1, NAN], [NAN] * 4], 3 / 8 * math.log(2)),
        ("policy", [[9, 0, 0, 0]] * 2, [[0, 1, 0, 0], [NAN] * 4], math.log(3) / 2),
        ("value", [0, 100], [0.5, NAN], 0.125),
    ],
)
def test_what_is_unknown_teaches_nothing(kind: str, output: Any, wanted: Any, loss: float) -> None:
    logits = torch.tensor(output, dtype=torch.float32, requires_grad=True)
    found = target_loss(target(kind), logits, torch.tensor(wanted), PLANES)
    assert float(found) == pytest.approx(loss, rel=1e-5)
    found.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert (logits.grad[torch.tensor(wanted).isnan()] == 0).all()


def test_usual_heads_have_the_shapes_of_their_targets() -> None:
    for kind, shape in (("cells", (2, 9)), ("policy", (2, 9)), ("value", (2,))):
        head = make_heads([target(kind)], NetConfig(channels=8))["mine"]
        assert head(torch.zeros(2, 8, 3, 3)).shape == shape


def a_column(output: Tensor, wanted: Tensor) -> Tensor:
    return (output - wanted) ** 2


@pytest.mark.parametrize(
    ("parts", "shape", "said"),
    [
        ({}, (2, 1), r"targets\.mine: head returned shape \(2, 1\), not \(2,\)"),
        ({"loss": a_column}, (2,), r"targets\.mine: loss returned no scalar tensor"),
        ({"loss": lambda *_: 0.5}, (2,), r"targets\.mine: loss returned no scalar tensor"),
    ],
)
def test_an_output_that_would_be_broadcast_is_refused(
    parts: dict[str, Any], shape: tuple[int, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        target_loss(target("value", **parts), torch.zeros(shape), torch.zeros(2), PLANES)


def test_a_head_is_a_module() -> None:
    wrong = target("value", head=lambda config: "linear")
    with pytest.raises(UsageError, match=r"targets\.mine: head returned str, no module"):
        make_heads([wrong], NetConfig())
    own = target("value", head=lambda config: nn.Flatten())
    assert isinstance(make_heads([own], NetConfig())["mine"], nn.Flatten)
