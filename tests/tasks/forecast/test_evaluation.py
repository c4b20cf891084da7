"""The table of the test set: the model beside references, on the same windows."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from hexlit.tasks.forecast.config import ForecastNetConfig
from hexlit.tasks.forecast.data_module import ForecastDataModule
from hexlit.tasks.forecast.evaluation import ErrorRow, examples, test_table
from hexlit.tasks.forecast.nets import ForecastNet, WindowShape, build_net
from hexlit.tasks.forecast.ridge import fit_ridge
from tests.tasks.forecast.tables import hourly, make_data, save


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(hourly(300), tmp_path_factory.mktemp("table") / "t.csv")


def make_net(data: ForecastDataModule) -> ForecastNet:
    torch.manual_seed(0)
    return build_net(ForecastNetConfig(hidden=8, head=8, dropout=0.5), WindowShape.of(data.spec))


def find(rows: list[ErrorRow], forecaster: str, horizon: int | str, target: str = "temp") -> ErrorRow:
    (found,) = [row for row in rows if (row.forecaster, row.horizon, row.target) == (forecaster, horizon, target)]
    return found


@pytest.mark.row("F8")
def test_the_table_has_every_forecaster_target_and_horizon_on_the_same_windows(path: Path) -> None:
    data = make_data(path, targets=["temp", "wind"], features=[], horizons=[1, 3])
    rows = test_table(make_net(data), data)
    assert [(row.forecaster, row.target, row.horizon) for row in rows] == [
        (forecaster, target, horizon)
        for forecaster in ("model", "persistence", "seasonal", "ridge")
        for target in ("temp", "wind")
        for horizon in ("all", 1, 3)
    ]
    assert {row.windows for row in rows} == {len(data.windows["test"])}
    naive = find(rows, "persistence", 3, "wind")
    windows, values = data.windows["test"], data.grid.values[:, :, 1]
    error = values[windows.series, windows.origin] - values[windows.series, windows.origin + 3]
    assert naive.mae == pytest.approx(np.abs(error).mean(), rel=1e-5)
    assert naive.skill_over_persistence == 0
    # Untrained, the network forecasts the last known value.
    assert find(rows, "model", 3, "wind").mae == pytest.approx(naive.mae)
    overall = [find(rows, "ridge", horizon).mae for horizon in ("all", 1, 3)]
    assert overall[0] == pytest.approx((overall[1] + overall[2]) / 2)


def test_without_a_whole_season_in_the_past_there_is_no_seasonal_forecast(path: Path) -> None:
    data = make_data(path, season=7)
    rows = test_table(make_net(data), data)
    assert {row.forecaster for row in rows} == {"model", "persistence", "ridge"}
    assert all(np.isnan(row.skill_over_seasonal) for row in rows)


def test_the_table_leaves_the_network_as_it_was(path: Path) -> None:
    data = make_data(path)
    net = make_net(data).train()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    test_table(net, data)
    assert net.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


def test_ridge_finds_a_linear_law(tmp_path: Path) -> None:
    """y(t + 1) = 0.9 y(t) + 0.5 x(t): the first horizon is exact but for the noise."""
    random = np.random.default_rng(0)
    table = hourly(800, ("a",))
    x, y = random.normal(size=800), np.zeros(800)
    for step in range(799):
        y[step + 1] = 0.9 * y[step] + 0.5 * x[step] + 0.01 * random.normal()
    table = table.set_column(2, "temp", pa.array(y)).set_column(3, "wind", pa.array(x))
    data = make_data(save(table, tmp_path / "t.csv"))
    first = find(test_table(make_net(data), data), "ridge", 1)
    assert first.mae < 0.02
    assert first.skill_over_persistence > 0.9


def test_ridge_minimises_the_penalised_squares(path: Path) -> None:
    """Its gradient is zero at the weights."""
    data = make_data(path, calendar=["hour"])
    ridge = fit_ridge(data.in_order("train"), data.in_order("validation"), 2)
    batch = data.all_of("train")
    series = torch.nn.functional.one_hot(batch.series, 2)
    parts: list[Any] = [batch.history.flatten(1), batch.future[:, 0], batch.statics, series, torch.ones(len(series), 1)]
    design = torch.cat(parts, 1).double().numpy()
    rest = design @ ridge.weights - batch.target.flatten(1).double().numpy()
    away = ridge.weights.copy()
    away[5 * 6] -= 1  # inputs of a step: 2 values, 2 marks, 2 of the calendar; the last of 6 steps, its target
    away[-1] = 0
    np.testing.assert_allclose(design.T @ rest + ridge.penalty * away, 0, atol=1e-6)


def test_examples_are_windows_of_the_split_in_units_and_times(path: Path) -> None:
    data = make_data(path)
    found = examples(make_net(data), data, count=4)
    assert len(found) == 4
    values = {name: dict(zip(data.grid.times(np.arange(300)).astype(str), data.grid.values[i, :, 0], strict=True))
              for i, name in enumerate(data.grid.series)}  # fmt: skip
    for one in found:
        whole = values[one.series]
        np.testing.assert_allclose(one.past, [whole[time] for time in one.past_times], rtol=1e-5)
        np.testing.assert_allclose(one.truth, [whole[time] for time in one.times], rtol=1e-5)
        np.testing.assert_allclose(one.forecast, one.past[-1], rtol=1e-5)  # untrained
        assert one.seasonal is not None
        np.testing.assert_allclose(one.seasonal, one.past[-4:-1], rtol=1e-5)
