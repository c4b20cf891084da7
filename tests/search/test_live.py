"""One game's search that is kept between moves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.search.config import ALGORITHMS, GumbelConfig, SearchConfig
from hexlit.search.evaluator import UniformEvaluator
from hexlit.search.live import LiveSearch
from hexlit.search.tree import NONE, Tree
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search.positions import assert_identical, random_games, search_games
from tests.search.reference import considered_visits

either = pytest.mark.parametrize("algorithm", ALGORITHMS)


@dataclass
class Counting(KeyedEvaluator):
    """Counts its calls; call number `fails` raises."""

    calls: int = 0
    fails: int = -1

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        self.calls += 1
        if self.calls == self.fails:
            raise RuntimeError("out of order")
        super().evaluate(planes, policy, value)


def go_to(search: LiveSearch, game: Game) -> None:
    search.position(np.array(game.cells, np.int8), game.to_move, len(game.moves))


def follow(game: Game, *moves: int) -> Game:
    return Game(game.size, swap=game.swap, moves=[*game.moves, *moves])


def tree_of(search: LiveSearch) -> Tree:
    return search._search.tree


def read_tree(tree: Tree, node: int = 0) -> dict[str, Any]:
    """Everything below `node`, without the numbers of the nodes."""
    record = tree.node[0, node]
    children, child = [], int(record["first_child"])
    while child != NONE:
        assert tree.node[0, child]["parent"] == node
        children.append(child)
        child = int(tree.node[0, child]["sibling"])
    assert int(record["last_child"]) == (children[-1] if children else NONE)
    names = ("visits", "value_sum", "network_value", "next_action", "terminal")
    return {name: record[name].item() for name in names} | {
        "untried": tree.policy[0, node].tolist() if not record["terminal"] else [],
        "children": [
            (int(tree.node[0, c]["action"]), float(tree.node[0, c]["prior"]), read_tree(tree, c))
            for c in children
        ],
    }


def assert_sound(search: LiveSearch) -> None:
    """Every node has the visits and values of its children, and its own evaluation."""
    tree = tree_of(search)
    nodes = int(tree.game["nodes"][0])
    parents = tree.node["parent"][0, :nodes]
    visits, sums = tree.node["visits"][0, :nodes], tree.node["value_sum"][0, :nodes]
    assert parents[0] == NONE
    assert (parents[1:] < np.arange(1, nodes)).all()
    below, values = np.zeros(nodes, int), np.zeros(nodes)
    np.add.at(below, parents[1:], visits[1:])
    np.add.at(values, parents[1:], sums[1:])
    terminal = tree.node["terminal"][0, :nodes]
    assert (visits[~terminal] == 1 + below[~terminal]).all()
    assert (visits > 0).all()
    own = np.where(terminal, -visits, tree.node["network_value"][0, :nodes])
    assert sums == pytest.approx(own - values, abs=1e-3)


@pytest.mark.parametrize("leaves", [1, 5])
@pytest.mark.parametrize("swap", [False, True])
@either
def test_from_an_empty_tree_it_finds_exactly_what_the_search_of_many_games_finds(
    algorithm: str, swap: bool, leaves: int
) -> None:
    for number, game in enumerate(random_games(seed=20, count=30, swap=swap)):
        config = SearchConfig(algorithm, 1 + 3 * number, leaves=leaves)
        search = LiveSearch(config, KeyedEvaluator(), size=game.size, swap=swap)
        assert search.rows == leaves
        go_to(search, game)
        assert_identical(
            search.run(config.simulations), search_games([game], config, KeyedEvaluator())
        )
        assert_sound(search)


@pytest.mark.parametrize("plies", [1, 2, 3])
@pytest.mark.parametrize("swap", [False, True])
@either
def test_the_tree_below_the_moves_played_is_kept_as_it_was(
    algorithm: str, swap: bool, plies: int
) -> None:
    """Visits, values, priors and the order of children;
    the root's own priors are those of a new search.
    """
    for game in random_games(seed=21 + plies, count=12, sizes=(4, 5), swap=swap):
        search = LiveSearch(
            SearchConfig(algorithm, 150), KeyedEvaluator(), size=game.size, swap=swap
        )
        go_to(search, game)
        search.run(150)
        line = search.principal_variation()[:plies]
        after = follow(game, *line)
        if len(line) < plies or after.winner:
            continue
        node = search._root
        for move in line:
            node = next(child for child in node.children if child.action == move)
        if not node.visits:
            continue
        before = read_tree(tree_of(search), node.index)
        go_to(search, after)
        assert read_tree(tree_of(search)) == before
        assert_sound(search)
        fresh = LiveSearch(
            SearchConfig(algorithm, 150), KeyedEvaluator(), size=game.size, swap=swap
        )
        go_to(fresh, after)
        fresh.run(1)
        assert np.array_equal(tree_of(search).root_policy, tree_of(fresh).root_policy)
        legal = tree_of(search).root_policy[0] > 0
        scores, expected = tree_of(search).root_score[0][legal], tree_of(fresh).root_score[0][legal]
        assert algorithm == "puct" or np.array_equal(scores, expected)
        kept = int(before["visits"]) - 1
        result = search.run(kept + 30)
        assert result.visits.sum() == kept + 30, "the visits kept count"
        assert search._search.tree.game["to_move"][0] == after.to_move
        assert_sound(search)


@either
def test_a_kept_tree_goes_on_as_if_it_had_been_searched_from_its_root(algorithm: str) -> None:
    """Without a plan for its simulations, a tree is a function of their number."""
    config = SearchConfig(algorithm, simulations=1)  # sequential halving plans no more than one
    for game in random_games(seed=23, count=8, sizes=(4,)):
        search = LiveSearch(config, KeyedEvaluator(), size=4)
        go_to(search, game)
        after = follow(game, int(search.run(200).action[0]))
        if after.winner:
            continue
        go_to(search, after)
        kept = sum(candidate.visits for candidate in search.candidates())
        fresh = LiveSearch(config, KeyedEvaluator(), size=4)
        go_to(fresh, after)
        assert_identical(search.run(kept + 50), fresh.run(kept + 50))
        if algorithm == "puct":
            assert_identical(
                search.run(1),
                search_games([after], SearchConfig("puct", kept + 51), KeyedEvaluator()),
            )


@pytest.mark.parametrize("leaves", [1, 3])
def test_sequential_halving_spreads_what_is_missing_over_a_kept_tree(leaves: int) -> None:
    """Turns follow the plan for the missing simulations,
    whatever visits there are; values count from the start.
    """
    for game in random_games(seed=24, count=25, sizes=(4,)):
        config = SearchConfig("gumbel", 200, gumbel=GumbelConfig(considered=6), leaves=leaves)
        search = LiveSearch(config, KeyedEvaluator(), size=4)
        go_to(search, game)
        after = follow(game, int(search.run(200).action[0]))
        if after.winner:
            continue
        go_to(search, after)
        kept = dict.fromkeys(after.legal_moves(), 0) | {
            c.action: c.visits for c in search.candidates()
        }
        best = search.run(1, until=lambda: True).policy[0].argmax() if sum(kept.values()) else None
        go_to(search, after)
        missing = 40
        result = search.run(sum(kept.values()) + missing)
        turns = {move: int(result.visits[0, move]) - visits for move, visits in kept.items()}
        expected = [0] * len(kept)
        for wanted in considered_visits(min(6, len(kept)), missing):
            expected[expected.index(wanted)] += 1
        assert sorted(turns.values()) == sorted(expected)
        assert turns[int(result.action[0])] == max(turns.values())
        assert best is None or turns[int(best)] > 0


@either
def test_the_swap_is_followed_in_the_tree(algorithm: str) -> None:
    """The stone changes its colour and its place."""
    opening = Game(3, swap=True, moves=[1])
    search = LiveSearch(
        SearchConfig(algorithm, 200), KeyedEvaluator(swap_weight=100.0), size=3, swap=True
    )
    go_to(search, opening)
    search.run(200)
    visits = {candidate.action: candidate.visits for candidate in search.candidates()}
    go_to(search, follow(opening, 9))
    assert sum(candidate.visits for candidate in search.candidates()) == visits[9] - 1 > 0


@either
def test_a_position_that_does_not_follow_starts_anew(algorithm: str) -> None:
    """A move taken back, another game, the other player to move, another ply."""
    config, game = SearchConfig(algorithm, 60), Game(4, swap=True, moves=[5, 6])
    others = [
        Game(4, swap=True, moves=[5]),
        Game(4, swap=True, moves=[1, 6, 9]),
        Game(4, swap=True),
    ]
    for other in others:
        search = LiveSearch(config, KeyedEvaluator(), size=4, swap=True)
        go_to(search, game)
        search.run(60)
        go_to(search, other)
        assert search.candidates() == []
        assert_identical(search.run(60), search_games([other], config, KeyedEvaluator()))
    for to_move, ply in ((-game.to_move, 2), (game.to_move, 4), (-game.to_move, 3)):
        search.position(np.array(game.cells, np.int8), game.to_move, 2)
        search.run(10)
        search.position(np.array(game.cells, np.int8), to_move, ply)
        assert search.candidates() == []


@either
def test_a_position_that_cannot_be_searched_leaves_everything_as_it_was(algorithm: str) -> None:
    search = LiveSearch(SearchConfig(algorithm, 90), KeyedEvaluator(), size=3)
    go_to(search, Game(3, moves=[1]))
    search.run(30)
    for cells in ([1, 0, 0, 1, -1, -1, 1, 0, 0], [2] * 9):
        with pytest.raises(UsageError, match="decided|cells are"):
            search.position(np.array(cells, np.int8), -1, 4)
    result = search.run(30)
    assert result.visits[0, 1] == 0
    assert result.visits.sum() == 60
    assert_sound(search)


def after_calls(evaluator: Counting, calls: int) -> Callable[[], bool]:
    return lambda: evaluator.calls >= calls


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("calls", [0, 1, 2, 7, 20])
@either
def test_a_search_that_is_told_to_stop_asks_the_evaluator_no_more(
    algorithm: str, calls: int, leaves: int
) -> None:
    """Beyond the position itself, which is always evaluated; what it has is a result."""
    evaluator = Counting()
    search = LiveSearch(SearchConfig(algorithm, 100, leaves=leaves), evaluator, size=4)
    result = search.run(100, until=after_calls(evaluator, calls))
    assert evaluator.calls == max(1, calls)
    assert 0 <= result.visits.sum() < 100
    assert result.policy.sum() == pytest.approx(1, abs=1e-5)
    assert result.policy[0, result.action[0]] > 0
    assert abs(result.value[0]) <= 1
    assert_sound(search)
    done = int(result.visits.sum())
    assert search.run(20).visits.sum() == done + 20
    assert_sound(search)


@either
def test_a_position_that_was_only_evaluated_has_the_policy_of_the_evaluator_on_the_board(
    algorithm: str,
) -> None:
    game = Game(4, moves=[5])
    search = LiveSearch(SearchConfig(algorithm, 100), KeyedEvaluator(), size=4)
    go_to(search, game)
    result = search.run(100, until=lambda: True)
    fresh = LiveSearch(SearchConfig(algorithm, 100), KeyedEvaluator(), size=4)
    go_to(fresh, game)
    fresh.run(100)
    priors = {candidate.action: candidate.prior for candidate in fresh.candidates()}
    assert result.visits.sum() == 0
    assert {action: result.policy[0, action] for action in priors} == pytest.approx(priors)
    assert result.action[0] == result.policy[0].argmax()
    assert search.candidates() == []
    assert search.principal_variation() == []


@either
def test_a_tree_that_has_all_its_memory_stops_growing(algorithm: str) -> None:
    search = LiveSearch(
        SearchConfig(algorithm, 32), UniformEvaluator(), size=7, most_bytes=3000 * (48 + 4 * 49)
    )
    fresh = search.full
    result = search.run(10**6)
    searched = search.full
    assert 1500 < tree_of(search).game["nodes"][0] <= tree_of(search).node.shape[1] <= 3000
    assert search.run(50).visits.sum() == result.visits.sum()
    search.forget()
    assert (fresh, searched, search.full) == (False, True, False)


@either
def test_the_principal_variation_is_a_legal_line_that_starts_with_the_move_played(
    algorithm: str,
) -> None:
    for game in random_games(seed=30, count=20, swap=True):
        search = LiveSearch(
            SearchConfig(algorithm, 120), KeyedEvaluator(), size=game.size, swap=True
        )
        go_to(search, game)
        result = search.run(120)
        line = search.principal_variation()
        assert line[0] == result.action[0]
        after = Game(game.size, swap=True, moves=list(game.moves))
        for move in line:
            assert not after.winner
            assert move in after.legal_moves()
            after.play(move)


@pytest.mark.parametrize("fails", [1, 2, 9])
@either
def test_an_evaluator_that_fails_leaves_a_position_that_can_be_searched(
    algorithm: str, fails: int
) -> None:
    evaluator, game = Counting(fails=fails), Game(4, moves=[5])
    search = LiveSearch(SearchConfig(algorithm, 30), evaluator, size=4)
    go_to(search, game)
    with pytest.raises(RuntimeError, match="out of order"):
        search.run(30)
    assert_identical(
        search.run(30), search_games([game], SearchConfig(algorithm, 30), KeyedEvaluator())
    )
