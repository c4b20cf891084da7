"""The step that every task shares, on a network small enough to check by hand."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.plugins import MixedPrecision
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.accelerate.ranks import Ranks
from hexlit.errors import UsageError
from hexlit.training.batches import PartOf, equal_parts_of, some_of
from hexlit.training.config import ELEMENTWISE, OptimizerConfig, TrainerConfig
from hexlit.training.finite_guard import FiniteGuard
from hexlit.training.module import TrainedModule
from hexlit.training.optimizer import updated_by
from tests.training.trainers import as_they_are, quiet_trainer

Batch = tuple[Tensor, Tensor]


def two_layers() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))


class Regression(TrainedModule):
    """Layers that learn a sum; `inside` is called with every batch that goes through them."""

    def __init__(
        self,
        inside: Callable[[Tensor], None] = lambda x: None,
        layers: Callable[[], nn.Module] = two_layers,
        **settings: Any,
    ) -> None:
        torch.manual_seed(0)
        fields: dict[str, Any] = {"device": "cpu", "threads": 2, "precision": "32-true"}
        profile = build_profile(AcceleratorConfig(**fields | settings.pop("accelerator", {})))
        plain: dict[str, Any] = {
            "name": "sgd",
            "lr": 0.1,
            "momentum": 0.0,
            "weight_decay": 0.0,
            "warmup_steps": 0,
        }
        optimizer = OptimizerConfig(
            **plain | {"schedule": "constant"} | settings.pop("optimizer", {})
        )
        trainer = TrainerConfig(**{"gradient_clip_val": 0.0} | settings)
        super().__init__(layers(), optimizer, trainer, profile)
        self.inside = inside

    def output(self, batch: Batch) -> Tensor:
        self.inside(batch[0])
        result: Tensor = self.net(batch[0])
        return result

    def losses(self, output: Tensor, batch: Batch) -> dict[str, Tensor]:
        return {"loss": (output.float().squeeze(1) - batch[1]).square().mean()}

    def example_batch(self, count: int) -> Batch:
        return torch.zeros(count, 3), torch.zeros(count)


def batches(steps: int = 4, count: int = 16) -> list[Batch]:
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(count, 3, generator=generator) for _ in range(steps)]
    return [(x, x.sum(1)) for x in inputs]


def fit(
    module: TrainedModule,
    data: list[Batch],
    *,
    scaler: Any = None,
    callbacks: Any = (),
    epochs: int = 1,
    precision: Any = None,
) -> None:
    plugins: Any = [MixedPrecision("16-mixed", "cpu", scaler)] if scaler is not None else None
    trainer = quiet_trainer(epochs, plugins=plugins, precision=precision, callbacks=list(callbacks))
    trainer.fit(module, as_they_are(data))


def weights(module: TrainedModule) -> Tensor:
    return torch.cat([p.detach().flatten() for p in module.net.parameters()])


def plain_weights(data: list[Batch], lr: float = 0.1, clip: float = 0.0) -> Tensor:
    """The result of plain gradient descent."""
    module = Regression()
    for batch in data:
        module.zero_grad()
        loss = module.losses(module.output(batch), batch)["loss"]
        gradients = torch.autograd.grad(loss, list(module.net.parameters()))
        norm = float(torch.cat([g.flatten() for g in gradients]).norm())
        factor = min(1.0, clip / norm) if clip else 1.0
        with torch.no_grad():
            for parameter, gradient in zip(module.net.parameters(), gradients, strict=True):
                parameter -= lr * factor * gradient
    return weights(module)


@pytest.mark.parametrize("micro", [None, 5])
def test_micro_batches_give_the_step_of_the_whole_batch(micro: int | None) -> None:
    seen: list[int] = []
    module = Regression(
        lambda x: seen.append(len(x)), accelerator={"train_batch": 16, "micro_batch": micro}
    )
    fit(module, batches())
    torch.testing.assert_close(weights(module), plain_weights(batches()), atol=1e-6, rtol=1e-5)
    assert max(seen) == (micro or 16)
    assert sum(seen) == 4 * 16


def test_out_of_memory_halves_the_micro_batch_and_keeps_the_step(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[int] = []

    def full_above_4(x: Tensor) -> None:
        seen.append(len(x))
        if len(x) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")

    module = Regression(full_above_4, accelerator={"train_batch": 16})
    with caplog.at_level(logging.WARNING, "hexlit"):
        fit(module, batches())
    assert seen == [16, 8] + [4] * 16
    torch.testing.assert_close(weights(module), plain_weights(batches()), atol=1e-6, rtol=1e-5)
    said = [
        record.getMessage() for record in caplog.records if "out of memory" in record.getMessage()
    ]
    assert ["continuing with 8" in line or "continuing with 4" in line for line in said] == [
        True,
        True,
    ]


def test_memory_that_runs_out_late_in_a_step_leaves_no_trace_in_its_gradient() -> None:
    """The parts of the step that had gone well are not counted twice."""
    calls = 0

    def fails_once(x: Tensor) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise torch.OutOfMemoryError("CUDA out of memory")

    module = Regression(fails_once, accelerator={"train_batch": 16, "micro_batch": 4})
    fit(module, batches())
    torch.testing.assert_close(weights(module), plain_weights(batches()), atol=1e-6, rtol=1e-5)
    assert module.micro_batch == 2


def test_a_single_example_too_large_for_the_device_is_one_line() -> None:

    def always(x: Tensor) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(UsageError, match="out of memory with 1 examples at once"):
        fit(Regression(always), batches())


@pytest.mark.parametrize("micro", [16, 4])
def test_the_gradient_of_the_whole_step_is_clipped(micro: int) -> None:
    module = Regression(
        gradient_clip_val=0.05, accelerator={"train_batch": 16, "micro_batch": micro}
    )
    fit(module, batches())
    torch.testing.assert_close(
        weights(module), plain_weights(batches(), clip=0.05), atol=1e-6, rtol=1e-4
    )


def poison(module: TrainedModule, step: int, value: float) -> None:
    """Make one gradient of this step `value`, where it arises."""
    count = 0

    def hook(gradient: Tensor) -> Tensor:
        nonlocal count
        count += 1
        return torch.full_like(gradient, value) if count == step + 1 else gradient

    module.net[0].weight.register_hook(hook)


@pytest.mark.parametrize("name", ["adamw", "adamw_bf16"])
def test_an_infinite_gradient_skips_the_step_and_backs_the_scale_off(name: str) -> None:
    """With a kernel that unscales, and without."""
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    module = Regression(gradient_clip_val=5.0, optimizer={"name": name})
    poison(module, 1, float("inf"))
    guard = Skipped()
    fit(module, batches(3), scaler=scaler, callbacks=[guard])
    assert guard.skipped == 1
    assert scaler.get_scale() == 512.0
    assert weights(module).isfinite().all()
    expected = Regression(gradient_clip_val=5.0, optimizer={"name": name})
    first, _, third = batches(3)
    fit(expected, [first, third], scaler=torch.amp.GradScaler("cpu", init_scale=1024.0))
    torch.testing.assert_close(weights(module), weights(expected), atol=1e-3, rtol=1e-2)


class Skipped(L.Callback):
    skipped = -1

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.skipped = int(pl_module.skipped_steps)  # type: ignore[arg-type]


def test_a_scaled_gradient_is_clipped_at_its_true_norm() -> None:
    scaled = Regression(gradient_clip_val=0.05)
    fit(scaled, batches(), scaler=torch.amp.GradScaler("cpu", init_scale=1024.0))
    torch.testing.assert_close(
        weights(scaled), plain_weights(batches(), clip=0.05), atol=1e-3, rtol=1e-2
    )


@pytest.mark.parametrize("name", ["adamw", "sgd"])
@pytest.mark.parametrize(
    ("step", "value"), [(0, float("nan")), (1, float("inf")), (1, float("nan"))]
)
def test_a_gradient_that_is_not_finite_changes_no_weight_without_a_scaler_either(
    name: str,
    step: int,
    value: float,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    """The state of the optimizer stays what it was, too."""
    optimizer = {"name": name, "momentum": 0.9}
    module = Regression(gradient_clip_val=5.0, optimizer=optimizer)
    expected = Regression(gradient_clip_val=5.0, optimizer=optimizer)
    poison(module, step, value)
    data = batches(3)
    with caplog.at_level(logging.WARNING, "hexlit"):
        fit(module, data, callbacks=[FiniteGuard(tmp_path)])
    assert "1 of 3 steps had gradients that were not finite" in caplog.text
    # The rate is constant, so leaving the step out is the same as never having had it.
    fit(expected, [batch for number, batch in enumerate(data) if number != step])
    torch.testing.assert_close(weights(module), weights(expected))


@pytest.mark.parametrize("name", ["adamw", "adamw_bf16", "sgd", "adafactor", "torch.optim.Adamax"])
@pytest.mark.parametrize("step", [0, 2])
def test_a_device_that_works_ahead_takes_such_a_step_back(
    name: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that the optimizer has on the device."""
    monkeypatch.setattr(TrainedModule, "device", property(lambda module: torch.device("mps")))
    momentum = 0.9 if name in ELEMENTWISE else None
    optimizer = {"name": name, "momentum": momentum, "lr": 0.02}
    module = Regression(optimizer=optimizer)
    poison(module, step, float("nan"))
    data = batches(4)
    kept: list[list[Tensor]] = []

    class Keep(L.Callback):
        def on_train_batch_end(self, *_: Any) -> None:
            kept.append([one.clone() for one in updated_by(module.inner_optimizer()).values()])

    fit(module, data, callbacks=[Keep()])
    assert module.skipped_steps == 1
    if step:
        for before, after in zip(kept[step - 1], kept[step], strict=True):
            if before.ndim:  # the counts of steps may go on
                torch.testing.assert_close(after, before, atol=0, rtol=0)
    assert weights(module).isfinite().all()
    assert (kept[-1][0] != kept[step][0]).any()


@pytest.mark.parametrize("step", [0, 2, 3])
def test_a_nan_loss_ends_the_run_and_keeps_the_batch_and_the_weights(
    step: int, tmp_path: Path
) -> None:
    """In the middle of an epoch, and in its last step."""
    data = batches()
    data[step][1][5] = float("nan")
    module = Regression()
    with pytest.raises(UsageError, match=f"the loss is nan at step {step} of epoch 0") as caught:
        fit(module, data, callbacks=[FiniteGuard(tmp_path)])
    assert str(tmp_path / "nan_batch.pt") in str(caught.value)
    saved = torch.load(tmp_path / "nan_batch.pt", weights_only=True)
    assert (saved["epoch"], saved["step"]) == (0, step)
    torch.testing.assert_close(saved["batch"], list(data[step]), equal_nan=True)
    assert weights(module).isfinite().all()


def test_steps_that_learn_nothing_end_the_run(tmp_path: Path) -> None:
    """After ten in a row."""
    module = Regression()
    module.net[0].weight.register_hook(lambda gradient: gradient * float("nan"))
    with pytest.raises(UsageError, match="none of the latest 12 steps had finite gradients"):
        fit(module, batches(), callbacks=[FiniteGuard(tmp_path)], epochs=5)


def test_short_epochs_that_a_scaler_skips_do_not_end_the_run(tmp_path: Path) -> None:
    """It begins with a large factor, and may skip the first steps of a run."""
    module = Regression()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**18)
    fit(module, batches(1), scaler=scaler, callbacks=[FiniteGuard(tmp_path)], epochs=6)
    assert (int(module.skipped_in_a_row), scaler.get_scale() < 2.0**18) == (0, True)


def test_no_memory_for_the_optimizer_is_one_line_that_names_smaller_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    def full(*_: Any, **settings: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.optim.SGD, "step", full)
    with pytest.raises(UsageError, match="no memory for the state of optimizer.name"):
        fit(Regression(), batches())


def test_gradients_are_none_between_steps() -> None:
    found: list[bool] = []

    class Look(L.Callback):
        def on_train_batch_end(self, *_: Any) -> None:
            found.append(all(parameter.grad is None for parameter in module.net.parameters()))

    module = Regression()
    fit(module, batches(), callbacks=[Look()])
    assert found == [True] * 4


def test_averaged_weights_follow_the_formula_and_are_the_ones_in_use() -> None:
    """Polyak averaging: w' = decay w' + (1 - decay) w, from the first step's weights on."""
    module, plain = Regression(ema_decay=0.5), Regression()
    trail: list[Tensor] = []

    class Trail(L.Callback):
        def on_train_batch_end(self, *_: Any) -> None:
            trail.append(weights(plain).clone())

    fit(module, batches())
    fit(plain, batches(), callbacks=[Trail()])
    torch.testing.assert_close(weights(module), weights(plain))
    expected = trail[0]
    for following in trail[1:]:
        expected = 0.5 * expected + 0.5 * following
    used = torch.cat([p.detach().flatten() for p in module.net_in_use.parameters()])
    torch.testing.assert_close(used, expected)
    assert plain.net_in_use is plain.net


def test_an_average_copies_no_number_from_the_device_after_its_first_update() -> None:
    """Such a copy waits for all queued work."""
    module = Regression(ema_decay=0.9)
    assert module.average is not None
    module.configure_optimizers()
    module.average.update()
    with CountedNumbers() as counted:  # type: ignore[no-untyped-call]
        module.average.update()
    assert counted.copies == 0
    assert int(module.average.n_averaged) == 2


class CountedNumbers(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the numbers that are copied from a device to Python."""

    copies = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.copies += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ["adafactor", "adamw_bf16", "adamw", "sgd"])
def test_an_update_is_not_rounded_by_the_autocast_around_it(name: str) -> None:
    """Lightning calls a step of manual optimisation inside its autocast."""
    settings: dict[str, Any] = {
        "optimizer": {"name": name, "momentum": None},
        "accelerator": {"precision": "bf16-mixed"},
    }
    module, alone = (
        Regression(gradient_clip_val=5.0, **settings),
        Regression(gradient_clip_val=5.0, **settings),
    )
    seen: list[tuple[list[Tensor], list[Tensor]]] = []

    class Look(L.Callback):
        def on_before_optimizer_step(
            self, trainer: L.Trainer, pl_module: L.LightningModule, optimizer: Any
        ) -> None:
            gradients = [
                p.grad.clone() for group in module.flat.groups for p in group if p.grad is not None
            ]
            seen.append(([p.detach().clone() for p in module.net.parameters()], gradients))

    fit(module, batches(3), callbacks=[Look()], precision="bf16-mixed")
    optimizer = alone.configure_optimizers()["optimizer"]
    clip = alone.trainer_config.gradient_clip_val
    for before, gradients in seen:
        for parameter, value in zip(alone.net.parameters(), before, strict=True):
            torch.testing.assert_close(parameter.detach(), value, rtol=0, atol=0)
        updated = [p for group in alone.flat.groups for p in group]
        for one, gradient in zip(updated, gradients, strict=True):
            one.grad = gradient
        torch.nn.utils.clip_grad_norm_(updated, clip)
        optimizer.step()
    assert len(seen) == 3
    torch.testing.assert_close(weights(module), weights(alone), rtol=0, atol=0)


def test_compiling_is_tried_before_training_and_keeps_the_names_of_weights(tmp_path: Path) -> None:
    """Equal within 1e-4; the seconds are known apart."""
    module = Regression(accelerator={"compile": True, "train_batch": 16})
    before = weights(module).clone()
    seconds = module.prepare()
    assert seconds is not None
    assert seconds > 0
    assert torch.equal(weights(module), before)
    assert all(parameter.grad is None for parameter in module.net.parameters())
    fit(module, batches())
    torch.testing.assert_close(weights(module), plain_weights(batches()), atol=1e-4, rtol=1e-4)
    assert [name for name in module.state_dict() if "_orig_mod" in name] == []


def test_a_failure_to_compile_warns_once_and_training_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = Regression(accelerator={"compile": True, "train_batch": 16})

    def broken(*args: Any, **settings: Any) -> None:
        def fails(*inputs: Any) -> None:
            raise RuntimeError("no C++ compiler was found")

        module.net._compiled_call_impl = fails

    monkeypatch.setattr(module.net, "compile", broken)
    with caplog.at_level(logging.WARNING, "hexlit"):
        assert module.prepare() is None
    (record,) = caplog.records
    assert "no C++ compiler was found" in record.getMessage()
    fit(module, batches())
    torch.testing.assert_close(weights(module), plain_weights(batches()), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("what", ["loss", "norm of its gradient"])
def test_a_compiled_network_that_computes_something_else_is_not_used(
    what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = Regression(accelerator={"compile": True, "train_batch": 16})
    forward = module.net.forward

    def wrong(*args: Any, **settings: Any) -> None:
        def other(*inputs: Any) -> Any:
            output = forward(*inputs)
            return output * 1.5 if what == "loss" else output.detach() + 0 * output

        module.net._compiled_call_impl = other

    monkeypatch.setattr(module.net, "compile", wrong)
    with caplog.at_level(logging.WARNING, "hexlit"):
        assert module.prepare() is None
    (record,) = caplog.records
    assert f"its {what} is" in record.getMessage() or f"the {what} is" in record.getMessage()
    fit(module, batches())
    torch.testing.assert_close(weights(module), plain_weights(batches()), atol=1e-6, rtol=1e-5)


def test_bf16_ends_within_2_percent_of_the_loss_of_fp32() -> None:
    data = batches(60, 64)
    ends = []
    for precision in ("32-true", "bf16-mixed"):
        module = Regression(
            optimizer={"name": "adamw", "lr": 0.02}, accelerator={"precision": precision}
        )
        fit(module, data, precision=precision)
        (held_out,) = batches(1, 512)
        with torch.no_grad():
            ends.append(float(module.losses(module.output(held_out), held_out)["loss"]))
    first = Regression()
    assert ends[0] < 0.2 * float(first.losses(first.output(held_out), held_out)["loss"])
    assert ends[1] == pytest.approx(ends[0], rel=0.02)


def test_ranks_have_as_many_micro_batches_whatever_their_parts() -> None:
    x, y = torch.arange(9), torch.arange(9) * 2
    assert some_of((x, y), slice(1, None, 3))[1].tolist() == [2, 8, 14]
    assert [part["x"].tolist() for part in equal_parts_of({"x": x[:4]}, 3)] == [[0, 1], [2], [3]]
    for rank in range(2):
        module = Regression(accelerator={"micro_batch": 2})
        module.ranks = Ranks(rank, 2, rank, 2)
        own = module.on_before_batch_transfer((x, y), 0)
        assert module.whole == 9
        assert own[0].tolist() == list(range(rank, 9, 2))
        assert len(list(module._micro_batches(own, module.whole))) == 3
        assert module.on_before_batch_transfer(PartOf(own, 9), 0) is own


def test_the_gradients_of_ranks_add_up_to_those_of_one_process() -> None:
    """Also where a batch has fewer examples than there are ranks: the others work for nothing."""
    for batch in (batches(1, count=7)[0], batches(1, count=1)[0]):
        alone = Regression()
        alone.configure_optimizers()
        alone.manual_backward = Tensor.backward  # type: ignore[method-assign]  # there is no trainer
        expected = alone._gradients(batch)["loss"]
        total, found = [torch.zeros_like(p) for (p,) in alone.flat.groups], torch.zeros(())
        for rank in range(3):
            module = Regression(accelerator={"micro_batch": 2})
            module.configure_optimizers()
            module.manual_backward = Tensor.backward  # type: ignore[method-assign]
            module.ranks = Ranks(rank, 3, rank, 3)
            found = found + module._gradients(module.on_before_batch_transfer(batch, 0))["loss"]
            for sums, (parameter,) in zip(total, module.flat.groups, strict=True):
                assert parameter.grad is not None
                sums += parameter.grad
        torch.testing.assert_close(found, expected)
        for sums, (parameter,) in zip(total, alone.flat.groups, strict=True):
            torch.testing.assert_close(sums, parameter.grad)
