"""The parts of a run in a plain Trainer of Lightning."""

from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pytest
import torch
from lightning.pytorch.utilities.model_summary.model_summary import ModelSummary

import hexlit
from hexlit.tasks.hex.checkpoint import load_network
from tests.commands.test_train_forecast import SMALL
from tests.commands.tiny import TINY
from tests.selfplay.recorded_games import random_games, save
from tests.selfplay.test_window import games
from tests.tasks.forecast.tables import hourly
from tests.tasks.forecast.tables import save as save_table
from tests.training.trainers import quiet_trainer


def trained(module: L.LightningModule, data: L.LightningDataModule, **settings: Any) -> L.Trainer:
    trainer = quiet_trainer(reload_dataloaders_every_n_epochs=1, **settings)
    trainer.fit(module, data)
    return trainer


def test_a_plain_trainer_learns_by_self_play_with_the_networks_of_the_recipe(
    tmp_path: Path,
) -> None:
    """Twice the same, and the checkpoint is that of a run."""
    ends = []
    for name in ("one", "other"):
        module = hexlit.module(*TINY)
        data = hexlit.datamodule(*TINY, folder=tmp_path / name)
        assert module.net.config.channels == 8
        assert module.profile.train_batch == 32
        trainer = trained(module, data, max_epochs=2)
        assert trainer.current_epoch == 2
        assert list((tmp_path / name / "games").iterdir())
        ends.append(torch.cat([one.detach().flatten() for one in module.net.parameters()]))
    assert torch.equal(*ends)
    trainer.save_checkpoint(tmp_path / "net.ckpt")
    assert load_network(tmp_path / "net.ckpt").size == 3


def test_without_a_folder_the_games_go_with_the_data_module() -> None:
    data: Any = hexlit.datamodule(*TINY)
    folder = Path(data.temporary.name)
    trained(hexlit.module(*TINY), data, max_epochs=1)
    assert list((folder / "games").iterdir())
    data.close()
    data.temporary.cleanup()
    assert not folder.exists()


def test_recorded_games_and_other_tasks_have_parts_too(tmp_path: Path) -> None:
    store = save(tmp_path / "store", random_games(40))
    recipe = ["data=games", "board=4", f"data.path={store}", "accelerator=cpu", "net=tiny"]
    trainer = trained(hexlit.module(*recipe), hexlit.datamodule(*recipe), max_epochs=1)
    assert "val.top1_accuracy" in trainer.callback_metrics
    file = save_table(hourly(), tmp_path / "table.csv")
    recipe = [*SMALL, f"data.path={file}"]
    trainer = trained(hexlit.module(*recipe), hexlit.datamodule(*recipe), max_epochs=1)
    assert "val.loss" in trainer.callback_metrics


def test_the_summary_of_a_trainer_counts_the_operations() -> None:
    assert ModelSummary(hexlit.module(*TINY)).total_flops > 10_000


def test_positions_of_a_store_are_tensors(tmp_path: Path) -> None:
    records = games(12)
    store = save(tmp_path / "store", records)
    searched = hexlit.positions(store, 4)
    kept = sum(len(record.policy_plies) for record in records)
    assert searched.planes.shape == (kept, 5, 4, 4)
    assert searched.policy.shape == (kept, 16)
    assert searched.policy.sum(1).numpy() == pytest.approx(np.ones(kept), abs=1e-2)
    played = hexlit.positions(store, 4, targets="played", most=7)
    assert played.value.shape == (7,)
    assert set(played.policy.flatten().tolist()) == {0, 1}
    with pytest.raises(hexlit.UsageError, match=r"^targets=soft: choose one of searched, played$"):
        hexlit.positions(store, 4, targets="soft")


def test_mistakes_are_named() -> None:
    with pytest.raises(hexlit.UsageError, match="unknown key 'bord'"):
        hexlit.module("bord=4")
