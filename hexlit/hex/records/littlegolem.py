"""Little Golem's files (.hsgf): SGF with cells of two letters, column then row, so that `am` is a13.

White moves first there, and Black may swap. `RE[B]` and `RE[W]` name the winner, but not always rightly: a resignation
at the end and the board are trusted first. Without RE a game is unfinished.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK
from hexlit.hex.records.game import (
    RESIGN,
    SWAP_PIECES,
    SWAP_SIDES,
    Place,
    RecordedGame,
    RecordError,
    read_swaps,
    told_by_moves,
)
from hexlit.hex.records.sgf import read_cells, tree

_FIRST = ord("a")


def read_littlegolem(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of a file, or the error of one."""
    return read_cells(lines, file, _parse)


def _parse(name: str, size: int, place: Place) -> int:
    column, row = (ord(letter) - _FIRST for letter in name) if len(name) == 2 else (size, size)
    if not (0 <= column < size and 0 <= row < size):
        message = f"{name[:20]!a} is no cell of a {size}x{size} board, such as ac, which is a3"
        raise RecordError("illegal move", message, place)
    return row * size + column


def write_littlegolem(game: RecordedGame) -> str:
    """One game, a line.

    Raises:
        UsageError: the format cannot express this game: it has only stones, swap-pieces and resignations.
    """
    if game.setup:
        raise UsageError("Little Golem's files have no stones set up")
    moves = told_by_moves(game)
    words = {SWAP_PIECES: "swap", RESIGN: "resign"}
    for cell in range(game.size**2):
        row, column = divmod(cell, game.size)
        words[cell] = chr(_FIRST + column) + chr(_FIRST + row)
    result = {"RE": "B" if game.winner == BLACK else "W"} if game.winner else {}
    swapped = [move._replace(action=SWAP_PIECES) if move.action == SWAP_SIDES else move for move in moves]
    if read_swaps(swapped) != list(moves):
        raise UsageError("Little Golem's one word for a swap would not be read as the one that it was")
    return tree(replace(game, moves=tuple(swapped)), "FF[4]", result, words)
