"""Auxiliary policy targets: their losses are the plain formulas, and nothing but training knows their heads."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import Tensor

from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet
from hexlit.selfplay.hosts import weights_of
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.module import reply_loss, soft_loss
from hexlit.tasks.hex.task import HexTask
from tests.nets.test_evaluator import cpu_profile, evaluated, random_positions
from tests.tasks.hex.test_module import Batch, fit, make_batch, make_module

pytestmark = pytest.mark.row("F6")

WEIGHTS = {"reply": 0.15, "soft": 2.0}


def with_replies(batch: Batch) -> Any:
    """`batch` with the turned policy as the reply, which is not known for every third position."""
    planes, policy, value = batch
    legal = policy.flip(1) * (policy > 0)
    reply = torch.where(legal.sum(1, keepdim=True) > 0, legal / legal.sum(1, keepdim=True).clamp(min=1e-9), policy)
    return planes, policy, value, reply * (torch.arange(len(policy)) % 3 > 0)[:, None]


def log_softmax(logits: Tensor, actions: list[int]) -> dict[int, float]:
    values = logits.double().numpy()
    normaliser = np.log(sum(np.exp(values[a]) for a in actions))
    return {a: float(values[a] - normaliser) for a in actions}


@pytest.mark.parametrize("swap", [False, True])
def test_the_reply_s_loss_is_the_cross_entropy_over_all_replies_that_a_move_allows(swap: bool) -> None:
    """Also after a swap, which frees a cell; and where the reply is the swap. An unknown reply adds nothing."""
    random, expected = np.random.default_rng(0), 0.0
    boards = [GameBoard(3, swap=swap, moves=moves) for moves in ([], [4], [1], [1, 5], [1, 5, 6], [2, 3])]
    logits = torch.from_numpy(random.normal(0, 3, (len(boards), 9 + swap)).astype(np.float32))
    planes = torch.from_numpy(np.concatenate([board.planes() for board in boards]))
    reply = torch.zeros(len(boards), 9 + swap)
    for row, board in enumerate(boards[:-1]):
        allowed: set[int] = set()
        for move in board.legal_moves():
            after = GameBoard(3, swap=swap, moves=[*board.moves, int(move)])
            # The mover sees the board in its own frame, whoever moves next.
            seen = [m if m == 9 or len(board.moves) % 2 == 0 else m % 3 * 3 + m // 3 for m in after.legal_moves()]
            allowed.update(int(m) for m in seen)
        target = random.random(len(allowed))
        for action, share in zip(sorted(allowed), target / target.sum(), strict=True):
            reply[row, action] = float(share)
            expected -= float(share) * log_softmax(logits[row], sorted(allowed))[action] / len(boards)
    assert float(reply_loss(logits, planes, reply)) == pytest.approx(expected, rel=1e-5)


def test_the_soft_loss_takes_the_fourth_root_of_the_policy() -> None:
    planes, policy, _ = make_batch()
    logits, expected = torch.randn(policy.shape, generator=torch.Generator().manual_seed(1)), 0.0
    for row in range(len(policy)):
        legal = [a for a in range(16) if not planes[row, :2].sum(0).flatten()[a]]
        roots = [float(policy[row, a]) ** 0.25 for a in legal]
        judged = log_softmax(logits[row], legal)
        expected -= sum(root / sum(roots) * judged[a] for a, root in zip(legal, roots, strict=True)) / len(policy)
    assert float(soft_loss(logits, planes, policy)) == pytest.approx(expected, rel=1e-5)


def test_the_heads_add_their_weighted_losses_and_begin_apart_from_the_other_weights() -> None:
    plain, module = make_module(), make_module(auxiliary=WEIGHTS)
    state = module.net.state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in plain.net.state_dict().items())
    assert {name.split(".")[1] for name in state.keys() - plain.net.state_dict().keys()} == {"reply", "soft"}
    batch = with_replies(make_batch())
    found, base = (one.losses(one.output(batch), batch) for one in (module, plain))
    assert found.keys() - base.keys() == {"reply_loss", "soft_loss"}
    assert found["comparable_loss"].item() == base["comparable_loss"].item()
    added = 0.15 * found["reply_loss"].item() + 2 * found["soft_loss"].item()
    assert found["loss"].item() == pytest.approx(base["loss"].item() + added)
    assert not module.eval().output(batch).auxiliary


def test_a_batch_in_parts_has_the_gradient_of_the_whole() -> None:
    """Though the parts hold unequal numbers of known replies. Without batch norm, which takes each part alone."""
    batch = with_replies(make_batch())
    gradients = []
    for most in (16, 5):
        module = make_module(auxiliary=WEIGHTS, accelerator={"micro_batch": most})
        module.configure_optimizers()
        module.manual_backward = Tensor.backward  # type: ignore[method-assign]
        for layer in module.modules():
            if isinstance(layer, torch.nn.BatchNorm2d):
                layer.eval()
        module._gradients(batch)
        gradients.append([parameter.grad for (parameter,) in module.flat.groups])
    for whole, parts in zip(*gradients, strict=True):
        torch.testing.assert_close(whole, parts, atol=1e-6, rtol=1e-4)


def test_training_moves_every_head_and_a_checkpoint_plays_without_them(tmp_path: Path) -> None:
    module = make_module(auxiliary=WEIGHTS)
    before = {name: tensor.clone() for name, tensor in module.net.state_dict().items()}
    batch = with_replies(make_batch())
    trainer = fit(module, [batch] * 3)
    moved = [name for name, parameter in module.net.named_parameters() if not torch.equal(parameter, before[name])]
    assert {name.split(".")[1] for name in moved if name.startswith("auxiliary")} == {"reply", "soft"}
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    loaded = load_network(tmp_path / "last.ckpt").net
    assert not loaded.auxiliary
    module.eval()
    expected, found = module.output(batch), loaded(batch[0].float())
    torch.testing.assert_close(expected.policy_logits, found.policy_logits)
    torch.testing.assert_close(expected.value_logit, found.value_logit)
    assert weights_of(module.net).keys() == loaded.state_dict().keys()
    again = make_module(auxiliary=WEIGHTS)
    fit(again, [batch] * 3, ckpt_path=tmp_path / "last.ckpt", max_epochs=2)
    assert again.trainer.global_step == 6


@pytest.mark.parametrize("backend", ["eager", "fused", "winograd"])
def test_every_backend_evaluates_as_if_there_were_no_heads(backend: str) -> None:
    planes = random_positions(8, 4)
    answers = []
    for module in (make_module(), make_module(auxiliary=WEIGHTS)):
        net = cast(HexNet, module.eval().net)
        evaluator = NetworkEvaluator(net, size=4, swap=False, batch=8, profile=cpu_profile(backend))
        assert evaluator.backend == backend
        evaluator.refresh(net)
        answers.append(evaluated(evaluator, planes))
    for plain, heads in zip(*answers, strict=True):
        assert np.array_equal(plain, heads)


def test_a_run_begins_with_the_weights_of_another_one_and_with_heads_of_its_own() -> None:
    given, begun = make_module(auxiliary={"soft": 1.0}), make_module(auxiliary={"reply": 0.15})
    with torch.no_grad():
        for parameter in given.net.parameters():
            parameter.mul_(3)
    head = {name: tensor.clone() for name, tensor in begun.net.state_dict().items() if name.startswith("auxiliary")}
    begun.begin_with(cast(HexNet, given.net))
    state = begun.net.state_dict()
    assert torch.equal(state["stem.conv.weight"], given.net.state_dict()["stem.conv.weight"])
    assert head
    assert all(torch.equal(state[name], tensor) for name, tensor in head.items())


def test_a_run_keeps_the_heads_that_it_was_started_with(tmp_path: Path) -> None:
    """Their weights may change."""

    def resume(saved: dict[str, Any], **weights: float) -> None:
        config = HexTrainConfig(board=4, **weights)  # type: ignore[arg-type]
        known = {"size": 4, "swap": False, "net": vars(config.net), "auxiliary": []}
        HexTask(config, Console(), cast(Any, SimpleNamespace(close=None))).check_resume(known | saved, tmp_path)

    resume({})
    resume({"auxiliary": ["reply"]}, reply_weight=0.3)
    with pytest.raises(
        UsageError, match=r"reply_weight=above 0: the run in .* was started with reply_weight=0; keep it"
    ):
        resume({}, reply_weight=0.15)
    with pytest.raises(UsageError, match=r"soft_weight=0: .* was started with soft_weight=above 0; keep it to resume$"):
        resume({"auxiliary": ["soft"]})
