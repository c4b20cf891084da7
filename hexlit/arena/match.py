"""Matches in pairs: every opening is played twice, each player once with either colour."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.arena_game import ArenaGame, Opening, ended, illegality, position_of, put, swap_is_open
from hexlit.arena.opening_set import random_openings
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import geometry
from hexlit.hex.record import Ending


class Player(Protocol):
    """A player of many games at once."""

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """Moves int16 `[B]` for undecided positions int8 `[B, size*size]` with `to_move` int8 `[B]` (+1, -1)."""
        ...

    def reply(self, cells: NDArray[np.int8]) -> NDArray[np.int16]:
        """White's moves int16 `[B]` when it may swap: a cell, or `size*size` to swap.

        Each of the positions int8 `[B, size*size]` has one stone, a black one.
        """
        ...


@dataclass(frozen=True)
class MatchResult:
    """Result of a match between the first and the second player."""

    pairs: int
    """Openings, each played twice."""
    wins: int
    """Games that the first player won."""
    wins_as_black: int
    """Those of them that it won with Black."""

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
    """Play `pairs` different random openings of `opening_plies` stones twice each, all games in parallel."""
    openings = random_openings(size, pairs, opening_plies, seed)
    wins = wins_as_black = 0
    for row, game in side_by_side(first, second, [tuple(opening) for opening in openings.tolist()], size):
        first_is = 1 if row < pairs else -1
        if game.ending is Ending.FORFEITED:
            raise RuntimeError(f"{second if game.winner == first_is else first!r} chose an {game.note}")
        wins += game.winner == first_is
        wins_as_black += game.winner == first_is == 1
    return MatchResult(pairs, wins, wins_as_black)


def side_by_side(
    first: Player, second: Player, openings: Sequence[Opening], size: int, *, swap: bool = False
) -> Iterator[tuple[int, ArenaGame]]:
    """Play P `openings` of one length twice, all games at once; gives (row, game) as games end.

    In the rows 0 to P - 1 the first player has Black, in the rows P to 2 P - 1 the second. Names and pairs are blank.
    With `swap`, White may answer an opening of one move by swap-pieces.
    """
    moves = [list(opening) for opening in (*openings, *openings)]
    cells = np.stack([position_of(sequence, size) for sequence in moves])
    first_is = np.repeat(np.array([1, -1], np.int8), len(openings))
    ply = len(openings[0])
    to_move = np.full(len(moves), 1 if ply % 2 == 0 else -1, np.int8)
    going_on = np.ones(len(moves), np.bool_)
    stones, table = empty_stones(1, size), geometry(size)
    while going_on.any():
        turns = to_move * first_is
        for player, turn in ((first, 1), (second, -1)):
            rows = np.flatnonzero(going_on & (turns == turn))
            if len(rows) == 0:
                continue
            may_swap = swap_is_open(ply, swap=swap)
            chosen = player.reply(cells[rows]) if may_swap else player.choose(cells[rows], to_move[rows])
            for row, move in zip(rows.tolist(), chosen.tolist(), strict=True):
                colour = int(to_move[row])
                fault = illegality(move, cells[row], size, ply=ply, swap=swap)
                if fault:
                    going_on[row] = False
                    yield row, ended(moves[row], len(openings[0]), -colour, Ending.FORFEITED, fault)
                    continue
                moves[row].append(move)
                put(move, colour, cells[row], size)
                to_move[row] = -colour
                if place_all(stones, 0, cells[row], table):
                    going_on[row] = False
                    yield row, ended(moves[row], len(openings[0]), colour, Ending.CONNECTED)
        ply += 1


def most_openings(size: int, plies: int) -> int:
    """Most openings to ask for, so that random draws find them soon: half of those of 1 or 2 plies."""
    return max(1, size**2 * (size**2 - 1 if plies > 1 else 1) // 2)
