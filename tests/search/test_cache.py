"""Answers that are kept: found for their own position only, and only as long as they are there."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import Int8Array, Int64Array
from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN, blank_planes
from hexlit.hex.jit import kernel
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import (
    AnswerCache,
    UniformEvaluator,
    empty_cache,
    position_key,
    recall,
    remember,
)
from hexlit.search.search import TreeSearch
from hexlit.search.tree import NONE


@kernel
def keys_of(planes: Int8Array) -> NDArray[np.uint64]:
    keys = np.empty(planes.shape[0], np.uint64)
    for g in range(keys.size):
        keys[g] = position_key(planes[g])
    return keys


@kernel
def places_of(cache: AnswerCache, planes: Int8Array) -> Int64Array:
    places = np.empty(planes.shape[0], np.int64)
    for g in range(places.size):
        places[g] = recall(cache, position_key(planes[g]))
    return places


def some_planes(size: int, count: int, seed: int = 0) -> Int8Array:
    """Different positions."""
    cells = np.unique(np.random.default_rng(seed).integers(0, 3, (count, size * size)), axis=0)
    planes = blank_planes(len(cells), size)
    planes[:, OWN] = (cells == 1).reshape(-1, size, size)
    planes[:, OPPONENT] = (cells == 2).reshape(-1, size, size)
    return planes


def test_every_position_of_a_small_board_has_a_key_of_its_own() -> None:
    cells = np.array(list(product(range(3), repeat=9)))
    planes = blank_planes(2 * len(cells), 3)
    planes[:, OWN] = np.tile(cells == 1, (2, 1)).reshape(-1, 3, 3)
    planes[:, OPPONENT] = np.tile(cells == 2, (2, 1)).reshape(-1, 3, 3)
    planes[len(cells) :, MAY_SWAP] = 1
    keys = keys_of(planes)
    assert len(np.unique(keys)) == 2 * 3**9
    assert keys.all(), "0 marks an empty place"


def test_what_was_remembered_is_found_and_nothing_else() -> None:
    planes = some_planes(5, 400)
    known, unknown = planes[:200], planes[200:]
    random = np.random.default_rng(1)
    policy, value = random.random((200, 25), np.float32), random.random(200, np.float32)
    cache = empty_cache(100_003, 25)
    assert (places_of(cache, planes) == NONE).all()
    remember(cache, keys_of(known), policy, value)
    places = places_of(cache, known)
    found = places != NONE
    assert found.sum() > 190  # two of them may want the same place
    assert np.array_equal(cache.policy[places[found]], policy[found])
    assert np.array_equal(cache.value[places[found]], value[found])
    assert (places_of(cache, unknown) == NONE).all()


def test_the_latest_answer_takes_the_place() -> None:
    planes = some_planes(4, 50)
    policy, value = (
        np.zeros((len(planes), 16), np.float32),
        np.arange(len(planes), dtype=np.float32),
    )
    cache = empty_cache(1, 16)
    remember(cache, keys_of(planes), policy, value)
    assert cache.value.tolist() == [len(planes) - 1]
    assert places_of(cache, planes).tolist() == [NONE] * (len(planes) - 1) + [0]


@pytest.mark.parametrize("broken", ["policy", "value"])
def test_a_kept_answer_that_is_no_number_ends_the_search_as_a_fresh_one_does(broken: str) -> None:
    """Of three stones, wherever they lie: no root, so only the cache can have said it."""
    search = TreeSearch(SearchConfig(simulations=200), size=3, games=2)
    search._cache = empty_cache(100_003, 9)
    planes = some_planes(3, 5000)
    planes = np.ascontiguousarray(planes[planes[:, :2].sum((1, 2, 3)) == 3])
    policy, value = np.full((len(planes), 9), 1 / 9, np.float32), np.zeros(len(planes), np.float32)
    (policy if broken == "policy" else value).fill(np.nan)
    remember(search._cache, keys_of(planes), policy, value)
    with pytest.raises(UsageError, match="the evaluator answers with NaN"):
        search.run(np.zeros((2, 9), np.int8), np.ones(2, np.int8), UniformEvaluator())
