"""The first moves of many games as a tree, with the results of the games through each position."""

import heapq
from collections import defaultdict
from collections.abc import Mapping
from itertools import count, islice

import numpy as np

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.record import GameRecord
from hexlit.hex.records.variations import Variation
from hexlit.hex.symmetry import rotate_moves

PLIES = 10
"""Moves of a game that are looked at."""
LEAST_GAMES = 2
"""Fewer games with a move make no node."""
MOST_NODES = 2000
"""Nodes of a tree: positions of the most games come first."""
MOST_LISTED = 20
"""Moves in the comment of a position."""
EXPLANATION = "Numbers on the board: wins of the player to move, of 100 games with that move."

Opening = tuple[bytes, int]
"""First moves of a game as int16, and its winner."""
Games = list[Opening]


class OpeningTree:
    """Openings by the size of the board, one `add` per game.

    An opening and its turn by 180 degrees count as the one that sorts first.
    """

    def __init__(self) -> None:
        self._openings: defaultdict[int, Games] = defaultdict(list)

    def add(self, game: GameRecord) -> None:
        """Count one game."""
        opening = game.moves[:PLIES].astype(np.int16)
        turned = rotate_moves(opening, game.size).astype(np.int16)
        if turned.tolist() < opening.tolist():
            opening = turned
        kept = opening.tobytes(), game.winner
        self._openings[game.size].append(kept)

    def games(self) -> Mapping[int, int]:
        """Rows of a board -> games on it."""
        return {size: len(games) for size, games in self._openings.items()}

    def nodes(self, size: int) -> list[Variation]:
        """The tree of the games on boards of `size` rows. Of each position, the move of the most
        games is the first child.
        """
        games = self._openings[size]
        nodes = [Variation(-1, -1)]
        order = count()
        waiting = [(-len(games), next(order), 0, 0, games)]
        while waiting and len(nodes) < MOST_NODES:
            _, _, number, ply, games = heapq.heappop(waiting)
            moves = _by_next_move(games, ply)
            labels = {move: _share(group, ply) for move, group in moves.items() if move < size**2}
            nodes[number] = nodes[number]._replace(
                comment=_account(games, moves, size), labels=labels
            )
            for move, group in moves.items():
                heapq.heappush(waiting, (-len(group), next(order), len(nodes), ply + 1, group))
                nodes.append(Variation(move, number, _results(group)))
        return nodes


def _by_next_move(games: Games, ply: int) -> dict[int, Games]:
    """Move after `ply` moves -> the games with it, the most frequent move first."""
    groups: defaultdict[int, Games] = defaultdict(list)
    for game in games:
        moves = np.frombuffer(game[0], np.int16)
        if len(moves) > ply:
            move = int(moves[ply])
            groups[move].append(game)

    def by_games(move: int) -> tuple[int, int]:
        return -len(groups[move]), move

    return {
        move: groups[move]
        for move in sorted(groups, key=by_games)
        if len(groups[move]) >= LEAST_GAMES
    }


def _won(games: Games, colour: int) -> int:
    return sum(winner == colour for _, winner in games)


def _share(games: Games, ply: int) -> str:
    """How many of 100 games the player who moves after `ply` moves has won."""
    won = _won(games, WHITE if ply % 2 else BLACK)
    decided = _won(games, BLACK) + _won(games, WHITE)
    return f"{100 * won / decided:.0f}" if decided else "?"


def _results(games: Games) -> str:
    won = f"Black has won {_won(games, BLACK):,}, White {_won(games, WHITE):,}"
    return f"{len(games):,} games: {won}."


def _account(games: Games, moves: dict[int, Games], size: int) -> str:
    """The results of the games, and of those with each of the next `moves`."""
    lines = [_results(games)]
    if moves:
        lines.append(EXPLANATION)
    for move, group in islice(moves.items(), MOST_LISTED):
        name = format_cell(move, size)
        lines.append(f"{name}: {_results(group)}")
    return "\n".join(lines)
