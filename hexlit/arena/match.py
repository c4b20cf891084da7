"""Matches in pairs: every opening is played twice, each player once with either colour."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import geometry


class Player(Protocol):
    """Somebody who plays many games at once."""

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """Moves int16 `[B]` for undecided positions int8 `[B, size*size]` with `to_move` int8 `[B]` (+1, -1)."""
        ...


@dataclass(frozen=True)
class MatchResult:
    """Result of a match between the first and the second player."""

    pairs: int
    """Openings, each played twice."""
    wins: int
    """Games that the first player won."""
    wins_as_black: int
    """Those of them that it played with Black."""

    @property
    def games(self) -> int:
        """Games played."""
        return 2 * self.pairs

    @property
    def share(self) -> float:
        """Share of the games that the first player won."""
        return self.wins / self.games


def play_match(
    first: Player, second: Player, *, size: int, pairs: int, seed: int, opening_plies: int = 2
) -> MatchResult:
    """Play `pairs` different random openings of `opening_plies` stones twice each, all games side by side."""
    openings = distinct_openings(size, pairs, opening_plies, seed)
    cells = np.concatenate([openings, openings])
    # In the first half the first player has Black.
    first_is = np.repeat(np.array([1, -1], np.int8), pairs)
    winner = np.zeros(2 * pairs, np.int8)
    colour = 1 if opening_plies % 2 == 0 else -1
    stones, table = empty_stones(1, size), geometry(size)
    while (winner == 0).any():
        for player, turn in ((first, colour), (second, -colour)):
            rows = np.flatnonzero((winner == 0) & (first_is == turn))
            if len(rows) == 0:
                continue
            moves = player.choose(cells[rows], np.full(len(rows), colour, np.int8))
            if (cells[rows, moves] != 0).any():
                raise RuntimeError(f"{player!r} chose a cell that is taken")
            cells[rows, moves] = colour
            for row in rows:
                winner[row] = place_all(stones, 0, cells[row], table)
        colour = -colour
    won = winner == first_is
    return MatchResult(pairs, int(won.sum()), int(won[:pairs].sum()))


def most_openings(size: int, plies: int) -> int:
    """How many openings to ask for at most, so that random draws find them soon: half of those of 1 or 2 plies."""
    return max(1, size**2 * (size**2 - 1 if plies > 1 else 1) // 2)


def distinct_openings(size: int, count: int, plies: int, seed: int) -> NDArray[np.int8]:
    """`count` different positions after `plies` random moves (fewer than win a game), int8 `[count, size*size]`."""
    if plies >= size:
        raise UsageError(f"an opening of {plies} plies: on a {size}x{size} board it has fewer than {size}")
    random = np.random.default_rng([seed, size, plies])
    found: dict[bytes, NDArray[np.int8]] = {}
    for _ in range(100 * count):
        cells = np.zeros(size * size, np.int8)
        cells[random.choice(size * size, plies, replace=False)] = [1 if ply % 2 == 0 else -1 for ply in range(plies)]
        found.setdefault(cells.tobytes(), cells)
        if len(found) == count:
            return np.stack(list(found.values()))
    raise UsageError(f"{count} openings: a {size}x{size} board does not have that many of {plies} plies")
