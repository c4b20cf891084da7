"""Training steps as one graph of the device, with a stand-in that records every operator and does it
again on the same tensors.
"""

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import lightning as L
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.training.captured_step import WARM_UP, Capture, CapturedStep, Work, may_capture
from hexlit.training.module import TrainedModule
from tests.training.test_module import Regression, batches, weights
from tests.training.trainers import as_they_are, quiet_trainer

STEPS = 10


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records operators with their tensors; `again` does them on these tensors, into the recorded
    results, as a graph does.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("the step would wait for the device")
        result = func(*args, **kwargs)
        self.calls.append((func, args, kwargs, result))
        return result

    @torch.no_grad()
    def again(self) -> None:
        for func, args, kwargs, result in self.calls:
            found = func(*args, **kwargs)
            for old, new in zip(tree_leaves(result), tree_leaves(found), strict=True):
                if isinstance(old, Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class Graphs:
    """Counts what is captured and replayed."""

    def __init__(self) -> None:
        self.captured = 0
        self.replayed = 0

    def capture(self, work: Work) -> tuple[dict[str, Tensor], Callable[[], None]]:
        """See `hexlit.training.captured_step.Capture`."""
        recorder = Recorder()
        with recorder:
            result = work()
        self.captured += 1

        def again() -> None:
            self.replayed += 1
            recorder.again()

        return result, again


def at_once(work: Work) -> dict[str, Tensor]:
    return work()


class Watch(L.Callback):
    """Keeps the losses, learning rates and numbers of all steps."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.counts: list[int] = []

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: Any, outputs: Any, *rest: Any
    ) -> None:
        self.losses.append(float(outputs["loss"]))
        self.rates.append(pl_module.learning_rate)
        self.counts.append(trainer.global_step)


def layers() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))


def examples() -> list[Any]:
    """Batches of one shape; the gradient of one of them is not finite."""
    result = batches(STEPS, 16)
    inputs, targets = result[7]
    targets = targets.clone()
    targets[0] = torch.inf
    result[7] = inputs, targets
    return result


def trained(
    monkeypatch: pytest.MonkeyPatch, capture: Capture | None, **accelerator: Any
) -> tuple[Any, Watch]:
    """A module after ten steps, captured by `capture`; None: as usual."""
    optimizer = {"name": "adamw", "lr": 0.02, "schedule": "cosine", "warmup_steps": 3}
    settings: dict[str, Any] = {
        "ema_decay": 0.5,
        "gradient_clip_val": 1.0,
        "accelerator": accelerator,
    }
    module = Regression(layers=layers, optimizer=optimizer, **settings)

    def steps_of(module: TrainedModule) -> CapturedStep | None:
        return None if capture is None else CapturedStep(module, at_once, capture)

    monkeypatch.setattr("hexlit.training.module.captured_step", steps_of)
    watch = Watch()
    trainer = quiet_trainer(callbacks=[watch])
    trainer.fit(module, as_they_are(examples()))
    moments = []
    for values in trainer.optimizers[0].state.values():
        moments += values.values()
    module.moments = moments  # type: ignore[assignment]
    return module, watch


def assert_same(module: Any, watch: Watch, expected: Any, of_expected: Watch) -> None:
    assert watch.losses == pytest.approx(of_expected.losses, rel=1e-6, nan_ok=True)
    assert watch.rates == of_expected.rates
    assert watch.counts == of_expected.counts
    assert int(module.skipped_steps) == int(expected.skipped_steps)
    states = module.state_dict().values(), expected.state_dict().values()
    for own, other in zip(*states, strict=True):
        torch.testing.assert_close(own, other, rtol=0, atol=1.2e-7)
    for own, other in zip(module.moments, expected.moments, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-6, atol=1.2e-7)


@pytest.mark.parametrize("micro_batch", [None, 8])
def test_steps_recorded_and_replayed_equal_steps_as_usual(
    micro_batch: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights, moments, average, statistics, counters and losses, with a changing rate and a step
    that is skipped.
    """
    expected = trained(monkeypatch, None, micro_batch=micro_batch)
    graphs = Graphs()
    module, watch = trained(monkeypatch, graphs.capture, micro_batch=micro_batch)
    assert (graphs.captured, graphs.replayed) == (1, STEPS - WARM_UP - 1)
    assert len(set(watch.rates)) > WARM_UP
    assert watch.counts == list(range(1, STEPS + 1))
    assert int(module.skipped_steps) == 1
    assert_same(module, watch, *expected)


def test_a_replay_at_the_rate_of_its_capture_would_be_another_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rate is read by the graph: what makes the test above able to fail."""
    expected, _ = trained(monkeypatch, None)
    monkeypatch.setattr(Tensor, "fill_", lambda tensor, value: tensor)
    module, _ = trained(monkeypatch, Graphs().capture)
    difference = (weights(module) - weights(expected)).abs().max()
    assert difference > 1e-4


@pytest.mark.parametrize(
    ("error", "warnings"),
    [
        (RuntimeError("operation not permitted"), 1),
        (torch.OutOfMemoryError("CUDA out of memory"), 0),
    ],
)
def test_what_cannot_be_captured_is_computed_as_usual(
    error: Exception,
    warnings: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refused(work: Work) -> Any:
        raise error

    expected = trained(monkeypatch, None)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "hexlit"):
        found = trained(monkeypatch, refused)
    assert_same(*found, *expected)
    assert len(caplog.records) == warnings


def test_a_module_is_captured_on_one_card_with_a_step_that_asks_nothing() -> None:
    """Everything else is computed as usual."""

    def decided(callback: L.Callback | None = None, **changes: Any) -> bool:
        config = AcceleratorConfig(graphs=changes.pop("graphs", True))
        profile = SimpleNamespace(device=torch.device("cuda"), config=config, compile=False)
        group = [nn.Parameter(torch.zeros(1))]
        optimizer = changes.pop("optimizer", torch.optim.AdamW(group, fused=True))
        module = SimpleNamespace(
            profile=profile,
            ranks=SimpleNamespace(several=changes.pop("several", False)),
            trainer=SimpleNamespace(
                precision_plugin=SimpleNamespace(scaler=changes.pop("scaler", None)),
                callbacks=[callback or L.Callback()],
            ),
            inner_optimizer=lambda: optimizer,
        )
        vars(profile).update(changes)
        return may_capture(module)

    class Looks(L.Callback):
        def on_after_backward(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
            pass

    sgd = torch.optim.SGD([nn.Parameter(torch.zeros(1))])
    assert decided()
    assert not decided(graphs=False)
    assert not AcceleratorConfig().graphs
    assert not decided(several=True)
    assert not decided(scaler=object())
    assert not decided(optimizer=sgd)
    assert not decided(device=torch.device("cpu"))
    assert not decided(Looks())
    recomputes = AcceleratorConfig(graphs=True, checkpoint_gradients=True)
    assert not decided(config=recomputes)
    compiles = AcceleratorConfig(graphs=True, compile_mode="reduce-overhead")
    assert not decided(config=compiles, compile=True)
