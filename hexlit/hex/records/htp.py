"""Logs of HTP, the Hex Text Protocol: commands and answers, game after game.

An answer belongs to the command before it, and a command counts unless it is answered by `?`. A log
without answers can be read, too, if no move is missing. Programs that a log names (`B>> play w a3`,
`W>> genmove w`) are followed separately: each of them is the game.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.records.game import (
    NAMES,
    RESIGN,
    SWAP_PIECES,
    Place,
    RecordedGame,
    RecordedMove,
    RecordError,
    check_board,
    parse_point,
    written_moves,
)

STARTS = {"boardsize", "clear_board", "loadsgf"}
"""Commands that begin another game."""

GAME = STARTS | {"play", "genmove", "undo", "final_score"}
"""Commands that make up a game."""

_STAMP = r"[0-9]{1,4}(?:[-:/.,T][0-9]{1,6}){1,7}Z?"
_LEVEL = r"(?i:debug|info|notice|warning|warn|error|trace|stderr|stdout|stdin)"
_PREFIX = re.compile(
    rf"[\s\ufeff]*(?:(?:\[[^\]]{{0,80}}\]|{_STAMP}|{_LEVEL}(?=[\s:>\[]))[:\s]*)*"
    r"(?:([A-Za-z][A-Za-z0-9_.\-]{0,30})?\s*(?:>{1,3}|<{1,3}|:)\s*)?"
)
_ANSWER = re.compile(r"([=?])[0-9]{0,9}(?:\s+(\S*).*)?\s*", re.DOTALL)
_COMMAND = re.compile(
    r"(?:[0-9]{1,9}\s+)?([A-Za-z][A-Za-z_\-]{0,40})((?:\s[^#]*)?)(?:#.*)?\s*", re.DOTALL
)

_SIZE = re.compile(r"([0-9]{1,9})(?: ([0-9]{1,9}))?")
_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_WORDS = {name: action for action, name in NAMES.items()} | {"swap": SWAP_PIECES}
_SCORES = {"b+": BLACK, "w+": WHITE}


def read_htp(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of a log, or the error of one; each comes when the next one has begun."""
    logs: dict[str, _Log] = {}
    tag = ""
    for number, line in enumerate(lines, 1):
        prefix = _PREFIX.match(line)
        assert prefix is not None  # it matches the empty text
        answer, command = (form.fullmatch(line, prefix.end()) for form in (_ANSWER, _COMMAND))
        place = Place(file, number, prefix.end() + 1)
        if answer and (prefix[1] or tag) in logs:
            logs[prefix[1] or tag].answer(answer[1], (answer[2] or "").lower(), place)
        elif command and command[1].lower() not in GAME and (prefix[1] or tag) in logs:
            logs[prefix[1] or tag].waiting = True
        elif command and command[1].lower() in GAME:
            tag = prefix[1] or ""
            yield from logs.setdefault(tag, _Log()).command(
                _Command(command[1].lower(), command[2].split(), place)
            )
    for log in logs.values():
        yield from log.end()


@dataclass
class _Command:
    name: str
    words: list[str]
    place: Place
    sign: str = ""
    """`=` or `?` once it is answered."""
    text: str = ""
    """First word of the answer."""


class _Log:
    """Commands and answers of one program."""

    def __init__(self) -> None:
        self.last: _Command | None = None  # its answer may still come
        self.waiting = False  # for the answer of any command
        self.size = 0
        self.known = False  # whether the open game began with an empty board
        self._begin()

    def _begin(self) -> None:
        self.moves: list[RecordedMove] = []
        self.winner = 0
        self.place: Place | None = None
        self.asked: Place | None = None  # of a genmove without an answer
        self.error: RecordError | None = None

    def answer(self, sign: str, text: str, place: Place) -> None:
        if not self.waiting and not self.error:
            self.error = RecordError(
                "not a game", "an answer, but no command just before it", place
            )
        if self.last and not self.last.sign:
            self.last.sign, self.last.text = sign, text
        self.waiting = False

    def command(self, command: _Command | None) -> Iterator[RecordedGame | RecordError]:
        """The command before `command` is settled now; the game that it ends, if it begins another."""
        command, self.last, self.waiting = self.last, command, True
        if command is None or command.sign == "?":
            return
        if command.name in STARTS:
            yield from self._result()
            self._begin()
        try:
            if not self.error:
                self._take(command)
        except RecordError as error:
            self.error = error

    def end(self) -> Iterator[RecordedGame | RecordError]:
        yield from self.command(None)
        yield from self._result()

    def _result(self) -> Iterator[RecordedGame | RecordError]:
        if self.error:
            yield self.error
        elif self.moves and self.place:
            yield RecordedGame(self.size, tuple(self.moves), winner=self.winner, place=self.place)

    def _take(self, command: _Command) -> None:
        name, place = command.name, command.place
        if name in STARTS:
            self._start(command)
        elif name == "final_score":
            self.winner = _SCORES.get(command.text, 0)
        elif not self.known or not self.size:
            message = f"{name}, but no boardsize and clear_board before it give the position"
            raise RecordError("not a game", message, place)
        elif self.asked:
            raise RecordError(
                "not a game", "genmove has no answer, but the game continues", self.asked
            )
        else:
            self.place = self.place or place
            self.winner = 0
            if name == "undo" and not self.moves:
                raise RecordError("not a game", "undo, but there is no move", place)
            if name == "undo":
                self.moves.pop()
            elif name == "genmove" and not command.sign:
                self.asked = place
            else:
                self.moves.append(self._move(command))

    def _start(self, command: _Command) -> None:
        self.known = command.name != "loadsgf"
        if command.name == "boardsize":
            self.size = 0
            size = _SIZE.fullmatch(" ".join(command.words))
            if size is None:
                message = f"boardsize {' '.join(command.words)[:20]!a}: no size of a board"
                raise RecordError("board size", message, command.place)
            self.size = check_board(int(size[1]), int(size[2] or size[1]), command.place)

    def _move(self, command: _Command) -> RecordedMove:
        words = command.words if command.name == "play" else [*command.words, command.text]
        if len(words) != 2 or words[0].lower() not in _COLOURS:
            message = (
                f"{command.name} {' '.join(command.words)[:20]!a}: no colour and move such as b a3"
            )
            raise RecordError("not a game", message, command.place)
        colour, name = words[0].lower(), words[1].lower()
        action = _WORDS[name] if name in _WORDS else parse_point(name, self.size, command.place)
        return RecordedMove(_COLOURS[colour], action)


def write_htp(game: RecordedGame) -> str:
    """One game as commands that a program can play.

    Raises:
        UsageError: the format cannot hold this game: stones set up, swap-sides, a forfeit, or a
            winner that only a file claims.
    """
    moves = written_moves(game, "a log of HTP")
    if not moves:
        raise UsageError("a log of HTP has no game without moves")
    lines = [f"boardsize {game.size}", "clear_board"]
    for colour, action in moves:
        if action < 0 and action not in (SWAP_PIECES, RESIGN):
            raise UsageError(f"HTP knows no {NAMES[action]}")
        name = NAMES[action] if action < 0 else format_cell(action, game.size)
        lines.append(f"play {'b' if colour == BLACK else 'w'} {name}")
    return "\n".join(lines) + "\n"
