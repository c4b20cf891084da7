"""HexWorld's links: `hexworld.org/board/#11c1,a3:sf6,g7`, a size, how the board is shown, moves, a
cursor, more moves.

Black (red there) begins, and the players take turns. The board may be shown turned, mirrored,
numbered or coloured: cells keep their names.
"""

import re
from collections.abc import Iterable, Iterator

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.records.game import (
    FORFEIT,
    PASS,
    RESIGN,
    SWAP_PIECES,
    SWAP_SIDES,
    Place,
    RecordedGame,
    RecordedMove,
    RecordError,
    check_board,
    next_turn,
    parse_point,
    read_lines,
    written_moves,
)

LINK = "https://hexworld.org/board/"

_BOARD = re.compile(r"([0-9]{1,9})(?:x([0-9]{1,9}))?(?:r[0-9]{1,2}|[nm]|c[0-9])*(?=,|$)")
_MOVE = re.compile(r",|([a-z]{1,2}[0-9]{1,2})|:([sSp]|[rf][bw])")
_SIGNS = {"s": SWAP_PIECES, "S": SWAP_SIDES, "p": PASS, "r": RESIGN, "f": FORFEIT}
_LETTERS = {action: sign for sign, action in _SIGNS.items()}
_COLOURS = {"b": BLACK, "w": WHITE}


def read_hexworld(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of links, one a line, or the error of a line; empty lines and comments (`# `) are
    skipped.
    """
    return read_lines(lines, file, _read_link)


def _read_link(text: str, place: Place) -> RecordedGame:
    start = text.find("#") + 1
    board = _BOARD.match(text, start)
    if board is None:
        message = f"{text[start:][:20]!a} is no link of HexWorld such as #11c1,a3:sf6"
        raise RecordError("not a game", message, place.after(start))
    size = check_board(int(board[1]), int(board[2] or board[1]), place.after(start))
    moves: list[RecordedMove] = []
    start, commas, turn = board.end(), 0, BLACK
    while start < len(text):
        token = _MOVE.match(text, start)
        commas += text[start] == ","
        if token is None or commas > 2:
            raise RecordError(
                "not a game",
                f"{text[start:][:20]!a} is no move such as a3, :s or :rb",
                place.after(start),
            )
        if token[1]:
            moves.append(RecordedMove(turn, parse_point(token[1], size, place.after(start))))
        elif token[2]:
            moves.append(RecordedMove(_COLOURS.get(token[2][1:], turn), _SIGNS[token[2][0]]))
        if moves:
            turn = next_turn(moves[-1])
        start = token.end()
    return RecordedGame(size, tuple(moves), place=place)


def write_hexworld(game: RecordedGame) -> str:
    """One link, a line.

    Raises:
        UsageError: the format cannot express this game: stones set up, White first, or a winner
            only claimed.
    """
    texts = []
    turn = BLACK
    for move in written_moves(game, "a link of HexWorld"):
        colour, action = move
        if action in (RESIGN, FORFEIT):
            texts.append(f":{_LETTERS[action]}{'b' if colour == BLACK else 'w'}")
            continue
        if colour != turn:
            raise UsageError("a link of HexWorld has moves in turns, Black's first")
        texts.append(
            f":{_LETTERS[action]}" if action in _LETTERS else format_cell(action, game.size)
        )
        turn = next_turn(move)
    return f"{LINK}#{game.size}c1,{''.join(texts)}\n"
