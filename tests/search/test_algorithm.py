"""The differences between the algorithms of the search."""

import pytest

from hexlit.search.algorithm import compiled_params, plans_ahead, with_budget
from hexlit.search.config import ALGORITHMS, GumbelConfig, PuctConfig, SearchConfig
from hexlit.search.gumbel import halving_row


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_setting_reaches_compiled_code(algorithm: str, swap: bool) -> None:
    gumbel = GumbelConfig(considered=3, value_scale=0.7, visit_offset=9.0, rescale=True)
    puct = PuctConfig(c_init=2.0, c_base=7.0, fpu_reduction=0.4, noise_share=0.1, noise_total=3.0)
    settings = SearchConfig(algorithm, 5, gumbel, puct)
    params = compiled_params(settings, budgets=(5, 2), swap=swap)._asdict()
    schedule = params.pop("schedule")
    assert params == {**vars(gumbel), **vars(puct), "gumbel": algorithm == "gumbel", "swap": swap}
    assert schedule[0, 3].tolist() == list(halving_row(3, 5))
    assert schedule[1, 3, :2].tolist() == list(halving_row(3, 2))


def test_a_budget_chosen_later_is_the_first_and_only_one() -> None:
    settings = SearchConfig("gumbel", 40, GumbelConfig(considered=4))
    params = with_budget(compiled_params(settings, budgets=(40, 8), swap=False), 11)
    assert params.schedule.shape == (1, 5, 11)
    assert params.schedule[0, 4].tolist() == list(halving_row(4, 11))


def test_only_sequential_halving_plans_ahead() -> None:
    planning = {a: plans_ahead(compiled_params(SearchConfig(a), budgets=(32,), swap=False)) for a in ALGORITHMS}
    assert planning == {"gumbel": True, "puct": False}
