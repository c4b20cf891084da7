"""The forecaster as it learns: validation is the plain formula, a wave is learned, a checkpoint is the network."""

from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pytest
import torch

from hexlit.errors import UsageError
from hexlit.tasks.forecast.checkpoint import load_forecaster
from hexlit.tasks.forecast.config import KINDS, ForecastNetConfig
from hexlit.tasks.forecast.data_module import ForecastDataModule
from hexlit.tasks.forecast.evaluation import forecast_batch
from hexlit.tasks.forecast.module import ForecastModule
from hexlit.training.config import OptimizerConfig, TrainerConfig
from tests.tasks.forecast.tables import hourly, make_data, save

LEARNING = OptimizerConfig(lr=1e-2, warmup_steps=0, schedule="constant")
WAVE: dict[str, Any] = {"history": 24, "horizon": 12, "season": 24}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(hourly(500), tmp_path_factory.mktemp("table") / "t.parquet")


def make_module(data: ForecastDataModule, *, ema_decay: float = 0.0, loss: str = "mae", **net: Any) -> ForecastModule:
    torch.manual_seed(0)
    config = ForecastNetConfig(**{"hidden": 16, "head": 16, "dropout": 0.0} | net)
    trainer = TrainerConfig(ema_decay=ema_decay)
    return ForecastModule(config, data.spec, LEARNING, trainer, data.profile, loss=loss)


def make_trainer(epochs: int = 1) -> L.Trainer:
    quiet: dict[str, Any] = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar"), False)
    return L.Trainer(accelerator="cpu", devices=1, max_epochs=epochs, enable_model_summary=False, **quiet)


def validated(module: ForecastModule, data: ForecastDataModule) -> dict[str, float]:
    (found,) = make_trainer().validate(module, data, verbose=False)
    return {name.removeprefix("val."): float(value) for name, value in found.items()}


def shaken(module: ForecastModule) -> ForecastModule:
    """Away from persistence, where it begins."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return module


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_learns_a_daily_wave_far_better_than_persistence(kind: str, path: Path) -> None:
    data = make_data(path, **WAVE)
    module = make_module(data, kind=kind, layers=1)
    make_trainer(3).fit(module, data)
    found = validated(module, data)
    assert found["skill_over_persistence"] > 0.6
    assert found["r2"] > 0.8


@pytest.mark.row("F8")
def test_validation_logs_errors_in_units_over_all_windows_and_skill_over_the_same(path: Path) -> None:
    """In batches and micro-batches of unequal size, as a plain formula over all windows at once."""
    data = make_data(path, accelerator={"micro_batch": 13, "evaluation_batch": 29}, **WAVE)
    module = shaken(make_module(data))
    found = validated(module, data)
    values, windows = data.grid.values[:, :, 0], data.windows["validation"]
    ahead = windows.origin[:, None] + np.arange(1, 13)
    truth = values[windows.series[:, None], ahead]
    batch = data.all_of("validation")
    error = data.spec.in_units(forecast_batch(module.net, batch, module.device).numpy())[:, :, 0] - truth
    mae = np.abs(error).mean()
    assert found["mae"] == pytest.approx(mae, rel=1e-4)
    assert found["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-4)
    assert found["r2"] == pytest.approx(1 - (error**2).sum() / ((truth - truth.mean()) ** 2).sum(), rel=1e-3)
    last = values[windows.series, windows.origin][:, None]
    day_before = values[windows.series[:, None], ahead - 24]
    for name, naive in (("persistence", last), ("seasonal", day_before)):
        assert found[f"skill_over_{name}"] == pytest.approx(1 - mae / np.abs(naive - truth).mean(), abs=1e-4)


def test_several_targets_are_logged_by_name_and_as_their_mean(path: Path) -> None:
    data = make_data(path, targets=["temp", "wind"], features=[])
    found = validated(shaken(make_module(data)), data)
    assert found["mae"] == pytest.approx((found["mae_temp"] + found["mae_wind"]) / 2, rel=1e-5)
    assert found["mae_temp"] != pytest.approx(found["mae_wind"], rel=1e-2)


@pytest.mark.parametrize("loss", ["mae", "mse", "huber"])
def test_the_loss_is_the_plain_formula_of_scaled_values(loss: str, path: Path) -> None:
    data = make_data(path)
    module = shaken(make_module(data, loss=loss))
    batch = data.all_of("train")
    output = module(batch)
    error = (output - batch.target).detach().double().numpy()
    expected = {
        "mae": np.abs(error),
        "mse": error**2,
        "huber": np.where(np.abs(error) < 1, error**2 / 2, np.abs(error) - 0.5),
    }[loss].mean()
    assert float(module.losses(output, batch)["loss"].detach()) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(UsageError, match="loss=hinge: choose one of mae, mse, huber"):
        make_module(data, loss="hinge")


@pytest.mark.parametrize("ema_decay", [0.0, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_gives_the_same_forecasts_without_pickle(
    kind: str, ema_decay: float, path: Path, tmp_path: Path
) -> None:
    data = make_data(path)
    module = make_module(data, kind=kind, ema_decay=ema_decay)
    trainer = make_trainer()
    trainer.fit(module, data)
    trainer.save_checkpoint(tmp_path / "checkpoints" / "last.ckpt")
    batch = data.all_of("test")
    expected = forecast_batch(module.net_in_use, batch, module.device)  # type: ignore[arg-type]
    assert not torch.equal(expected, forecast_batch(make_module(data, kind=kind).net, batch, module.device))
    for named in (tmp_path, tmp_path / "checkpoints" / "last.ckpt"):
        loaded = load_forecaster(named)
        assert loaded.spec == data.spec
        assert torch.equal(forecast_batch(loaded.net, batch, torch.device("cpu")), expected)


@pytest.mark.parametrize("content", [None, b"", b"rubbish", {"state_dict": {}}, [1]])
def test_what_is_no_checkpoint_of_a_forecaster_is_refused_in_one_line(content: Any, tmp_path: Path) -> None:
    file = tmp_path / "net.ckpt"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        torch.save(content, file)
    with pytest.raises(UsageError, match=r"checkpoint=.*net\.ckpt: ") as caught:
        load_forecaster(file)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="has no checkpoints/best.ckpt"):
        load_forecaster(tmp_path)


def test_an_example_batch_has_the_form_of_a_real_one(path: Path) -> None:
    data = make_data(path)
    example, real = make_module(data).example_batch(32), data.in_order("train")[0]
    for one, two in zip(example, real, strict=True):
        assert one.shape[1:] == two.shape[1:]
        assert one.dtype == two.dtype
