"""Six's text (.six): a head of a few fields, then numbered lines with a move of each player.

`Swap` is swap-pieces: the first stone becomes the second player's on the mirror image, and the first player keeps its
direction. SGF of the same games, written with swap-sides, has every later cell mirrored.
"""

import re
from collections.abc import Iterable, Iterator

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
    told,
)

_SIZE = re.compile(r"\s*([0-9]{1,4})\s*(?:x\s*([0-9]{1,4})\s*)?", re.IGNORECASE)
_NUMBER = re.compile(r"\s*[0-9]{1,5}\.")
_MOVE = re.compile(r"\s+([A-Za-z]{1,8}[0-9]{0,2})(?:\s*\([^()]{0,30}\))?")
_FIRST = {"v": BLACK, "h": WHITE}
_WORDS = {"swap": SWAP_PIECES, "resign": RESIGN, "forfeit": FORFEIT}
_NAMES = {action: name.capitalize() for name, action in _WORDS.items()}


def read_six(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of a file, each from its `BoardSize:` on, or the error of one."""
    game: _Game | None = None
    outside = False
    for number, line in enumerate(lines, 1):
        if line.lstrip("\ufeff").startswith("BoardSize:"):
            if game:
                yield game.result()
            game = _Game(Place(file, number, 1))
            outside = False
        if game:
            game.take(line.lstrip("\ufeff").rstrip(), number)
        elif line.strip() and not outside:
            outside = True
            yield RecordError("not a game", "no game of Six, which begins with BoardSize:", Place(file, number, 1))
    if game:
        yield game.result()


class _Game:
    """One game while its lines come."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.size = 0
        self.turn = BLACK
        self.moves: list[RecordedMove] = []
        self.error: RecordError | None = None

    def take(self, line: str, number: int) -> None:
        if self.error or not line:
            return
        try:
            self._take(line, number)
        except RecordError as error:
            self.error = error

    def _take(self, line: str, number: int) -> None:
        name, colon, value = line.partition(":")
        place = Place(self.place.file, number, len(name) + 2 if colon else 1)
        if name == "BoardSize":
            size = _SIZE.fullmatch(value)
            if size is None:
                raise RecordError("board size", f"{value[:20]!a}: no size of a board, such as 11x11", place)
            self.size = check_board(int(size[1]), int(size[2] or size[1]), place)
        elif name == "First":
            if value.strip().lower() not in _FIRST or self.moves:
                message = f"{value[:20]!a}: who moves first is V or H, told before the moves"
                raise RecordError("not a game", message, place)
            self.turn = _FIRST[value.strip().lower()]
        elif not colon:
            self._moves(line, number)

    def _moves(self, line: str, number: int) -> None:
        numbered = _NUMBER.match(line)
        start = numbered.end() if numbered else 0
        while numbered and (token := _MOVE.match(line, start)):
            name = token[1].lower()
            place = Place(self.place.file, number, token.start(1) + 1)
            action = _WORDS[name] if name in _WORDS else parse_point(name, self.size, place)
            self.moves.append(RecordedMove(self.turn, action))
            self.turn = next_turn(self.moves[-1])
            start = token.end()
        if numbered is None or line[start:].strip():
            message = f"{line[start:][:20]!a} is no line of moves such as '1. A2 (0 ms) Swap (26 ms)'"
            raise RecordError("not a game", message, Place(self.place.file, number, start + 1))

    def result(self) -> RecordedGame | RecordError:
        return self.error or RecordedGame(self.size, tuple(self.moves), place=self.place)


def write_six(game: RecordedGame) -> str:
    """One game.

    Raises:
        UsageError: the format cannot express this game: stones set up, swap-sides, or a winner only claimed.
    """
    moves = told(game, "a game of Six")
    first = moves[0].colour if moves else BLACK
    texts = []
    for ply, (colour, action) in enumerate(moves):
        if colour != first * (-1) ** ply or (action < 0 and action not in _NAMES):
            raise UsageError("a game of Six has moves in turns, and no swap-sides")
        texts.append(_NAMES[action] if action < 0 else format_cell(action, game.size).upper())
    lines = [f"BoardSize: {game.size}x{game.size}", f"First: {'V' if first == BLACK else 'H'}"]
    lines += [f"Swap: {int(any(move.action == SWAP_PIECES for move in moves))}", "Moves:"]
    lines += [f"  {turn // 2 + 1}. {' '.join(texts[turn : turn + 2])}" for turn in range(0, len(texts), 2)]
    return "\n".join(lines) + "\n"
