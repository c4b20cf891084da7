"""Overview of many games: sizes, lengths, winners, endings, swaps, openings and players."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hexlit.hex.geometry import BLACK
from hexlit.hex.notation import format_moves
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.symmetry import rotate_moves

WINNERS = {1: "black", -1: "white", 0: "unknown"}


@dataclass
class Overview:
    """Counts over games, one `add` per game."""

    opening_plies: int = 2
    """Moves that make an opening."""
    games: int = 0
    plies: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    """Number of moves -> games."""
    winners: Counter[str] = field(default_factory=Counter)
    """`black`, `white` or `unknown`; for unfinished games as their files claim."""
    endings: Counter[str] = field(default_factory=Counter)
    swaps: Counter[str] = field(default_factory=Counter)
    """`swap-pieces`, `swap-sides` or `none`."""
    openings: Counter[tuple[int, tuple[int, ...]]] = field(default_factory=Counter)
    """Size and first moves -> games; of an opening and its turn by 180 degrees the one that sorts first."""
    openings_won: Counter[tuple[int, tuple[int, ...]]] = field(default_factory=Counter)
    """The same -> games that Black has won."""
    played: Counter[str] = field(default_factory=Counter)
    """Name -> games."""
    won: Counter[str] = field(default_factory=Counter)

    def add(self, game: GameRecord) -> None:
        """Count one game."""
        self.games += 1
        self.plies += len(game.moves)
        self.sizes[game.size] += 1
        self.lengths[len(game.moves)] += 1
        self.winners[WINNERS[game.winner]] += 1
        self.endings[str(game.ending)] += 1
        self.swaps[swap_of(game)] += 1
        first = game.moves[: self.opening_plies]
        if len(first) == self.opening_plies:
            turned = rotate_moves(first, game.size)
            opening = game.size, min(tuple(first.tolist()), tuple(turned.tolist()))
            self.openings[opening] += 1
            self.openings_won[opening] += game.winner == BLACK
        for name, colour in ((game.black, BLACK), (game.white, -BLACK)):
            if name:
                self.played[name] += 1
                self.won[name] += game.winner == colour

    def as_json(self, most: int = 10) -> dict[str, Any]:
        """Plain values by name, with the `most` most frequent openings and players."""
        openings = [
            {
                "board": size,
                "moves": format_moves(moves, size),
                "games": games,
                "black_won": self.openings_won[size, moves],
            }
            for (size, moves), games in self.openings.most_common(most)
        ]
        players = [
            {"name": name, "games": games, "won": self.won[name]} for name, games in self.played.most_common(most)
        ]
        return {
            "games": self.games,
            "plies": self.plies,
            "sizes": {str(size): games for size, games in sorted(self.sizes.items())},
            "lengths": {str(length): games for length, games in sorted(self.lengths.items())},
            "winners": {name: self.winners[name] for name in WINNERS.values()},
            "endings": {str(ending): self.endings[str(ending)] for ending in Ending},
            "swaps": dict(self.swaps.most_common()),
            "different_openings": len(self.openings),
            "openings": openings,
            "different_players": len(self.played),
            "players": players,
        }


def swap_of(game: GameRecord) -> str:
    """`swap-pieces`, `swap-sides` or `none`."""
    if game.size**2 in game.moves[1:2]:
        return "swap-pieces"
    # In self-play `swap` says that the rule was on, in an imported record that a player swapped.
    return "swap-sides" if game.swap and not len(game.values) else "none"
