"""Trees on record: a change of any rule of the search shows here first.

The files under golden/ are made from the code as it is by

    python -m tests.search.test_golden

in the root of the checkout. Make them again only when the search is meant to find something else,
and say why.
"""

import json
from math import exp
from pathlib import Path
from typing import Any

import pytest

from hexlit.hex.notation import format_cell, format_moves, parse_moves
from hexlit.search.config import ALGORITHMS, GumbelConfig, SearchConfig
from hexlit.search.evaluator import UniformEvaluator
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search.positions import search_games

GOLDEN = Path(__file__).parent / "golden"
CASES: list[tuple[int, bool, str, int, float]] = [
    # size, swap rule, moves, simulations, noise at the root
    (3, False, "", 16, 0.0),
    (3, True, "b2", 40, 0.0),
    (4, False, "b2 c3 d1", 32, 0.0),
    (5, False, "c3 b4", 64, 0.0),
    (5, True, "a2", 25, 1.0),
    (5, True, "b3 swap-pieces d4", 48, 1.0),
    (7, False, "d4 c5 e2 b3", 100, 0.0),
    (11, False, "f6 h5 g8 d9 c3", 50, 1.0),
    (19, False, "k10", 24, 0.0),
]


def found(algorithm: str, case: tuple[int, bool, str, int, float]) -> dict[str, Any]:
    """The present results of the search, actions by name;
    shares of the policy under half a percent are left out.
    """
    size, swap, moves, simulations, noise = case
    game = Game(size, swap=swap, moves=parse_moves(moves, size))
    result = search_games(
        [game],
        SearchConfig(algorithm, simulations, gumbel=GumbelConfig(value_scale=0.1)),
        KeyedEvaluator(),
        noise=noise,
        seed=1,
    )
    return {
        "size": size,
        "swap": swap,
        "moves": format_moves(game.moves, size),
        "simulations": simulations,
        "noise": noise,
        "action": format_cell(int(result.action[0]), size),
        "value": round(float(result.value[0]), 4),
        "visits": {format_cell(a, size): int(n) for a, n in enumerate(result.visits[0]) if n},
        "policy": {
            format_cell(a, size): round(float(p), 4)
            for a, p in enumerate(result.policy[0])
            if p >= 0.005
        },
    }


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_search_finds_what_is_on_record(algorithm: str, number: int) -> None:
    expected = json.loads((GOLDEN / f"{algorithm}.json").read_text(encoding="utf-8"))[number]
    today = found(algorithm, CASES[number])
    policy, value = today.pop("policy"), today.pop("value")
    assert policy == pytest.approx(expected.pop("policy"), abs=2e-4)
    assert value == pytest.approx(expected.pop("value"), abs=2e-4)
    assert today == expected


# 2×2, Black a1, White b2, Black to move: a2 wins at once, after b1 White wins with a2. Priors 1/2
# each, values 0.
BY_HAND = Game(2, moves=[0, 3])
A2 = 2


@pytest.mark.parametrize(("algorithm", "odds"), [("puct", 2.0), ("gumbel", exp(2.6))])
def test_three_simulations_done_by_hand(algorithm: str, odds: float) -> None:
    """Of PUCT:

    1. Both moves are untried: the first, b1, is tried and worth 0.
    2. b1 scores 0 + 1.25·√2·0.5/2 = 0.44; a2 scores 0 - 0.2·√0.5 + 1.25·√2·0.5 = 0.74, is tried and
       wins.
    3. b1 scores 1.25·√3·0.5/2 = 0.54; a2 scores 1 + 0.54.

    Of Gumbel:

    1., 2. Sequential halving visits each of the two moves once: b1 is worth 0, a2 is worth 1.
    3. The better one again: a2, worth 1.
    v_mix does not matter, no move being untried. The scale of the Q values, moved from [-1, 1] to
    [0, 1], is (50 + 2)·0.1 = 5.2, so a2's weight is e^5.2 against b1's e^2.6: shares 1/(1 + e^-2.6)
    and 1/(1 + e^2.6).
    """
    config = SearchConfig(algorithm, 3, gumbel=GumbelConfig(value_scale=0.1))
    result = search_games([BY_HAND], config, UniformEvaluator())
    assert result.visits[0].tolist() == [0, 1, 2, 0]
    assert result.policy[0] == pytest.approx([0, 1 / (1 + odds), odds / (1 + odds), 0])
    assert result.action[0] == A2
    assert result.value[0] == 1


def write() -> None:
    """Make the records from the code as it is."""
    GOLDEN.mkdir(exist_ok=True)
    for algorithm in ALGORITHMS:
        lines = ",\n".join(json.dumps(found(algorithm, case)) for case in CASES)
        (GOLDEN / f"{algorithm}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    write()
