"""trmph: a size and moves without separators (`#13,g1a7g2`), Black's first; as a file a game a line, and its winner.

The winner is `b` or `r`, the first or the second player; older files say 1 or 2. Comments are lines that begin with
`# ` and text after ` #`.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.records.game import (
    FORFEIT,
    RESIGN,
    SWAP_PIECES,
    Place,
    RecordedGame,
    RecordedMove,
    RecordError,
    check_board,
    legal,
    parse_point,
)

_BOARD = re.compile(r"([0-9]{1,9}),")
_CELL = re.compile(r"[a-z]{1,2}[0-9]{1,2}")
_WINNER = re.compile(r"\s+([br12])(?=\s|$)")
_COMMENT = re.compile(r"\s+#.*|\s*$", re.DOTALL)
_WINNERS = {"b": BLACK, "1": BLACK, "r": WHITE, "2": WHITE}


class Repeated(StrEnum):
    """Meaning of a cell that is played a second time."""

    ERROR = "error"
    """It is an error."""
    TRUNCATE = "truncate"
    """The game ends before it."""
    SWAP = "swap"
    """The second move swaps the first; later it is an error."""


def read_trmph(
    lines: Iterable[str], file: str = "", repeated: Repeated = Repeated.ERROR
) -> Iterator[RecordedGame | RecordError]:
    """The games of strings, one a line, or the error of a line; empty lines and comments are skipped."""
    for number, line in enumerate(lines, 1):
        text = line.strip("\ufeff \t\r\n")
        if not text or text == "#" or text.startswith(("# ", "#\t")):
            continue
        try:
            yield _read_string(text, Place(file, number, 1 + line.index(text[0])), repeated)
        except RecordError as error:
            yield error


def _read_string(text: str, place: Place, repeated: Repeated) -> RecordedGame:
    def at(start: int) -> Place:
        return Place(place.file, place.line, place.column + start)

    start = text.partition(" ")[0].find("#") + 1
    board = _BOARD.match(text, start)
    if board is None:
        message = f"{text[start:][:20]!a} is no string of trmph such as #13,g1a7g2"
        raise RecordError("not a game", message, at(start))
    size = check_board(int(board[1]), int(board[1]), at(start))
    moves: list[RecordedMove] = []
    taken: set[int] = set()
    turn = BLACK
    ended = False
    start = board.end()
    while token := _CELL.match(text, start):
        cell = parse_point(token[0], size, at(start))
        if cell in taken:
            if repeated is Repeated.TRUNCATE:
                ended = True
            elif repeated is Repeated.SWAP and len(moves) == 1:
                cell = SWAP_PIECES
                taken = set()
            elif not ended:
                raise RecordError("illegal move", f"move {len(moves) + 1}, {token[0]}: the cell is taken", at(start))
        if not ended:
            moves.append(RecordedMove(turn, cell))
            taken.add(cell)
            turn = -turn
        start = token.end()
    winner = _WINNER.match(text, start)
    start = winner.end() if winner else start
    if _COMMENT.match(text, start) is None:
        message = f"{text[start:][:20]!a} is no move such as a3, and no winner, which is ' b' or ' r'"
        raise RecordError("not a game", message, at(start))
    return RecordedGame(size, tuple(moves), winner=_WINNERS[winner[1]] if winner else 0, place=place)


def write_trmph(game: RecordedGame) -> str:
    """One line, with the winner if there is one; a resignation or a forfeit itself is not written.

    Raises:
        RecordError: the format cannot express this game: it has only stones in turns and a winner.
    """
    record = legal(game)
    stones = [move for move in game.moves if move.action not in (RESIGN, FORFEIT)]
    if game.setup or any(move.action < 0 or move.colour != (-1) ** ply for ply, move in enumerate(stones)):
        message = "a string of trmph has stones in turns, Black's first, no setup, no swap"
        raise RecordError("cannot be written", message, game.place)
    winner = {BLACK: " b", WHITE: " r", 0: ""}[record.winner]
    return f"#{game.size},{''.join(format_cell(action, game.size) for _, action in stones)}{winner}\n"
