"""trmph: a size and moves without separators (`#13,g1a7g2`), Black's first; as a file a game a
line, and its winner.

The winner is `b` or `r`, the first or the second player; older files have 1 or 2. Comments are lines
that begin with `# ` and text after ` #`.
"""

import re
from collections.abc import Iterable, Iterator

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.records.game import (
    FORFEIT,
    RESIGN,
    Place,
    RecordedGame,
    RecordedMove,
    RecordError,
    as_record,
    check_board,
    parse_point,
    read_lines,
)

_BOARD = re.compile(r"([0-9]{1,9}),")
_CELL = re.compile(r"[a-z]{1,2}[0-9]{1,2}")
_WINNER = re.compile(r"\s+([br12])(?=\s|$)")
_COMMENT = re.compile(r"\s+#.*|\s*$", re.DOTALL)
_WINNERS = {"b": BLACK, "1": BLACK, "r": WHITE, "2": WHITE}


def read_trmph(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of strings, one a line, or the error of a line; empty lines and comments are
    skipped.
    """
    return read_lines(lines, file, _read_string)


def _read_string(text: str, place: Place) -> RecordedGame:
    start = text.partition(" ")[0].find("#") + 1
    board = _BOARD.match(text, start)
    if board is None:
        message = f"{text[start:][:20]!a} is no string of trmph such as #13,g1a7g2"
        raise RecordError("not a game", message, place.after(start))
    size = check_board(int(board[1]), int(board[1]), place.after(start))
    moves: list[RecordedMove] = []
    start = board.end()
    while token := _CELL.match(text, start):
        moves.append(
            RecordedMove(
                WHITE if len(moves) % 2 else BLACK, parse_point(token[0], size, place.after(start))
            )
        )
        start = token.end()
    winner = _WINNER.match(text, start)
    start = winner.end() if winner else start
    if _COMMENT.match(text, start) is None:
        message = (
            f"{text[start:][:20]!a} is no move such as a3, and no winner, which is ' b' or ' r'"
        )
        raise RecordError("not a game", message, place.after(start))
    return RecordedGame(
        size, tuple(moves), winner=_WINNERS[winner[1]] if winner else 0, place=place
    )


def write_trmph(game: RecordedGame) -> str:
    """One line, with the winner if there is one; a resignation or a forfeit itself is not written.

    Raises:
        UsageError: the format cannot express this game: it has only stones in turns and a winner.
    """
    record = as_record(game)
    stones = [move for move in game.moves if move.action not in (RESIGN, FORFEIT)]
    if game.setup or any(
        move.action < 0 or move.colour != (-1) ** ply for ply, move in enumerate(stones)
    ):
        raise UsageError("a string of trmph has stones in turns, Black's first, no setup, no swap")
    winner = {BLACK: " b", WHITE: " r", 0: ""}[record.winner]
    return (
        f"#{game.size},{''.join(format_cell(action, game.size) for _, action in stones)}{winner}\n"
    )
