"""Six's text (.six): a head of a few fields, then numbered lines with a move of each player.

`Swap` is swap-pieces: the first stone becomes the second player's on the mirror image, and the
first player keeps its direction. SGF of the same games, written with swap-sides, has every later
cell mirrored.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from hexlit.errors import UsageError
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
    next_turn,
    parse_point,
    written_moves,
)

_SIZE = re.compile(r"\s*([0-9]{1,4})\s*(?:x\s*([0-9]{1,4})\s*)?", re.IGNORECASE)
_NUMBER = re.compile(r"\s*[0-9]{1,5}\.")
_MOVE = re.compile(r"\s+([A-Za-z]{1,8}[0-9]{0,2})(?:\s*\([^()]{0,30}\))?")
_FIRST = {"v": BLACK, "h": WHITE}
_WORDS = {"swap": SWAP_PIECES, "resign": RESIGN, "forfeit": FORFEIT}
_NAMES = {action: name.capitalize() for name, action in _WORDS.items()}


def read_six(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of a file, each from its `BoardSize:` on, or the error of one."""
    game: list[tuple[Place, str]] = []
    for number, line in enumerate(lines, 1):
        text = line.lstrip("\ufeff").rstrip()
        if text.startswith("BoardSize:") and game:
            yield _read_game(game)
            game = []
        if text:
            game.append((Place(file, number, 1), text))
    if game:
        yield _read_game(game)


def _read_game(lines: Sequence[tuple[Place, str]]) -> RecordedGame | RecordError:
    size, turn = 0, BLACK
    moves: list[RecordedMove] = []
    try:
        for place, line in lines:
            name, colon, value = line.partition(":")
            after = place.after(len(name) + 1)
            if name == "BoardSize":
                board = _SIZE.fullmatch(value)
                if board is None:
                    raise RecordError(
                        "board size", f"{value[:20]!a}: no size of a board, such as 11x11", after
                    )
                size = check_board(int(board[1]), int(board[2] or board[1]), after)
            elif not size:
                raise RecordError(
                    "not a game", "no game of Six, which begins with BoardSize:", place
                )
            elif name == "First":
                if value.strip().lower() not in _FIRST or moves:
                    message = f"{value[:20]!a}: who moves first is V or H, named before the moves"
                    raise RecordError("not a game", message, after)
                turn = _FIRST[value.strip().lower()]
            elif not colon:
                for word, where in _words(line, place):
                    moves.append(
                        RecordedMove(
                            turn, _WORDS[word] if word in _WORDS else parse_point(word, size, where)
                        )
                    )
                    turn = next_turn(moves[-1])
    except RecordError as error:
        return error
    return RecordedGame(size, tuple(moves), place=lines[0][0])


def _words(line: str, place: Place) -> Iterator[tuple[str, Place]]:
    """The moves of a numbered line in small letters, each with its place."""
    numbered = _NUMBER.match(line)
    start = numbered.end() if numbered else 0
    if numbered:
        while token := _MOVE.match(line, start):
            yield token[1].lower(), place.after(token.start(1))
            start = token.end()
    if numbered is None or line[start:].strip():
        message = f"{line[start:][:20]!a} is no line of moves such as '1. A2 (0 ms) Swap (26 ms)'"
        raise RecordError("not a game", message, place.after(start))


def write_six(game: RecordedGame) -> str:
    """One game.

    Raises:
        UsageError: the format cannot express this game: stones set up, swap-sides, or a winner only
            claimed.
    """
    moves = written_moves(game, "a game of Six")
    first = moves[0].colour if moves else BLACK
    texts = []
    for ply, (colour, action) in enumerate(moves):
        if colour != first * (-1) ** ply or (action < 0 and action not in _NAMES):
            raise UsageError("a game of Six has moves in turns, and no swap-sides")
        texts.append(_NAMES[action] if action < 0 else format_cell(action, game.size).upper())
    lines = [f"BoardSize: {game.size}x{game.size}", f"First: {'V' if first == BLACK else 'H'}"]
    lines += [f"Swap: {int(any(move.action == SWAP_PIECES for move in moves))}", "Moves:"]
    lines += [
        f"  {turn // 2 + 1}. {' '.join(texts[turn : turn + 2])}" for turn in range(0, len(texts), 2)
    ]
    return "\n".join(lines) + "\n"
