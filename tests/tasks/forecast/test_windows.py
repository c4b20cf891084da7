"""Windows: those of a slow plain loop, in splits that share no row."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from hexlit.tasks.forecast.data_module import SPLITS, ForecastDataModule
from hexlit.tasks.forecast.times import calendar_features
from tests.tasks.forecast.tables import emptied, hourly, make_data, save, without


def gappy() -> pa.Table:
    """Short and long gaps in rows, in a target and in a feature."""
    table = without(hourly(200), [20, 50, 51, 52, 53, 300])
    return emptied(emptied(table, "temp", [90, 91, 250]), "wind", [100, 130, 131, 132, 133, 134, 310])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(gappy(), tmp_path_factory.mktemp("table") / "t.csv")


def plain_windows(data: ForecastDataModule, split: str, stride: int) -> list[tuple[int, int]]:
    """(series, origin) of every window, found one by one."""
    values, spec = data.grid.values, data.spec
    begin, end = (0, *data.cuts, data.grid.steps)[SPLITS.index(split) :][:2]
    found = []
    for series in range(len(values)):
        for origin in range(begin + spec.history - 1, end, stride):
            steps = range(origin - spec.history + 1, origin + 1)
            ahead = [origin + horizon for horizon in spec.horizons]
            if ahead[-1] >= end or any(np.isnan(values[series, step, 0]) for step in ahead):
                continue
            if all(plain_input(data, series, step, column, begin) is not None for step in steps for column in range(2)):
                found.append((series, origin))
    return found


def plain_input(data: ForecastDataModule, series: int, step: int, column: int, begin: int) -> tuple[float, bool] | None:
    """The last value known, and whether it is from an earlier step; None after a longer gap."""
    for age in range(data.spec.max_gap + 1):
        if step - age >= begin and not np.isnan(data.grid.values[series, step - age, column]):
            return float(data.grid.values[series, step - age, column]), age > 0
    return None


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"stride": 3, "calendar": ["hour", "weekday", "yearday"]},
        {"horizon": 5, "horizons": [2, 5]},
        {"max_gap": 0},
        {"max_gap": 9, "history": 1},
    ],
)
def test_windows_and_their_batches_equal_a_slow_plain_reference(settings: dict[str, Any], path: Path) -> None:
    data = make_data(path, **settings)
    mean, std = np.array(data.spec.mean), np.array(data.spec.std)
    for split, begin in zip(SPLITS, (0, *data.cuts), strict=True):
        expected = plain_windows(data, split, settings.get("stride", 1))
        windows = data.windows[split]
        assert list(zip(windows.series.tolist(), windows.origin.tolist(), strict=True)) == expected
        batch = data.all_of(split)
        for row, (series, origin) in enumerate(expected):
            assert (int(batch.series[row]), int(batch.origin[row])) == (series, origin)
            for place, step in enumerate(range(origin - data.spec.history + 1, origin + 1)):
                found = [plain_input(data, series, step, column, begin) for column in range(2)]
                inputs = [(one[0] - mean[c]) / std[c] for c, one in enumerate(found) if one is not None]
                inputs += [float(one[1]) for one in found if one is not None]
                np.testing.assert_allclose(batch.history[row, place, :4], inputs, atol=1e-5)
            ahead = np.array([origin + horizon for horizon in data.spec.horizons])
            truth = (data.grid.values[series, ahead, 0] - mean[0]) / std[0]
            np.testing.assert_allclose(batch.target[row, :, 0], truth, atol=1e-5)
            calendar = calendar_features(data.grid.times(ahead), None, data.spec.calendar)
            np.testing.assert_allclose(batch.future[row], calendar, atol=1e-6)


def rows_of(data: ForecastDataModule, split: str) -> set[tuple[int, int]]:
    """(series, step) of every row that a window of `split` reads, one that is filled in included."""
    reach = max(data.spec.horizons)
    return {
        (series, step)
        for series, origin in zip(data.windows[split].series, data.windows[split].origin, strict=True)
        for step in range(origin - data.spec.history + 1, origin + reach + 1)
    }


@pytest.mark.row("F8")
def test_no_row_is_in_windows_of_two_splits_and_time_only_runs_forward(path: Path) -> None:
    data = make_data(path, max_gap=9)
    rows = [rows_of(data, split) for split in SPLITS]
    for earlier, later in ((0, 1), (0, 2), (1, 2)):
        assert not rows[earlier] & rows[later]
        assert max(step for _, step in rows[earlier]) < min(step for _, step in rows[later])


@pytest.mark.row("F8")
def test_nothing_after_the_training_rows_changes_a_training_batch_or_the_scaling(path: Path, tmp_path: Path) -> None:
    table = gappy()
    data = make_data(path)
    begins = np.datetime64("2020-01-01T00", "s") + data.cuts[0] * np.timedelta64(3600, "s")
    later = np.array(table["time"].to_pylist(), "datetime64[s]") >= begins
    changed = np.where(later, 1e3, table["temp"].to_numpy(zero_copy_only=False))
    other = make_data(save(table.set_column(2, "temp", pa.array(changed)), tmp_path / "t.csv"))
    assert (other.spec.mean, other.spec.std) == (data.spec.mean, data.spec.std)
    assert all(torch.equal(one, two) for one, two in zip(data.all_of("train"), other.all_of("train"), strict=True))
    assert (other.all_of("test").target > 50).all()


def test_scaled_training_rows_have_mean_0_and_deviation_1(path: Path) -> None:
    data = make_data(path)
    rows = data.grid.values[:, : data.cuts[0]].reshape(-1, 2)
    np.testing.assert_allclose(data.spec.mean, np.nanmean(rows, 0))
    np.testing.assert_allclose(data.spec.std, np.nanstd(rows, 0))
    scaled = data.all_of("train").target.numpy()
    units = data.spec.in_units(scaled)
    np.testing.assert_allclose((units - data.spec.mean[0]) / data.spec.std[0], scaled, atol=1e-5)


def test_targets_are_never_filled(path: Path) -> None:
    data = make_data(path, max_gap=100)
    for split in SPLITS:
        windows = data.windows[split]
        for ahead in data.spec.horizons:
            assert np.isfinite(data.grid.values[windows.series, windows.origin + ahead, 0]).all()


def test_windows_that_are_dropped_are_counted_by_reason(path: Path) -> None:
    data = make_data(path)
    for split, (begin, end) in zip(SPLITS, zip((0, *data.cuts), (*data.cuts, 200), strict=True), strict=True):
        windows = data.windows[split]
        possible = 2 * (end - begin - data.spec.history - max(data.spec.horizons) + 1)
        assert len(windows) + sum(windows.dropped.values()) == possible
    assert all(data.windows["train"].dropped.values())


def test_beyond_the_end_of_the_grid_there_is_no_truth(path: Path) -> None:
    data = make_data(path)
    batch = data.table.batch(np.array([0, 0]), np.array([199, 197]))
    assert batch.target[0].isnan().all()
    assert batch.target[1, :, 0].isnan().tolist() == [False, False, True]
    assert batch.future.isfinite().all()
