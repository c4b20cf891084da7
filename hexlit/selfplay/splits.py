"""Split into training and validation games: never a game, or an opening, on both sides.

The side of a game depends only on its moves and a seed. So it is the same in every trial of a sweep, and stays the same
when games are added to the store. A game and the same turned by 180 degrees are on one side.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.choices import check_word
from hexlit.errors import UsageError
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import inline, kernel
from hexlit.hex.rng import GOLDEN, key, mix, uniform
from hexlit.selfplay.dataset import GamePositions

WAYS = ("game", "opening")

SIDE, CHOICE = range(2)
"""Purposes of a draw: the side of a game, and its rank when only some games are taken."""


class Split(NamedTuple):
    """Rows of `GamePositions`, in rising order."""

    train_rows: NDArray[np.int64]
    """`[P]`."""
    validation_rows: NDArray[np.int64]
    """`[Q]`."""


def split_games(
    positions: GamePositions,
    *,
    share: float = 0.2,
    seed: int,
    by: str = "game",
    opening_plies: int = 2,
    most: int = 500_000,
) -> Split:
    """Draw about `share` of the games for validation, each game or each opening as a whole.

    `by="opening"` keeps games together if their first `opening_plies` moves are the same, turned or not. If a store has
    more than `most` positions, some games are drawn by `seed`, with at most `most` positions on both sides together.

    Raises:
        UsageError: a setting is out of range, or one side would be empty.
    """
    if not 0 < share < 1:
        raise UsageError(f"data.validation_share={share}: a share between 0 and 1, such as 0.2")
    check_word("data.split", by, WAYS)
    if opening_plies < 1:
        raise UsageError(f"data.opening_plies={opening_plies}: an opening has at least 1 ply")
    if most < 2:
        raise UsageError(f"data.max_positions={most}: at least 2, one for each side")
    games = positions.flat
    table = geometry(positions.size)
    starts, lengths = games.first_move[:-1], np.diff(games.first_move)
    together = lengths if by == "game" else np.minimum(lengths, opening_plies)
    validates = _draws(games.moves, starts, together, seed, SIDE, table) < share
    counts = np.diff(games.first_row)
    order = np.argsort(_draws(games.moves, starts, lengths, seed, CHOICE, table), kind="stable")
    taken = np.zeros(positions.games, np.bool_)
    taken[order[np.cumsum(counts[order]) <= most]] = True
    sides = [np.flatnonzero(np.repeat(taken & side, counts)) for side in (~validates, validates)]
    for name, rows in zip(("training", "validation"), sides, strict=True):
        if not len(rows):
            raise UsageError(
                f"data.split={by} data.validation_share={share}: none of {int(taken.sum())} games is left for {name}; "
                "change the share or data.split_seed, or take more games"
            )
    return Split(*sides)


@kernel
def _draws(
    moves: NDArray[np.int16],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    seed: int,
    purpose: int,
    table: Geometry,
) -> NDArray[np.float64]:
    """For each game a number in [0, 1) that depends on its first moves, `seed` and `purpose`, `[G]`."""
    drawn = np.empty(len(starts))
    for game in range(len(starts)):
        plain = np.uint64(lengths[game])
        turned = plain
        for i in range(starts[game], starts[game] + lengths[game]):
            plain = _with_move(plain, moves[i])
            turned = _with_move(turned, table.rotated[moves[i]])
        drawn[game] = uniform(key(seed, int(min(plain, turned)), 0, purpose), 0)
    return drawn


@inline
def _with_move(content: np.uint64, move: int) -> np.uint64:
    return mix((content + GOLDEN) ^ np.uint64(move))
