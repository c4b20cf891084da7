"""Games of a match as SGF: one collection, which any Hex program reads."""

from collections.abc import Iterable

from hexlit.arena.arena_game import ArenaGame
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.records.game import RecordedGame, RecordedMove
from hexlit.hex.records.sgf import write_sgf


def as_collection(games: Iterable[ArenaGame], size: int) -> str:
    """All games, one a line."""
    return "".join(as_sgf(game, size) for game in games)


def as_sgf(game: ArenaGame, size: int) -> str:
    """One game; the note of a forfeit is the comment of the last node."""
    recorded = RecordedGame(
        size,
        tuple(RecordedMove(WHITE if ply % 2 else BLACK, move) for ply, move in enumerate(game.moves)),
        winner=game.winner,
        ending=game.ending,
        black=game.black,
        white=game.white,
        comment=game.note,
        opening=game.opening,
    )
    return write_sgf(recorded, name=f"opening {game.pair + 1}")
