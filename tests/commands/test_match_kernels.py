"""The kernels that a match waits for."""

import pytest

from hexlit.arena.player_spec import KINDS, PlayerSpec
from hexlit.commands.kernels import SETS
from hexlit.commands.match_kernels import SETS_OF, sets_of


def test_every_kind_of_player_says_which_kernels_it_calls() -> None:
    assert SETS_OF.keys() == KINDS.keys()
    assert {name for names in SETS_OF.values() for name in names} <= SETS.keys()


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["random", "htp", "policy"], []),
        (["rollouts", "random"], ["rollouts"]),
        (["rollouts", "two_distance"], ["two_distance", "rollouts"]),
        (["solver", "two_distance"], ["solver", "two_distance", "solver_parts"]),
        (
            ["rollouts", "solver", "checkpoint"],
            ["solver", "search", "two_distance", "rollouts", "roots", "solver_parts"],
        ),
    ],
)
def test_each_set_is_named_once_and_the_longest_first(kinds: list[str], expected: list[str]) -> None:
    assert sets_of([PlayerSpec(kind) for kind in kinds]) == expected
