"""Games of a match as SGF: one collection, which any Hex program reads."""

from collections.abc import Iterable

from hexlit.arena.arena_game import ArenaGame
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.records.game import SWAP_PIECES, RecordedGame, RecordedMove
from hexlit.hex.records.sgf import write_sgf


def as_collection(games: Iterable[ArenaGame], size: int) -> str:
    """All games, one per line."""
    return "".join(as_sgf(game, size) for game in games)


def as_sgf(game: ArenaGame, size: int) -> str:
    """One game; the note of a forfeit is the comment of the last node."""
    return write_sgf(recorded(game, size), name=f"opening {game.pair + 1}")


def recorded(game: ArenaGame, size: int) -> RecordedGame:
    """The game for the formats of records."""
    actions = [SWAP_PIECES if move == size**2 else move for move in game.moves]
    return RecordedGame(
        size,
        tuple(RecordedMove(WHITE if ply % 2 else BLACK, action) for ply, action in enumerate(actions)),
        winner=game.winner,
        ending=game.ending,
        black=game.black,
        white=game.white,
        comment=game.note,
        opening=game.opening,
    )
