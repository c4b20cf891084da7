"""Errors equal the plain formulas over all windows at once, however they came in batches."""

import numpy as np
import pytest
import torch

from hexlit.tasks.forecast.metrics import ErrorSums, persistence, seasonal_naive, skill

STD = [3.0, 0.5]


def made(count: int = 50) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    truth = torch.randn(count, 4, 2, generator=random) + torch.tensor([0.3, -2.0])
    return truth + 0.4 * torch.randn(truth.shape, generator=random), truth


def test_errors_equal_the_plain_formulas_by_horizon_and_overall() -> None:
    forecast, truth = made()
    sums = ErrorSums()
    for rows in (slice(0, 7), slice(7, 50)):
        sums.update(forecast[rows], truth[rows])
    unit = np.array(STD)
    predicted, true = forecast.double().numpy() * unit, truth.double().numpy() * unit
    for errors, axis in ((sums.by_horizon(STD), (0,)), (sums.overall(STD), (0, 1))):
        squared = (predicted - true) ** 2
        variance = (true - true.mean(axis, keepdims=True)) ** 2
        np.testing.assert_allclose(errors.mae, np.abs(predicted - true).mean(axis), rtol=1e-5)
        np.testing.assert_allclose(errors.rmse, np.sqrt(squared.mean(axis)), rtol=1e-5)
        np.testing.assert_allclose(errors.r2, 1 - squared.sum(axis) / variance.sum(axis), rtol=1e-4)


def test_r2_of_a_truth_that_never_changes_is_no_number() -> None:
    sums = ErrorSums()
    sums.update(torch.zeros(5, 1, 1), torch.ones(5, 1, 1))
    assert np.isnan(sums.overall([2.0]).r2)
    assert sums.overall([2.0]).mae == 2.0


def test_skill_is_the_share_of_the_naive_error_that_is_gone() -> None:
    np.testing.assert_allclose(skill(np.array([0.0, 1.0, 2.0, 4.0]), np.array([2.0] * 4)), [1.0, 0.5, 0.0, -1.0])
    assert np.isnan(skill(np.array([1.0]), np.array([0.0])))


def test_persistence_repeats_the_last_known_value_of_each_target() -> None:
    history = torch.arange(24.0).view(1, 4, 6)
    assert persistence(history, 3, 2).tolist() == [[[18.0, 19.0]] * 3]


@pytest.mark.parametrize(("season", "expected"), [(4, [0, 1, 2, 3, 0, 1]), (3, [1, 2, 3, 1, 2, 3]), (1, [3] * 6)])
def test_seasonal_naive_repeats_the_latest_season(season: int, expected: list[int]) -> None:
    history = torch.arange(4.0).view(1, 4, 1)
    found = seasonal_naive(history, [1, 2, 3, 4, 5, 6], 1, season)
    assert found is not None
    assert found.flatten().tolist() == expected


def test_there_is_no_seasonal_forecast_where_the_past_is_shorter_than_the_season() -> None:
    assert seasonal_naive(torch.zeros(1, 4, 1), [1], 1, 5) is None
