"""Networks of texts: padding changes nothing, and dropout hides tokens."""

from typing import Any

import pytest
import torch

from hexlit.tasks.classify.config import KINDS, TextNetConfig
from hexlit.tasks.classify.nets import TextNet, build_net, forward_flops


def make_net(kind: str, **settings: Any) -> TextNet:
    torch.manual_seed(0)
    config = TextNetConfig(kind=kind, width=16, layers=2, heads=2, **settings)
    return build_net(config, vocabulary=50, length=12, classes=3).eval()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grad", [True, False])
def test_padding_changes_no_answer(kind: str, grad: bool) -> None:
    net = make_net(kind)
    tokens = torch.randint(1, 50, (4, 7))
    mask = torch.ones_like(tokens, dtype=torch.bool)
    more = torch.nn.functional.pad(tokens, (0, 5))
    with torch.set_grad_enabled(grad):
        alone = net(tokens, mask)
        beside = net(more, torch.nn.functional.pad(mask, (0, 5)))
    assert alone.dtype == torch.float32
    torch.testing.assert_close(alone, beside, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(alone[0], alone[1], atol=1e-3)


def test_order_counts_for_the_transformer_alone() -> None:
    tokens = torch.arange(1, 8)[None]
    mask = torch.ones_like(tokens, dtype=torch.bool)
    for kind, is_same in (("mean", True), ("transformer", False)):
        net = make_net(kind)
        assert torch.allclose(net(tokens, mask), net(tokens.flip(1), mask), atol=1e-5) is is_same


def test_hidden_tokens_change_in_training_only_and_one_is_always_left() -> None:
    net = make_net("mean", dropout=0.0, token_dropout=0.9)
    tokens = torch.randint(1, 50, (64, 3))
    mask = torch.ones_like(tokens, dtype=torch.bool)
    assert torch.equal(net(tokens, mask), net(tokens, mask))
    net.train()
    found = net(tokens, mask)
    assert found.isfinite().all()
    assert not torch.equal(found, net(tokens, mask))


def test_operations_of_a_forward_pass_are_the_plain_count() -> None:
    head = 2 * 16 * 3
    assert forward_flops(make_net("mean"), 10) == head
    projections, dense, attention = 2 * 10 * 4 * 16 * 16, 2 * 10 * 2 * 32 * 16, 2 * 2 * 10 * 10 * 16
    assert forward_flops(make_net("transformer"), 10) == head + 2 * (projections + dense + attention)
