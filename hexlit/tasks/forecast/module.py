"""The forecaster as a LightningModule: learning from a window."""

from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.together import gathered
from hexlit.choices import check_word
from hexlit.tasks.forecast.config import ForecastNetConfig
from hexlit.tasks.forecast.metrics import ErrorSums, persistence, seasonal_naive, skill
from hexlit.tasks.forecast.nets import WindowShape, build_net
from hexlit.tasks.forecast.spec import WindowSpec
from hexlit.tasks.forecast.windows import ForecastBatch
from hexlit.training.config import OptimizerConfig, TrainerConfig
from hexlit.training.module import TrainedModule

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mae": functional.l1_loss,
    "mse": functional.mse_loss,
    "huber": functional.huber_loss,
}
"""Losses of scaled values by name."""


class ForecastModule(TrainedModule):
    """Learns all horizons of all targets at once.

    Validation logs `val.mae`, `val.rmse`, `val.r2` and the skill over the naive forecasts. `val.mae` is in the target's
    unit. With several targets it is the mean over them, and `val.mae_TARGET` is logged too.

    A checkpoint's hyperparameters are all that a forecast needs; see `hexlit.tasks.forecast.checkpoint`.
    """

    def __init__(
        self,
        net: ForecastNetConfig,
        spec: WindowSpec,
        optimizer: OptimizerConfig,
        trainer: TrainerConfig,
        profile: DeviceProfile,
        *,
        loss: str = "mae",
    ) -> None:
        """A fresh network `net` for the windows of `spec`; `loss` is one of `LOSSES`.

        Raises:
            UsageError: there is no such loss.
        """
        check_word("loss", loss, LOSSES)
        shape = WindowShape.of(spec)
        super().__init__(build_net(net, shape), optimizer, trainer, profile)
        learning = {**asdict(optimizer), "ema_decay": trainer.ema_decay, "train_batch": profile.train_batch}
        self.save_hyperparameters(
            {"task": "forecast", "net": asdict(net), "spec": spec.to_dict(), "loss": loss, "learning": learning}
        )
        self.spec = spec
        self.shape = shape
        self.loss = LOSSES[loss]
        self._judged: dict[str, ErrorSums] = {}

    def forward(self, batch: ForecastBatch) -> Tensor:
        """The trained network's scaled forecasts `[B, P, T]`."""
        forecast: Tensor = self.net(batch.history, batch.future, batch.statics, batch.series)
        return forecast

    def output(self, batch: ForecastBatch) -> Tensor:
        net = self.net if self.training else self.net_in_use
        forecast: Tensor = net(batch.history, batch.future, batch.statics, batch.series)
        return forecast

    def losses(self, output: Tensor, batch: ForecastBatch) -> dict[str, Tensor]:
        return {"loss": self.loss(output.float(), batch.target)}

    def measures(self, output: Tensor, batch: ForecastBatch) -> dict[str, Tensor]:
        """Mean absolute error in units; the sums for measures that are no means are kept until the epoch ends."""
        spec, targets = self.spec, len(self.spec.targets)
        naive = {
            "persistence": persistence(batch.history, len(spec.horizons), targets),
            "seasonal": seasonal_naive(batch.history, spec.horizons, targets, spec.season),
        }
        for name, forecast in {"model": output, **naive}.items():
            if forecast is not None:
                self._judged.setdefault(name, ErrorSums()).update(forecast, batch.target)
        std = torch.tensor(spec.target_std, device=output.device)
        mae = (output.float() - batch.target).abs().mean((0, 1)) * std
        found = {"mae": mae.mean()}
        if targets > 1:
            found |= {f"mae_{name}": value for name, value in zip(spec.targets, mae, strict=True)}
        return found

    def on_validation_epoch_end(self) -> None:
        """Log RMSE, R² and the skill over the naive forecasts, over all windows, means over targets."""
        judged: dict[str, ErrorSums] = {}
        for part in gathered({name: sums.on_cpu() for name, sums in self._judged.items()}):
            for name, sums in part.items():
                judged.setdefault(name, ErrorSums()).include(sums)
        found = {name: sums.overall(self.spec.target_std) for name, sums in judged.items()}
        self._judged = {}
        model = found.pop("model")
        self.log_dict({"val.rmse": float(model.rmse.mean()), "val.r2": float(model.r2.mean())})
        for name, naive in found.items():
            self.log(f"val.skill_over_{name}", float(np.mean(skill(model.mae, naive.mae))))

    def example_batch(self, count: int) -> ForecastBatch:
        """Windows that contain only means."""
        shape, device = self.shape, self.device
        return ForecastBatch(
            history=torch.zeros(count, shape.history, shape.inputs, device=device),
            future=torch.zeros(count, shape.horizons, shape.calendar, device=device),
            statics=torch.zeros(count, shape.statics, device=device),
            series=torch.zeros(count, dtype=torch.long, device=device),
            target=torch.zeros(count, shape.horizons, shape.targets, device=device),
            origin=torch.zeros(count, dtype=torch.long, device=device),
        )
