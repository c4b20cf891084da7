"""The optimisation step that every task shares: micro-batches, mixed precision, clipping,
averaging, recovery.

And its guard against losses and gradients that are no numbers.
"""

import logging
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import lightning as L
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from hexlit.accelerate.collectives import all_gather, all_reduce
from hexlit.accelerate.compiling import autocast, compile_for_training, unchanged
from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.memory import is_out_of_memory, release
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.accelerate.ranks import ranks
from hexlit.accelerate.threads import fastest_step, torch_threads, ways_of_step, worth_measuring
from hexlit.errors import UsageError
from hexlit.training.batches import (
    PartOf,
    batch_size,
    equal_parts_of,
    parts_of,
    some_of,
    whole_size,
)
from hexlit.training.budget import progress
from hexlit.training.captured_step import CapturedStep, captured_step
from hexlit.training.checkpoints import read_checkpoint
from hexlit.training.config import ELEMENTWISE, OptimizerConfig, TrainerConfig
from hexlit.training.gradient_check import check_gradients
from hexlit.training.optimizer import (
    FlatParameters,
    RunningAverage,
    StateBefore,
    build_optimizer,
    learning_rate_factor,
    scaled_lr,
    skips_itself,
)
from hexlit.training.usage import StepClock

log = logging.getLogger(__name__)

T = TypeVar("T")


class Learning(NamedTuple):
    """How the weights of a module are learned."""

    optimizer: OptimizerConfig
    trainer: TrainerConfig


class TrainedModule(L.LightningModule):
    """A network and the update of its weights. A task adds the network and its losses.

    A step of `train_batch` examples goes through the network in micro-batches. Their gradients add
    up to those of the whole batch; statistics of batch norm are those of a micro-batch. When memory
    runs out, the micro-batch is halved and the step begins again, so the examples of a step stay
    the same. Batch norm and dropout keep their changes from the failed attempt. Gradients are
    unscaled, then clipped. A step with a gradient that is not finite changes no weight, and is
    counted.

    Each of several ranks takes its part of every batch; a micro-batch and its statistics then cover
    all ranks. Gradients and losses are added up over the ranks once per step, so all ranks make the
    same update.

    Attributes:
        net: the network in training.
        average: running average of its weights, None where `trainer.ema_decay` is 0.
        learning_rate: that of the latest step; 0 before the first.
        micro_batch: present limit of examples that go through the network at once.
        threads: those of torch in a step; on a cpu `prepare` chooses them if `accelerator.threads`
            does not.
        kernels_in_use: the one of `kernels` that `prepare` has chosen.
        other_processes: processes that compute during the training; the choice of threads allows for
            them.
        skipped_steps: steps of this epoch whose gradients were not finite, a tensor on the device.
        skipped_in_a_row: the latest such steps in a row, over epochs; likewise.
        dynamic_shapes: whether batches differ in shape by more than their number of examples.
        clock: times the parts of a step.
        ranks: the place of this process among those of its run.
        whole: examples of the current batch over all ranks; 0 before the first.
    """

    def __init__(
        self,
        net: nn.Module,
        optimizer: OptimizerConfig,
        trainer: TrainerConfig,
        profile: DeviceProfile,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Train `net` as `optimizer` and `trainer` say, on the device of `profile`.

        A checkpoint has the `facts` and the settings of learning as its hyperparameters.
        """
        super().__init__()
        learning = {"ema_decay": trainer.ema_decay, "train_batch": profile.train_batch}
        self.save_hyperparameters({**(facts or {}), "learning": asdict(optimizer) | learning})
        self.automatic_optimization = False
        self._first_seed = torch.initial_seed()
        self.layout = torch.channels_last if profile.channels_last else torch.contiguous_format
        """Memory layout of the weights of convolutions, and of images."""
        self.net = net.to(memory_format=self.layout)  # type: ignore[call-overload]
        self.average = RunningAverage(self.net, trainer.ema_decay) if trainer.ema_decay else None
        self.optimizer_config = optimizer
        self.trainer_config = trainer
        self.profile = profile
        self.micro_batch = profile.micro_batch
        self.threads = profile.threads
        self.other_processes = 0
        self.kernels_in_use = "torch"
        self.register_buffer("skipped_steps", torch.zeros(()), persistent=False)
        self.register_buffer("skipped_in_a_row", torch.zeros(()), persistent=False)
        self.captured: CapturedStep | None = None
        self.learning_rate = 0.0
        self.clock = StepClock(None, profile.device)
        self.ranks = ranks()
        self.whole = 0

    dynamic_shapes = False
    skipped_steps: Tensor
    skipped_in_a_row: Tensor

    @classmethod
    def from_hyperparameters(
        cls, settings: Mapping[str, Any], learning: Learning, profile: DeviceProfile
    ) -> Self:
        """A fresh module with the hyperparameters `settings` of a checkpoint, and those of
        `learning`.
        """
        raise NotImplementedError(f"{cls.__name__} is not made from a checkpoint alone")

    @classmethod
    def load_from_checkpoint(  # type: ignore[override]  # the shape is all in the checkpoint
        cls, checkpoint_path: str | Path, map_location: Any = None, *, strict: bool = True
    ) -> Self:
        """The module of a checkpoint with its weights, as Lightning's function of this name; it can
        be trained on.

        Raises:
            UsageError: the file is damaged, or no checkpoint of such a module.
        """
        saved = read_checkpoint(Path(checkpoint_path))
        try:
            settings = dict(saved["hyper_parameters"])
            learning = dict(settings.pop("learning"))
            trainer = TrainerConfig(ema_decay=learning.pop("ema_decay"))
            hardware = AcceleratorConfig(train_batch=learning.pop("train_batch"))
            optimizer = OptimizerConfig(**learning)
            profile = build_profile(hardware)
            module = cls.from_hyperparameters(settings, Learning(optimizer, trainer), profile)
            module.load_state_dict(saved["state_dict"], strict=strict)
        except (KeyError, TypeError, RuntimeError) as error:
            raise UsageError(
                f"{checkpoint_path}: no checkpoint of a {cls.__name__} ({error})"
            ) from error
        return module if map_location is None else module.to(map_location)

    @abstractmethod
    def output(self, batch: Any) -> Any:
        """The network's output for a batch: of the trained network, or in evaluation of the one in
        use.
        """

    @abstractmethod
    def losses(self, output: Any, batch: Any) -> dict[str, Tensor]:
        """Mean losses over a batch, each a scalar; `loss` is minimised, the others are only logged."""

    def measures(self, output: Any, batch: Any) -> dict[str, Tensor]:
        """Further means over a batch of validation data, each a scalar, logged next to its losses."""
        return {}

    @abstractmethod
    def example_batch(self, count: int) -> Any:
        """A batch of `count` examples on the module's device, for trying the network."""

    kernels: Sequence[str] = ("torch",)
    """Names of the ways to compute the network in training on a cpu, torch's own first."""

    def use_kernels(self, name: str) -> None:
        """Train with these `kernels` from now on."""

    @property
    def net_in_use(self) -> nn.Module:
        """The network for play and evaluation: the averaged one where there is one."""
        return self.net if self.average is None else self.average.module

    @property
    def net_of_mode(self) -> nn.Module:
        """The network in training, else `net_in_use`."""
        return self.net if self.training else self.net_in_use

    def prepare(self) -> float | None:
        """Move to the device, choose how a step is computed, and compile if asked for: returns its
        seconds, or None.
        """
        self.to(self.profile.device)
        if self.device.type == "cpu":
            with unchanged(self.net):
                self._in_memory(self._choose_step, self.micro_batch)
        if not self.profile.compile:
            return None

        def compile_it() -> float | None:
            loss = partial(self._loss, self.example_batch(self.micro_batch))
            return compile_for_training(self.net, self.profile, loss, dynamic=self.dynamic_shapes)

        return self._in_memory(compile_it, self.micro_batch)

    def training_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor]:
        """Update the weights with one batch; returns its losses."""
        with torch_threads(self.threads):
            return self._update(batch)

    def _update(self, batch: Any) -> dict[str, Tensor]:
        self.clock.end("load")
        losses = self.whole_step(batch) if self.captured is None else self.captured.step(batch)
        self.learning_rate = float(self.inner_optimizer().param_groups[0]["lr"])
        self.lr_schedulers().step()  # type: ignore[union-attr]  # one scheduler, of steps
        self._add_losses(losses, whole_size(self, batch))
        self.clock.end("update")
        return losses

    def inner_optimizer(self) -> Any:
        """The optimizer of torch within Lightning's."""
        optimizer: Any = self.optimizers()
        return optimizer.optimizer

    def tensor_step(self, batch: Any) -> dict[str, Tensor]:
        """A step that asks no value of the device, as a graph captures it; nothing of Lightning is
        told.
        """
        optimizer = self.inner_optimizer()
        losses = self._gradients(batch)
        with torch.autocast(self.device.type, enabled=False):
            self.on_before_optimizer_step(optimizer)
            optimizer.step()
        optimizer.zero_grad()
        if self.average is not None:
            self.average.update()
        return losses

    def count_step(self) -> None:
        """Count a step that Lightning has not seen."""
        optimizer: Any = self.optimizers()
        optimizer._on_before_step()
        optimizer._on_after_step()

    def whole_step(self, batch: Any) -> dict[str, Tensor]:
        """Update the weights with one batch, with smaller micro-batches when memory runs out;
        returns its losses.
        """
        optimizer: Any = self.optimizers()
        losses = self._in_memory(partial(self._gradients, batch), batch_size(batch))
        try:
            # Lightning calls a step of manual optimisation inside its autocast, which would round
            # the update.
            with torch.autocast(self.device.type, enabled=False):
                before = self._state_before(optimizer.optimizer)
                optimizer.step()
                if before is not None:
                    before.restore_unless(self._finite)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                raise UsageError(
                    f"training: {self.device} has no memory for the state of optimizer.name"
                ) from error
            raise
        optimizer.zero_grad()
        if self.average is not None:
            self.average.update()
        return losses

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Log losses and measures of a validation batch as `val.*`; weights and statistics stay
        unchanged.
        """
        count = whole_size(self, batch)
        parts = list(parts_of(batch, self.micro_batch)) if self.ranks.has_part(count) else []
        means: dict[str, Any] = {}
        for part in parts:
            output = self.output(part)
            share = batch_size(part) / count
            figures = self.losses(output, part) | self.measures(output, part)
            for name, value in figures.items():
                means[name] = means.get(name, 0.0) + value * share
        if self.ranks.several:
            total: Counter[str] = Counter()
            for part in all_gather({name: float(value) for name, value in means.items()}):
                total.update(part)
            means = dict(total)
        named = {f"val.{name}": value for name, value in means.items()}
        self.log_dict(named, on_step=False, on_epoch=True, batch_size=count)

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip the norm of the unscaled gradient, and keep the weights where it is not finite."""
        if self._scaler and getattr(optimizer, "_step_supports_amp_scaling", False):
            self._scaler.unscale_(optimizer)  # its step would do so, after the clipping
        parameters = [p for p in chain.from_iterable(self.flat.groups) if p.grad is not None]
        norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
        finite = norm.isfinite()
        self.skipped_steps += ~finite
        self.skipped_in_a_row += 1
        self.skipped_in_a_row *= ~finite
        if self.trainer_config.gradient_clip_val:
            clip_grads_with_norm_(parameters, self.trainer_config.gradient_clip_val, norm)
        if self._scaler:
            return  # it skips such a step itself, and then scales less
        if skips_itself(optimizer, self.device):
            optimizer.found_inf = (~finite).float()  # type: ignore[attr-defined]
        elif self.device.type != "cpu":
            self._finite = finite
        elif not finite:
            optimizer.zero_grad()

    @property
    def _scaler(self) -> Any:
        """The scaler of float16's gradients, or None."""
        return getattr(self.trainer.precision_plugin, "scaler", None)

    def _state_before(self, optimizer: torch.optim.Optimizer) -> StateBefore | None:
        """What a step may have to restore; None where it can be skipped.

        A cpu knows at once whether the gradient is finite. Another device would have to finish its
        work first.
        """
        skips = self._scaler is not None or skips_itself(optimizer, self.device)
        return None if skips or self.device.type == "cpu" else StateBefore(optimizer)

    def on_train_start(self) -> None:
        """Try the gradients of another device, and decide whether steps are captured as graphs."""
        check_gradients(self)
        self.captured = captured_step(self)

    def on_train_end(self) -> None:
        """Free the graphs."""
        self.captured = None

    def on_train_epoch_start(self) -> None:
        """Tie the draws of dropout to the epoch, so that a resumed run repeats them. Every rank
        draws differently.
        """
        torch.manual_seed(self._first_seed + self.current_epoch + self.ranks.rank * 2**32)
        self.skipped_steps.zero_()
        self._totals: dict[str, Any] = {}
        self._examples = 0

    def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """This rank's part of a batch; the whole batch with a single rank."""
        if isinstance(batch, PartOf):
            batch, self.whole = batch
            return batch
        self.whole = batch_size(batch)
        return some_of(batch, self.ranks.part(self.whole)) if self.ranks.several else batch

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        if self._trainer is None or not self.trainer.training:
            return super().transfer_batch_to_device(batch, device, dataloader_idx)
        self.clock.end("load")
        moved = super().transfer_batch_to_device(batch, device, dataloader_idx)
        self.clock.end("transfer")
        return moved

    def configure_optimizers(self) -> Any:
        """The configured optimizer, its learning rate following the progress of the run."""
        lr = scaled_lr(self.optimizer_config, self.profile.train_batch)
        name = self.optimizer_config.name
        self.flat = FlatParameters(self.net, by_parameter=name not in ELEMENTWISE)
        if self.average is not None:
            self.average.follow(self.net, self.flat)
        optimizer = build_optimizer(self.optimizer_config, self.flat, lr=lr)
        factor = learning_rate_factor(
            self.optimizer_config, lambda: progress(self.trainer, self.current_epoch)
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": torch.optim.lr_scheduler.LambdaLR(optimizer, factor),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Count the epoch as done: a checkpoint is saved within its end."""
        progress = checkpoint["loops"]["fit_loop"]["epoch_progress"]
        for part in ("current", "total"):
            progress[part]["completed"] = progress[part]["processed"]

    def _loss(self, batch: Any) -> Tensor:
        return self.losses(self.output(batch), batch)["loss"]

    def _choose_step(self) -> None:
        """Take the fastest threads and kernels, measured on as many examples as take some time, up
        to a micro-batch.
        """
        kernels = ("torch",) if self.profile.compile else self.kernels
        ways = ways_of_step(self.threads, kernels, fixed=self.profile.config.threads > 0)

        def step(batch: Any, count: int, name: str) -> None:
            self.use_kernels(name)
            with torch_threads(count):
                with autocast(self.profile):
                    loss = self._loss(batch)
                loss.backward()  # type: ignore[no-untyped-call]

        def make() -> Mapping[str, Callable[[], object]]:
            count = worth_measuring(
                lambda count: step(self.example_batch(count), 1, "torch"), self.micro_batch
            )
            batch = self.example_batch(count)
            return {way: partial(step, batch, *parts) for way, parts in ways.items()}

        facts = {name: value for name, value in self.hparams.items() if name != "learning"}
        shape = {
            "batch": self.micro_batch,
            "precision": self.profile.precision,
            "layout": str(self.layout),
        }
        of = {"step of": type(self).__name__, "facts": facts, **shape}
        self.threads, self.kernels_in_use = ways[
            fastest_step(of, list(ways), self.other_processes, make)
        ]
        self.use_kernels(self.kernels_in_use)

    def _in_memory(self, work: Callable[[], T], examples: int) -> T:
        """The result of `work` on so many `examples`, with a smaller micro-batch each time that
        memory runs out.
        """
        while True:
            try:
                return work()
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                tried = min(self.micro_batch, examples)
                full = f"out of memory with {tried} examples at once ({' '.join(str(error).split())[:120]})"
                if tried == 1 or self.ranks.several:
                    advice = "lower accelerator.micro_batch, or set accelerator.checkpoint_gradients=true"
                    raise UsageError(f"training: {self.device} is {full}; {advice}") from error
            # Only here, after the exception is gone, can its memory be freed.
            self.zero_grad()
            release(self.device)
            self.micro_batch = (tried + 1) // 2
            log.warning(
                "%s; continuing with %d, and with the same examples a step", full, self.micro_batch
            )

    def _gradients(self, batch: Any) -> dict[str, Tensor]:
        """Add up the gradients of a batch; returns the means of its losses."""
        count = whole_size(self, batch)
        sums: dict[str, Tensor] = {}
        for part in self._micro_batches(batch, count):
            output = self.output(part)
            self.clock.end("forward")
            losses = self.losses(output, part)
            share = batch_size(part) / count if self.ranks.has_part(count) else 0.0
            for name, value in losses.items():
                sums[name] = sums.get(name, 0.0) + value.detach() * share
            self.clock.end("loss")
            with torch.autocast(self.device.type, enabled=False):
                self.manual_backward(losses["loss"] * share)
            self.clock.end("backward")
        all_reduce([*self.flat.gradients(), *sums.values()])
        return sums

    def _add_losses(self, losses: Mapping[str, Tensor], examples: int) -> None:
        """Add the losses of a step to those of the epoch; the last step logs their means as
        `train.*`.
        """
        for name, value in losses.items():
            self._totals[name] = self._totals.get(name, 0.0) + value * examples
        self._examples += examples
        if self.trainer.is_last_batch:
            means = {
                f"train.{name}": total / self._examples for name, total in self._totals.items()
            }
            self.log_dict(means, on_step=False, on_epoch=True, batch_size=1)

    def _micro_batches(self, batch: Any, whole: int) -> Iterator[Any]:
        """Parts of at most `micro_batch` examples. Every rank has equally many: their statistics
        cover all ranks.
        """
        if not self.ranks.several:
            return parts_of(batch, self.micro_batch)
        most = -(-whole // self.ranks.size)
        return equal_parts_of(batch, math.ceil(most / self.micro_batch))
