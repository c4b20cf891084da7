"""Settings of the search are refused early."""

from collections.abc import Callable

import pytest

from hexlit.errors import UsageError
from hexlit.search.config import GumbelConfig, PuctConfig, SearchConfig


@pytest.mark.parametrize(
    ("make", "start"),
    [
        (lambda: SearchConfig("alphabeta"), "search.algorithm=alphabeta: choose one of gumbel, puct"),
        (lambda: SearchConfig(simulations=0), "search.simulations=0: "),
        (lambda: SearchConfig(leaves=0), "search.leaves=0: "),
        (lambda: SearchConfig(leaves=1025), "search.leaves=1025: a number from 1 to 1024"),
        (lambda: SearchConfig(root_batch=True), "search.root_batch=true: search.leaves=1 "),
        (lambda: GumbelConfig(considered=0), "search.gumbel.considered=0: "),
        (lambda: GumbelConfig(value_scale=0.0), "search.gumbel.value_scale=0.0"),
        (lambda: GumbelConfig(visit_offset=-1.0), "search.gumbel."),
        (lambda: PuctConfig(c_init=0.0), "search.puct.c_init=0.0"),
        (lambda: PuctConfig(c_base=-2.0), "search.puct."),
        (lambda: PuctConfig(noise_share=1.0), "search.puct.noise_share=1.0"),
        (lambda: PuctConfig(noise_share=-0.1), "search.puct.noise_share=-0.1"),
        (lambda: PuctConfig(noise_total=0.0), "search.puct."),
    ],
)
def test_a_setting_out_of_range_is_a_usage_error_that_starts_with_its_dotted_key(
    make: Callable[[], object], start: str
) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    message = str(caught.value)
    assert message.startswith(start)
    assert len(message.splitlines()) == 1
