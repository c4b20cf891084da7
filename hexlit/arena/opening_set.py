"""Openings of a match, each played twice: all different, and fair by the measure of random play."""

from collections.abc import Iterator
from itertools import islice, permutations

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.encoding import encode
from hexlit.hex.geometry import geometry
from hexlit.search.evaluator import RolloutEvaluator

CANDIDATES = 4
"""Random openings per opening taken, the fairest of them, if the board has so many."""

PLAYOUTS = 256
"""Random playouts that judge how fair an opening is."""

ENUMERATED = 2
"""Openings of up to this many plies are drawn without replacement from all there are."""


def balanced_openings(size: int, count: int, plies: int, seed: int, *, balanced: bool = True) -> NDArray[np.int16]:
    """`count` openings of `plies` moves, int16 `[count, plies]`, Black's first, in random order.

    No two of them lead to the same position, or to one turned by 180 degrees: deterministic players would play the same
    game again. With `balanced`, four times as many are drawn (or all that the board has). Those with random playouts
    closest to half of the games won are kept.

    Raises:
        UsageError: `plies` moves could decide the game, or there are too few openings.
    """
    check_plies(size, plies)
    random = np.random.default_rng([seed, size, plies])
    wanted = count * (CANDIDATES if balanced else 1)
    found = list(islice(_different(size, _draws(size, plies, random, most=100 * wanted)), wanted))
    if len(found) < count:
        raise UsageError(
            f"{count} openings: a {size}x{size} board has {len(found)} of {plies} plies, turned ones counted once; "
            "ask for fewer"
        )
    openings = np.array(found, np.int16).reshape(len(found), plies)
    if not balanced:
        return openings
    cells, to_move = positions_after(openings, size)
    value = np.zeros(len(openings), np.float32)
    policy = np.zeros((len(openings), size * size), np.float32)
    RolloutEvaluator(PLAYOUTS, seed).evaluate(encode(cells, to_move), policy, value)
    fairest = np.argsort(np.abs(value), kind="stable")[:count]
    chosen: NDArray[np.int16] = openings[np.sort(fairest)]
    return chosen


def random_openings(size: int, count: int, plies: int, seed: int) -> NDArray[np.int16]:
    """`count` random openings of `plies` moves that come to different positions, int16 `[count, plies]`.

    Raises:
        UsageError: `plies` moves could decide the game, or too few openings were found.
    """
    if plies >= size:
        raise UsageError(f"an opening of {plies} plies: on a {size}x{size} board it has fewer than {size}")
    random = np.random.default_rng([seed, size, plies])
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], NDArray[np.int16]] = {}
    for _ in range(100 * count):
        moves = random.choice(size * size, plies, replace=False).astype(np.int16)
        found.setdefault((tuple(sorted(moves[0::2])), tuple(sorted(moves[1::2]))), moves)
        if len(found) == count:
            return np.stack(list(found.values()))
    raise UsageError(f"{count} openings: a {size}x{size} board does not have that many of {plies} plies")


def check_plies(size: int, plies: int) -> None:
    """Raise `UsageError` if `plies` is below 1, or an opening of `plies` moves could win a game."""
    if not 1 <= plies < size:
        raise UsageError(f"openings.plies={plies}: on a {size}x{size} board an opening has 1 to {size - 1} plies")


def positions_after(openings: NDArray[np.int16], size: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The positions int8 `[B, size*size]` after `openings` `[B, plies]`, and the colours to move, int8 `[B]`."""
    count, plies = openings.shape
    cells = np.zeros((count, size * size), np.int8)
    for ply in range(plies):
        cells[np.arange(count), openings[:, ply]] = 1 if ply % 2 == 0 else -1
    return cells, np.full(count, 1 if plies % 2 == 0 else -1, np.int8)


def _draws(size: int, plies: int, random: np.random.Generator, most: int) -> Iterator[tuple[int, ...]]:
    """Random openings: short ones all there are, others `most` draws, perhaps with repeats."""
    if plies <= ENUMERATED:
        every = list(permutations(range(size * size), plies))
        for index in random.permutation(len(every)):
            yield every[index]
        return
    for _ in range(most):
        yield tuple(int(cell) for cell in random.choice(size * size, plies, replace=False))


def _different(size: int, openings: Iterator[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """The `openings` with a new position; turned ones count as the same."""
    seen = set()
    for opening in openings:
        key = position_key(opening, size)
        if key not in seen:
            seen.add(key)
            yield opening


def position_key(moves: tuple[int, ...], size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A key shared by sequences of moves that end in the same position, or in one turned by 180 degrees."""
    rotated = geometry(size).rotated
    turned = tuple(int(rotated[move]) for move in moves)
    return min((tuple(sorted(way[0::2])), tuple(sorted(way[1::2]))) for way in (moves, turned))
