"""Games of a match as SGF, FF[4] GM[11]: one collection, which any Hex program reads."""

from collections.abc import Iterable

from hexlit.arena.arena_game import ArenaGame
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending

RESULTS = {Ending.CONNECTED: "", Ending.RESIGNED: "Resign", Ending.FORFEITED: "Forfeit"}


def as_collection(games: Iterable[ArenaGame], size: int) -> str:
    """All games, one a line."""
    return "".join(as_sgf(game, size) + "\n" for game in games)


def as_sgf(game: ArenaGame, size: int) -> str:
    """One game; the note of a forfeit is the comment of the last node."""
    winner = "B" if game.winner > 0 else "W"
    root = (
        f"FF[4]GM[11]CA[UTF-8]AP[hexlit]SZ[{size}]PB[{escaped(game.black)}]PW[{escaped(game.white)}]"
        f"GN[opening {game.pair + 1}]RE[{winner}+{RESULTS[game.ending]}]"
    )
    nodes = [root, *(f"{'BW'[ply % 2]}[{format_cell(move, size)}]" for ply, move in enumerate(game.moves))]
    if game.note:
        nodes[-1] += f"C[{escaped(game.note)}]"
    return f"(;{';'.join(nodes)})"


def escaped(text: str) -> str:
    """`text` as the value of a property."""
    return text.replace("\\", "\\\\").replace("]", "\\]")
