"""The Trainer's callback: what it reports, when,
and that a training it ends comes to a clean end.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader

from hexlit.training.loggers import MetricsCsv
from hexlit.tuning.pruning import Pruning
from tests.training.trainers import quiet_trainer


class Descent(L.LightningModule):
    """Logs its epoch as `value`, in every `every`th epoch, and its step as `step`."""

    def __init__(self, every: int = 1) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.every = every

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        self.log("steps", float(self.global_step))
        return self.weight**2

    def on_train_epoch_end(self) -> None:
        if self.current_epoch % self.every == 0:
            self.log("value", float(self.current_epoch))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


class Study:
    """Hears reports, and gives up at the step `until`."""

    def __init__(self, until: int | None = None) -> None:
        self.reports: list[tuple[int, float]] = []
        self.pruned = False
        self.until = until

    def report(self, step: int, value: float) -> bool:
        self.reports.append((step, value))
        return step == self.until


def fit(
    tmp_path: Path, study: Any, module: L.LightningModule, epochs: int = 4, **settings: Any
) -> L.Trainer:
    saving = ModelCheckpoint(
        tmp_path, "last", save_on_train_epoch_end=True, enable_version_counter=False
    )
    callbacks = [MetricsCsv(tmp_path), saving, Pruning(study, "value", **settings)]
    trainer = quiet_trainer(
        epochs, callbacks=callbacks, enable_checkpointing=True, log_every_n_steps=1
    )
    trainer.fit(module, DataLoader(list(range(6)), batch_size=2))  # type: ignore[arg-type]
    return trainer


def test_an_epoch_without_a_measurement_is_not_reported(tmp_path: Path) -> None:
    study = Study()
    fit(
        tmp_path, study, Descent(every=2), epochs=5, first_step=8
    )  # those of a later seed come after those before
    assert study.reports == [(8, 0.0), (10, 2.0), (12, 4.0)]


def test_a_pruned_training_ends_after_its_epoch_with_all_files_whole(tmp_path: Path) -> None:
    study = Study(until=1)
    trainer = fit(tmp_path, study, Descent())
    assert study.pruned
    assert trainer.state.finished
    assert trainer.current_epoch == 2
    rows = (tmp_path / "metrics.csv").read_text().splitlines()
    assert len(rows) == 3, "a header and two epochs"
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["epoch"] == 1


TWO_PROCESSES = """
import sys
from pathlib import Path
import lightning as L
import torch
from torch.utils.data import DataLoader
from hexlit.training.loggers import MetricsCsv
from hexlit.tuning.pruning import Pruning
from tests.tuning.test_pruning import Descent, Study

class Ends(L.Callback):
    def on_fit_end(self, trainer, pl_module):
        said = Path(sys.argv[1], f"rank-{trainer.global_rank}")
        said.write_text(f"{trainer.current_epoch} {study.pruned} {len(study.reports)}")

study = Study(until=1)
trainer = L.Trainer(
    max_epochs=4, accelerator="cpu", devices=2, strategy="ddp_fork", logger=False, enable_checkpointing=False,
    callbacks=[Pruning(study, "value"), Ends()], enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(Descent(), DataLoader(list(range(8)), batch_size=2))
"""


@pytest.mark.slow
def test_several_processes_stop_together_and_one_reports(tmp_path: Path) -> None:
    """The Trainer's own strategies: rank 0 reports, and what it hears is for all."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", TWO_PROCESSES, str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=180)
    assert (tmp_path / "rank-0").read_text() == "2 True 2"
    assert (tmp_path / "rank-1").read_text() == "2 True 0"
