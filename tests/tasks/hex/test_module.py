"""The policy/value network as it learns: the loss is the plain formula,
a step lowers it, a checkpoint is the net.
"""

from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pytest
import torch
from torch import Tensor

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.errors import UsageError
from hexlit.hex.encoding import encode
from hexlit.nets.config import NetConfig
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.epoch_data import PositionBatch
from hexlit.tasks.hex.module import HexModule
from hexlit.training.config import OptimizerConfig, TrainerConfig
from tests.training.trainers import as_they_are, quiet_trainer, validated

NET = NetConfig(channels=8, blocks=[1], policy_channels=4, value_channels=4, value_hidden=8)


def make_batch(
    size: int = 4, count: int = 16, *, swap: bool = False, seed: int = 0
) -> PositionBatch:
    """Random positions; policies over their legal actions, values in [-1, 1]."""
    random = np.random.default_rng(seed)
    cells = random.choice([-1, 0, 0, 1], (count, size * size)).astype(np.int8)
    may_swap = np.arange(count) % 2 == 0 if swap else np.zeros(count, np.bool_)
    legal = np.concatenate([cells == 0, may_swap[:, None]], 1) if swap else cells == 0
    policy = random.random(legal.shape) * legal
    return PositionBatch(
        torch.from_numpy(encode(cells, np.ones(count, np.int8), may_swap)),
        torch.from_numpy((policy / policy.sum(1, keepdims=True)).astype(np.float32)),
        torch.from_numpy(random.uniform(-1, 1, count).astype(np.float32)),
        {},
    )


def make_module(size: int = 4, **settings: Any) -> HexModule:
    torch.manual_seed(0)
    optimizer = settings.pop("optimizer", OptimizerConfig(warmup_steps=0, schedule="constant"))
    profile = build_profile(
        AcceleratorConfig(**{"device": "cpu", "threads": 2} | settings.pop("accelerator", {}))
    )
    trainer = settings.pop("trainer", TrainerConfig())
    common = {"board": size, "net": NET, "optimizer": optimizer, "trainer": trainer}
    return HexModule(HexTrainConfig(**common | settings), profile)


def fit(
    module: HexModule, batches: list[PositionBatch], ckpt_path: Path | None = None, **settings: Any
) -> L.Trainer:
    trainer = quiet_trainer(**settings)
    trainer.fit(module, as_they_are(batches), ckpt_path=ckpt_path, weights_only=True)
    return trainer


ACCELERATORS = {"cpu": "cpu", "cuda": "gpu", "mps": "mps"}
"""Names of the devices to Lightning."""


def losses_of(module: HexModule, batch: PositionBatch) -> dict[str, float]:
    losses = module.losses(module.output(batch), batch)
    return {name: float(value.detach()) for name, value in losses.items()}


@pytest.mark.parametrize("swap", [False, True])
def test_losses_equal_the_plain_formula(swap: bool) -> None:
    """Cross-entropy over legal actions;
    cross-entropy of the chance to win, on a value of tanh(logit).
    """
    module = make_module(swap=swap, policy_weight=0.25, value_weight=0.5).eval()
    with torch.no_grad():
        for parameter in module.parameters():  # far from the near-uniform start
            parameter.mul_(3)
    batch = make_batch(swap=swap)
    planes, policy, value, _ = batch
    losses = losses_of(module, batch)
    with torch.no_grad():
        output = module.net(planes.float())
    actions = 16 + swap
    policy_loss, value_loss = 0.0, 0.0
    for row in range(len(planes)):
        logits = output.policy_logits[row, :actions].double().numpy()
        legal = [
            a
            for a in range(16)
            if not planes[row, 0].flatten()[a] and not planes[row, 1].flatten()[a]
        ]
        if swap and planes[row, 4, 0, 0]:
            legal.append(16)
        normaliser = np.log(sum(np.exp(logits[a]) for a in legal))
        policy_loss -= sum(float(policy[row, a]) * (logits[a] - normaliser) for a in legal) / len(
            planes
        )
        win = (np.tanh(float(output.value_logit[row])) + 1) / 2
        target = (float(value[row]) + 1) / 2
        value_loss -= (target * np.log(win) + (1 - target) * np.log(1 - win)) / len(planes)
    assert losses["policy_loss"] == pytest.approx(policy_loss, rel=1e-4)
    assert losses["value_loss"] == pytest.approx(value_loss, rel=1e-4)
    assert losses["loss"] == pytest.approx(0.25 * policy_loss + 0.5 * value_loss, rel=1e-4)
    assert losses["comparable_loss"] == pytest.approx(
        0.14 * policy_loss + 0.86 * value_loss, rel=1e-4
    )


@pytest.mark.parametrize("swap", [False, True])
def test_illegal_actions_add_nothing_to_loss_or_gradient(swap: bool) -> None:
    """Whatever the network says of a taken cell, or of a swap that is not allowed."""
    module = make_module(swap=swap)
    batch = make_batch(swap=swap)
    planes = batch.planes
    output = module.net(planes.float())
    logits = output.policy_logits.detach().clone().requires_grad_()
    losses = []
    for bump in (0.0, 50.0):
        taken = torch.zeros_like(logits)
        taken[:, :16] = (planes[:, 0] + planes[:, 1]).flatten(1) * bump
        taken[:, 16] = (planes[:, 4, 0, 0] == 0) * bump

        def answer(_: Tensor, extra: Tensor = taken) -> Any:
            return output._replace(
                policy_logits=logits + extra, value_logit=output.value_logit.detach()
            )

        module.net.forward = answer
        losses.append(module.losses(module.output(batch), batch)["loss"])
    assert losses[0].item() == losses[1].item()
    losses[0].backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert (logits.grad[taken > 0] == 0).all()
    assert (logits.grad[:, :16][taken[:, :16] == 0] != 0).any()


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_steps_lower_the_loss_on_a_fixed_batch_and_parameters_stay_fp32(
    precision: str, optimizer: str, device: torch.device
) -> None:
    settings = OptimizerConfig(name=optimizer, lr=0.02, warmup_steps=0, schedule="constant")
    module = make_module(optimizer=settings, accelerator={"device": str(device)})
    batch = make_batch()
    before = losses_of(module, batch)
    devices: Any = 1 if device.index is None else [device.index]
    fit(
        module,
        [batch] * 30,
        precision=precision,
        accelerator=ACCELERATORS[device.type],
        devices=devices,
    )
    module.to("cpu")
    assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}
    after = losses_of(module.train(), batch)
    assert after["policy_loss"] < before["policy_loss"] - 0.01
    assert after["value_loss"] < before["value_loss"]


def test_dropout_draws_depend_on_seed_and_epoch_only() -> None:
    """A run resumed at epoch 2 repeats the draws that the uninterrupted run has there."""

    class Epochs:
        """Stands in for a trainer, which an epoch's number is asked of."""

        def __init__(self, epoch: int) -> None:
            self.current_epoch = epoch

    def draws(epochs: list[int]) -> list[float]:
        L.seed_everything(7, verbose=False)
        module, found = make_module(), []
        torch.manual_seed(7)
        for epoch in epochs:
            module._trainer = Epochs(epoch)  # type: ignore[assignment]
            module.on_train_epoch_start()
            found.append(float(torch.rand(())))
        return found

    uninterrupted = draws([0, 1, 2, 3])
    assert len(set(uninterrupted)) == 4
    assert draws([2, 3]) == uninterrupted[2:]


def test_lightning_loads_a_checkpoint_which_trains_on(tmp_path: Path) -> None:
    """Its own function of that name: settings and weights, the average included."""
    batches = [make_batch(seed=seed) for seed in range(3)]
    module = make_module(
        optimizer=OptimizerConfig(lr=0.01), trainer=TrainerConfig(ema_decay=0.9), value_weight=0.25
    )
    fit(module, batches).save_checkpoint(tmp_path / "net.ckpt")
    loaded = HexModule.load_from_checkpoint(tmp_path / "net.ckpt")
    assert loaded.hparams == module.hparams
    assert loaded.state_dict().keys() == module.state_dict().keys()
    for name, tensor in module.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    fit(loaded, batches)
    (tmp_path / "odd.ckpt").write_bytes(b"odd")
    with pytest.raises(UsageError, match="odd.ckpt"):
        HexModule.load_from_checkpoint(tmp_path / "odd.ckpt")


@pytest.mark.parametrize("swap", [False, True])
def test_a_checkpoint_gives_the_same_network_without_pickle(swap: bool, tmp_path: Path) -> None:
    net = NetConfig(
        channels=8,
        blocks=[1, 2],
        activation="silu",
        policy_channels=4,
        value_channels=4,
        value_hidden=8,
    )
    module = make_module(net=net, swap=swap)
    trainer = fit(module, [make_batch(swap=swap)] * 3)
    path = tmp_path / "net.ckpt"
    trainer.save_checkpoint(path)
    torch.load(path, weights_only=True)
    loaded = load_network(path)
    assert (loaded.size, loaded.swap) == (4, swap)
    assert not loaded.net.training
    planes = make_batch(5, 32, seed=3)[0].float()  # another board: the weights take every size
    with torch.no_grad():
        expected, found = module.net.eval()(planes), loaded.net(planes)
    assert all(
        torch.equal(tensor, module.net.state_dict()[name])
        for name, tensor in loaded.net.state_dict().items()
    )
    torch.testing.assert_close(
        found, expected
    )  # which is laid out in another way, and rounds in another order


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_training_goes_on_with_another_memory_layout(optimizer: str, tmp_path: Path) -> None:
    """Each moment stays with its weight, though it lies at another place."""
    learning = OptimizerConfig(name=optimizer, lr=0.01, warmup_steps=0, schedule="constant")
    plain: dict[str, Any] = {"precision": "32-true"}
    other = plain | {"channels_last": False}
    batches = [make_batch(seed=seed) for seed in range(6)]
    ends = []
    for first in (plain, other):
        trainer = fit(make_module(optimizer=learning, accelerator=first), batches)
        trainer.save_checkpoint(tmp_path / "net.ckpt")
        module = make_module(optimizer=learning, accelerator=plain)
        fit(module, batches, tmp_path / "net.ckpt", max_epochs=2)
        assert module.net.stem.conv.weight.is_contiguous(memory_format=torch.channels_last)
        ends.append(
            torch.cat([parameter.detach().flatten() for parameter in module.net.parameters()])
        )
    difference = (ends[0] - ends[1]).abs()
    assert (
        difference.mean() < 1e-4
    )  # a weight without a gradient may take a whole step by the sign of a rounding error


@pytest.mark.parametrize("saved", [{}, {"hyper_parameters": {"net": {}}, "state_dict": {}}, [1, 2]])
def test_a_checkpoint_of_something_else_is_refused(saved: Any, tmp_path: Path) -> None:
    torch.save(saved, tmp_path / "other.ckpt")
    with pytest.raises(UsageError, match="not a checkpoint of a Hex network"):
        load_network(tmp_path / "other.ckpt")


def one_hot(batch: PositionBatch, seed: int = 3) -> PositionBatch:
    """The same positions with one legal move each; half of them won."""
    policy = batch.policy
    random = np.random.default_rng(seed)
    played = [random.choice(np.flatnonzero(row)) for row in policy.numpy()]
    one_move = torch.eye(policy.shape[1])[played]
    return batch._replace(policy=one_move, value=torch.sign(batch.value))


@pytest.mark.parametrize("swap", [False, True])
def test_validation_finds_losses_accuracies_and_calibration_of_all_positions(swap: bool) -> None:
    """In batches and micro-batches of unequal size, as a plain count over all positions at once."""
    module = make_module(swap=swap, accelerator={"micro_batch": 5})
    batches = [one_hot(make_batch(count=count, swap=swap, seed=count)) for count in (13, 7)]
    planes, policy, value = (torch.cat(column) for column in list(zip(*batches, strict=True))[:3])
    with torch.no_grad():
        for parameter in module.parameters():  # far from the near-uniform start
            parameter.mul_(3)
        module.eval()
        output = module.net(planes.float())
        expected = {
            name: float(found)
            for name, found in module.losses(
                output, PositionBatch(planes, policy, value, {})
            ).items()
        }
    top = {1: 0, 5: 0}
    for row in range(20):
        legal = [
            a
            for a in range(16)
            if not planes[row, 0].flatten()[a] and not planes[row, 1].flatten()[a]
        ]
        if swap and planes[row, 4, 0, 0]:
            legal.append(16)
        order = sorted(legal, key=lambda action: -float(output.policy_logits[row, action]))
        for most in top:
            top[most] += int(policy[row].argmax()) in order[:most]
    chance = (np.tanh(output.value_logit.numpy().astype(float)) + 1) / 2
    expected |= {"top1_accuracy": top[1] / 20, "top5_accuracy": top[5] / 20}
    expected["value_brier"] = float(((chance - (value.numpy() > 0)) ** 2).mean())
    found = validated(module, as_they_are(batches))
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-4)
    assert 0 < found["top1_accuracy"] < found["top5_accuracy"] < 1
    assert 0 <= found["value_calibration_error"] <= 1


def test_validation_changes_no_weight_and_no_statistic() -> None:
    module = make_module(net=NetConfig(channels=8, blocks=[1], dropout=0.5))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    loader = as_they_are([one_hot(make_batch())])
    first = validated(module, loader)
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    assert validated(module, loader) == first


def test_the_averaged_network_is_the_one_that_is_validated() -> None:
    module = make_module(trainer=TrainerConfig(ema_decay=0.9))
    with torch.no_grad():
        for parameter in module.net.parameters():
            parameter.mul_(3)
    plain = make_module()
    loader = as_they_are([one_hot(make_batch())])
    assert validated(module, loader) == validated(plain, loader)


def test_a_network_begins_with_another_ones_weights_on_another_board() -> None:
    given = make_module(size=5, net=NetConfig(channels=8, blocks=[1], dropout=0.3))
    begun = make_module(net=NetConfig(channels=8, blocks=[1]), trainer=TrainerConfig(ema_decay=0.9))
    with torch.no_grad():
        for parameter in given.net.parameters():
            parameter.mul_(3)
    begun.begin_with(given.net)
    for net in (begun.net, begun.net_in_use):
        assert all(
            torch.equal(tensor, net.state_dict()[name])
            for name, tensor in given.net.state_dict().items()
        )
    with pytest.raises(UsageError, match=r"add net.channels=8 net.blocks=\[1\]$"):
        make_module(net=NetConfig(channels=16, blocks=[2])).begin_with(given.net)
