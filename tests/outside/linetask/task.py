"""Its module, its data and the rest."""

from collections.abc import Mapping
from typing import Any

import lightning as L
import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from hexlit.accelerate.loaders import make_loader
from hexlit.training.module import TrainedModule
from hexlit.training.task import Session, Task
from linetask.settings import LineConfig

Points = tuple[Tensor, Tensor]


class LineModule(TrainedModule):
    """Learns slope and height."""

    def __init__(self, config: LineConfig, session: Session) -> None:
        facts = {"slope": config.slope}  # in its checkpoints, beside the settings of learning
        super().__init__(nn.Linear(1, 1), config.optimizer, config.trainer, session.profile, facts)

    def output(self, batch: Points) -> Tensor:
        result: Tensor = self.net_of_mode(batch[0])
        return result

    def losses(self, output: Tensor, batch: Points) -> dict[str, Tensor]:
        return {"loss": functional.mse_loss(output.float(), batch[1])}

    def example_batch(self, count: int) -> Points:
        return torch.zeros(count, 1), torch.zeros(count, 1)


class LineData(L.LightningDataModule):
    """Points of the line."""

    def __init__(self, config: LineConfig, session: Session) -> None:
        super().__init__()
        self._profile = session.profile
        x = torch.linspace(-1, 1, config.points).unsqueeze(1)
        self._points = TensorDataset(x, config.slope * x)

    def train_dataloader(self) -> DataLoader[Any]:
        return make_loader(self._points, self._profile, batch_size=16)

    def val_dataloader(self) -> DataLoader[Any]:
        return make_loader(self._points, self._profile, batch_size=16)


class LineTask(Task):
    """What the rails ask for."""

    unit = "points"
    units = ("points",)

    def __init__(self, config: LineConfig, console: Console) -> None:
        self._config = config
        self._console = console

    def set_up(self, session: Session) -> None:
        self.module = LineModule(self._config, session)
        self.data = LineData(self._config, session)

    def forward_flops(self) -> int:
        return 2

    def summary(self) -> Mapping[str, Any]:
        return {"slope_found": self.module.net.weight.item()}  # type: ignore[union-attr,operator]

    def show_summary(self, summary: Mapping[str, Any]) -> None:
        self._console.print(f"slope {summary['slope_found']:.3f}")

    def show_ending(
        self, ending: Mapping[str, Any], figures: Mapping[str, Any], command: str
    ) -> None:
        self._console.print(f"ended: {ending['why']}; {command}")
