"""The document against the exact truth: full marks for perfect knowledge, the base rates for none."""

import json
from functools import cache

import numpy as np
import pytest

from hexlit.arena.players import Judge, PolicyPlayer, SearchPlayer
from hexlit.arena.positions import game_positions, random_positions
from hexlit.arena.truth_report import Document, Level, effort_of, measure_truth
from hexlit.hex.openings import solved_openings
from hexlit.hex.truth import SolvedPositions
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, UniformEvaluator
from tests.arena.oracle import Oracle


@cache
def positions() -> dict[str, SolvedPositions]:
    return {"games": game_positions(4, 48, seed=0), "random": random_positions(4, 40, seed=0)}


def levels_of(evaluator: Evaluator, simulations: tuple[int, ...] = (8,), size: int = 4) -> list[Level]:
    policy: Judge = PolicyPlayer(evaluator, size=size, batch=32)
    searches = [
        Level(number, SearchPlayer(SearchConfig(simulations=number), evaluator, size=size, batch=32))
        for number in simulations
    ]
    return [Level(0, policy), *searches]


def measured(evaluator: Evaluator) -> Document:
    return measure_truth(levels_of(evaluator), positions(), size=4, batch=32)


def test_perfect_knowledge_gets_full_marks_without_and_with_search() -> None:
    found = measured(Oracle(4))
    assert [level["simulations"] for level in found["openings"]["levels"]] == [0, 8]
    assert [level["right"] for level in found["openings"]["levels"]] == [16, 16]
    for kind, won in (("games", int(positions()["games"].won.sum())), ("random", 40)):
        for level in found["optimality"][kind]:
            assert (level["all"]["share"], level["all"]["high"], level["all"]["count"]) == (1.0, 1.0, won)
            assert sum(share["count"] for share in level["stages"].values()) == won
            assert sum(share["hits"] for share in level["sources"].values()) == won
    raw, searched = found["calibration"]["games"]
    assert raw["brier"] == raw["calibration_error"] == 0.0
    assert raw["sign_accuracy"] == searched["sign_accuracy"] == 1.0
    assert list(found["calibration"]) == ["games"]  # random cells are all won: nothing to calibrate


def test_a_constant_gets_the_base_rates() -> None:
    """The measure can fail. Its likeliest move is the first empty cell in its own frame."""
    found = measured(UniformEvaluator())
    games = positions()["games"]
    kept = []
    for cells, player, wins in zip(games.cells, games.to_move, games.winning_moves, strict=True):
        framed = np.arange(16).reshape(4, 4) if player == 1 else np.arange(16).reshape(4, 4).T
        first = next(cell for cell in framed.ravel() if cells[cell] == 0)
        kept.append(bool(wins[first]))
    won = games.won
    assert found["optimality"]["games"][0]["all"]["hits"] == int(np.array(kept)[won].sum())
    raw = found["calibration"]["games"][0]
    assert raw["brier"] == 0.25
    assert raw["won"] == pytest.approx(won.mean())
    assert raw["sign_accuracy"] == pytest.approx(1 - won.mean())
    assert found["openings"]["levels"][0]["right"] == int((~solved_openings(4)).sum())


def test_where_positions_come_from_is_told() -> None:
    found = measured(UniformEvaluator())["positions"]
    games, random = found["games"], found["random"]
    assert (games["count"], random["count"], random["won"]) == (48, 40, 40)
    assert sum(share["count"] for share in games["shares"]) == 48
    assert sum(share["share"] for share in games["shares"]) == pytest.approx(1.0)
    assert {share["source"] for share in games["shares"]} == {"random", "weak", "medium", "strong"}
    assert 0 < games["random_move"] < 1


def test_progress_comes_to_the_whole_effort_and_the_document_is_plain() -> None:
    levels = levels_of(UniformEvaluator(), (2, 5))
    done: list[int] = []
    found = measure_truth(levels, positions(), size=4, batch=10, advance=done.append)
    assert sum(done) == effort_of(levels, positions(), 4) == (1 + 2 + 5) * (16 + 48 + 40)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_board_without_solved_openings_has_its_positions_all_the_same() -> None:
    found = measure_truth(
        levels_of(UniformEvaluator(), (), size=8), {"games": game_positions(8, 2, seed=0)}, size=8, batch=32
    )
    assert found["openings"]["truth"] is None
    assert found["openings"]["levels"][0]["right"] is None
    assert len(found["openings"]["levels"][0]["map"]) == 64
