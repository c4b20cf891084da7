"""Several leaves of one tree a call: virtual loss and root batching."""

from dataclasses import replace

import numpy as np
import pytest

from hexlit.search.config import ALGORITHMS, GumbelConfig, SearchConfig
from hexlit.search.search import TreeSearch
from hexlit.search.simulate import (
    add_virtual_loss,
    advance_leaves,
    empty_leaf_queue,
    remove_virtual_losses,
)
from hexlit.search.tree import Tree
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search.batched_reference import BatchedSearch
from tests.search.positions import VARIANTS, assert_identical, random_games, rows_of, search_games

either = pytest.mark.parametrize("algorithm", ALGORITHMS)


def begun(game: Game, config: SearchConfig) -> TreeSearch:
    """A search of one position before the first selection."""
    search = TreeSearch(config, size=game.size, games=1, swap=game.swap)
    to_move = np.array([game.to_move], np.int8)
    search.place(np.array([game.cells], np.int8), to_move)
    search.begin(to_move, np.array([len(game.moves)], np.int16), 0.0, np.zeros(1, np.uint64))
    return search


def root_move(tree: Tree, node: int) -> int:
    """The child of the root above or at `node`."""
    while tree.node["parent"][0, node] != 0:
        node = int(tree.node["parent"][0, node])
    return node


@pytest.mark.parametrize("root_batch", [False, True])
@either
def test_the_compiled_search_visits_what_plain_python_visits(
    algorithm: str, root_batch: bool
) -> None:
    """In as many calls of the evaluator, with and without the swap rule."""
    random = np.random.default_rng(61)
    games = [
        *random_games(seed=61, count=25),
        *random_games(seed=62, count=15, swap=True),
        Game(2),
        Game(2, moves=[1]),
    ]
    for number, game in enumerate(games):
        variant = VARIANTS[algorithm][number % len(VARIANTS[algorithm])]
        simulations, leaves = int(random.integers(1, 130)), int(random.choice([2, 3, 8, 20]))
        config = replace(variant, simulations=simulations, leaves=leaves, root_batch=root_batch)
        reference = BatchedSearch(game, config)
        expected = reference.run(KeyedEvaluator())
        search = begun(game, config)
        batches = []
        while waiting := search.advance():
            batches.append(waiting)
            search.evaluate(KeyedEvaluator())
        found = search.read(1)
        assert found.visits[0].tolist() == expected.visits, (game.size, game.moves, config)
        assert batches == reference.batches
        assert found.action[0] == expected.action
        assert found.policy[0] == pytest.approx(expected.policy, abs=2e-5)
        assert found.value[0] == pytest.approx(expected.value, abs=2e-5)


@either
def test_batches_of_one_leaf_are_the_search_without_batches(algorithm: str) -> None:
    """Exactly."""
    for number, game in enumerate(random_games(seed=63, count=30, swap=True)):
        config = replace(
            VARIANTS[algorithm][number % len(VARIANTS[algorithm])], simulations=3 * number + 1
        )
        search = begun(game, config)
        batch = empty_leaf_queue(1, 1, config.simulations + 1)
        rules = search.params, search.geometry
        while advance_leaves(search.tree, batch, search.roots, search._walk, *search.batch, *rules):
            search.evaluate(KeyedEvaluator())
        assert_identical(search.read(1), search_games([game], config, KeyedEvaluator()))


@pytest.mark.parametrize("root_batch", [False, True])
@either
def test_no_leaf_stands_twice_in_a_batch(algorithm: str, root_batch: bool) -> None:
    """And with root batching no root move either; none of them has been evaluated before."""
    widest = 0
    for game in random_games(seed=64, count=12, sizes=(3, 4, 5)):
        search = begun(game, SearchConfig(algorithm, 200, leaves=8, root_batch=root_batch))
        evaluated: set[int] = set()
        while waiting := search.advance():
            leaves = search._queue.leaf[0, :waiting].tolist()
            assert len(set(leaves)) == waiting
            assert all(leaf not in evaluated for leaf in leaves)
            evaluated.update(leaves)
            if root_batch and waiting > 1:
                assert len({root_move(search.tree, leaf) for leaf in leaves}) == waiting
            widest = max(widest, waiting)
            search.evaluate(KeyedEvaluator())
        assert search.read(1).visits.sum() == 200
    assert widest == 8


@either
def test_virtual_losses_leave_no_trace(algorithm: str) -> None:
    """Visits and sums of values are what they were,
    bit by bit, however the ways of the leaves overlap.
    """
    search = begun(Game(5, moves=[12]), SearchConfig(algorithm, 300))
    while search.advance():
        search.evaluate(KeyedEvaluator(salt=b"thirds"))
    tree, random = search.tree, np.random.default_rng(1)
    before = tree.node.copy()
    batch = empty_leaf_queue(1, 40, 301)
    for leaf in random.choice(np.arange(1, 301), 40, replace=False):
        add_virtual_loss(tree, batch, 0, int(leaf))
    assert tree.node["visits"][0, 0] == before["visits"][0, 0] + 40
    virtual = batch.waiting[0] > 0
    virtual[0] = False
    added = tree.node["value_sum"][0] - before["value_sum"][0]
    assert added[virtual] == pytest.approx(batch.waiting[0][virtual], abs=1e-4)
    root, root_before = tree.node[0, 0], before[0, 0]
    assert root["value_sum"] / root["visits"] == pytest.approx(
        root_before["value_sum"] / root_before["visits"]
    )
    remove_virtual_losses(tree, batch, 0)
    assert np.array_equal(tree.node, before)
    assert not batch.waiting.any()


@pytest.mark.parametrize("leaves", [2, 5, 16, 32])
def test_root_batching_changes_nothing_under_sequential_halving(leaves: int) -> None:
    """Visits, move, policy and value are exactly those of the search without batches."""
    for number, game in enumerate(
        [Game(5), Game(5, moves=[12]), *random_games(seed=65, count=30, swap=True)]
    ):
        considered = (16, 3, 8, 5)[number % 4]
        config = SearchConfig("gumbel", 11 * number + 5, gumbel=GumbelConfig(considered=considered))
        plain = search_games([game], config, KeyedEvaluator())
        batched = search_games(
            [game], replace(config, leaves=leaves, root_batch=True), KeyedEvaluator()
        )
        assert_identical(batched, plain)


@pytest.mark.parametrize("root_batch", [False, True])
@either
def test_games_side_by_side_do_not_notice_each_other(algorithm: str, root_batch: bool) -> None:
    """Alone, in company and with rows left over, each finds the same."""
    games = random_games(seed=66, count=7, sizes=(4,), swap=True)
    config = SearchConfig(algorithm, 60, leaves=4, root_batch=root_batch)
    together = search_games(games, config, KeyedEvaluator(), room=9)
    for row, game in enumerate(games):
        alone = search_games([game], config, KeyedEvaluator())
        assert_identical(rows_of(together, slice(row, row + 1)), alone)


@either
def test_rows_are_counted_as_they_are_used(algorithm: str) -> None:
    """The trade-off can be measured."""
    calls = {}
    for leaves in (1, 8):
        search = begun(Game(7), SearchConfig(algorithm, 100, leaves=leaves))
        while search.advance():
            search.evaluate(KeyedEvaluator())
        assert search.rows == leaves
        # Nobody wins on 7x7 so soon: each simulation, and the root, has an evaluation of its own.
        assert search.rows_used == 101
        calls[leaves] = search.evaluator_calls
    assert calls[1] == 101
    assert 100 / 8 < calls[8] < 40
