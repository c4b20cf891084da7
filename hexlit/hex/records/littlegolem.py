"""Little Golem's files (.hsgf): SGF with cells of two letters, column then row, so that `am` is
a13.

The site marks the moves W, B, W, ..., but its W moves are those of PB, who plays first and connects
top to bottom. So W is Black here; cells and names are as they stand. RE names PB or PW by B or W.
Without RE a game is unfinished. A game that B begins, as `write_littlegolem` writes it, is read as
it stands. Names of players are not escaped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.records.game import (
    RESIGN,
    SWAP_PIECES,
    SWAP_SIDES,
    Place,
    RecordedGame,
    RecordedMove,
    RecordError,
    begins,
    read_swaps,
    told_by_moves,
)
from hexlit.hex.records.sgf import escaped, one_line, read_cells, tree
from hexlit.hex.symmetry import mirror_cell

_FIRST = ord("a")
_NAME = re.compile(r"(?<=P[BW]\[)(.{0,200}?)(?=\]\s*(?:[A-Z]{1,2}\[|;\s*[BW]\[|;?\s*$|\)\s*$))")
"""Matches the name of a player up to the bracket after which another property or a node begins, or
the line ends.
"""


def read_littlegolem(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of a file, or the error of one."""
    in_sgf = (_NAME.sub(lambda name: escaped(name[1]), line) for line in lines)
    for game in read_cells(in_sgf, file, _parse):
        if isinstance(game, RecordedGame) and begins(game) == WHITE:
            yield replace(game, moves=_exchanged(game.moves), setup=_exchanged(game.setup))
        else:
            yield game


def _exchanged(moves: Sequence[RecordedMove]) -> tuple[RecordedMove, ...]:
    """`moves` of the other colour."""
    return tuple(RecordedMove(-colour, action) for colour, action in moves)


def _parse(name: str, size: int, place: Place) -> int:
    column, row = (ord(letter) - _FIRST for letter in name) if len(name) == 2 else (size, size)
    if not (0 <= column < size and 0 <= row < size):
        message = f"{name[:20]!a} is no cell of a {size}x{size} board, such as ac, which is a3"
        raise RecordError("illegal move", message, place)
    return row * size + column


def write_littlegolem(game: RecordedGame) -> str:
    """One game, a line. A game that White begins is mirrored, with the colours exchanged.

    Raises:
        UsageError: the format cannot express this game: it has only stones, swap-pieces and
            resignations, and no name that looks as if it ended before.
    """
    if game.setup:
        raise UsageError("Little Golem's files have no stones set up")
    if begins(game) == WHITE:
        game = _mirrored(game)
    moves = told_by_moves(game)
    words = {SWAP_PIECES: "swap", RESIGN: "resign"}
    for cell in range(game.size**2):
        row, column = divmod(cell, game.size)
        words[cell] = chr(_FIRST + column) + chr(_FIRST + row)
    result = {"RE": "B" if game.winner == BLACK else "W"} if game.winner else {}
    swapped = [
        move._replace(action=SWAP_PIECES) if move.action == SWAP_SIDES else move for move in moves
    ]
    if read_swaps(swapped) != list(moves):
        raise UsageError(
            "Little Golem's one word for a swap would not be read as the one that it was"
        )
    names = "".join(
        _named(name, person) for name, person in (("PB", game.black), ("PW", game.white)) if person
    )
    game = replace(game, moves=tuple(swapped), black="", white="")
    return tree(game, f"FF[4]{names}", result, words)


def _mirrored(game: RecordedGame) -> RecordedGame:
    """The same game begun by Black: rows and columns exchanged, and with them colours, names and
    the winner.
    """
    moves = [
        RecordedMove(-colour, mirror_cell(action, game.size) if action >= 0 else action)
        for colour, action in game.moves
    ]
    return replace(
        game, moves=tuple(moves), black=game.white, white=game.black, winner=-game.winner
    )


def _named(name: str, person: str) -> str:
    """The property of a player's name, as it stands; raises `UsageError` if it would be read as
    another one.
    """
    person = one_line(person).encode("utf-8", "replace").decode("utf-8")
    result = f"{name}[{person}]"
    read = _NAME.search(f"{result}SZ[")
    if read is None or read[1] != person:
        raise UsageError(
            f"Little Golem's files do not escape names, and {person[:40]!a} would be read as another one"
        )
    return result
