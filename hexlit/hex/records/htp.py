"""Logs of HTP, the Hex Text Protocol: commands and answers, game after game.

A command counts unless it is answered by `?`. A log without answers can be read, too, if no move is missing.
Programs that a log names (`B>> play w a3`, `W>> genmove w`) are followed separately: each of them tells the game.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
    told,
)

GAME = {"boardsize", "clear_board", "loadsgf", "play", "genmove", "undo", "final_score"}
"""Commands that tell a game."""

OTHERS = {
    "protocol_version",
    "name",
    "version",
    "known_command",
    "list_commands",
    "quit",
    "reg_genmove",
    "showboard",
    "all_legal_moves",
    "time_left",
    "time_settings",
    "param_game",
    "hexgui-analyze_commands",
    "gogui-analyze_commands",
    "gogui-gfx-analyze",
}
"""Commands with answers that are no part of the game."""

_STAMP = r"[0-9]{1,4}(?:[-:/.,T][0-9]{1,6}){1,7}Z?"
_LEVEL = r"(?i:debug|info|notice|warning|warn|error|trace|stderr|stdout|stdin)"
_PREFIX = re.compile(
    rf"[\s\ufeff]*(?:(?:\[[^\]]{{0,80}}\]|{_STAMP}|{_LEVEL}(?=[\s:>\[]))[:\s]*)*"
    r"(?:([A-Za-z][A-Za-z0-9_.\-]{0,30})?\s*(?:>{1,3}|<{1,3}|:)\s*)?"
)
_ANSWER = re.compile(r"([=?])([0-9]{0,9})(?:\s+(.*))?\s*", re.DOTALL)
_COMMAND = re.compile(r"(?:([0-9]{1,9})\s+)?([A-Za-z][A-Za-z_\-]{0,40})((?:\s[^#]*)?)(?:#.*)?\s*", re.DOTALL)


class Line(NamedTuple):
    """A command or an answer."""

    tag: str
    """The program that is addressed, if the log has several: `B` in `B>> genmove b`."""
    sign: str
    """`=` or `?` of an answer, the name of a command."""
    id: str
    """Its number, empty without one."""
    words: list[str]
    """Arguments of the command, or words of the answer's first line."""
    column: int


def parse_line(line: str) -> Line | None:
    """The command or the answer of `line`; None if it is neither: a board, a comment, an engine's message."""
    prefix = _PREFIX.match(line)
    assert prefix is not None  # it matches the empty text
    start = prefix.end()
    answer = _ANSWER.fullmatch(line, start)
    if answer:
        return Line(prefix[1] or "", answer[1], answer[2], (answer[3] or "").split(), start + 1)
    command = _COMMAND.fullmatch(line, start)
    if command is None or command[2].lower() not in GAME | OTHERS:
        return None
    return Line(prefix[1] or "", command[2].lower(), command[1] or "", command[3].split(), start + 1)


STARTS = {"boardsize", "clear_board", "loadsgf"}
"""Commands that begin another game."""

SILENT = STARTS | {"play", "undo"}
"""Commands with an empty answer."""

_CELL = re.compile(r"[a-z][0-9]{1,2}")
_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_WORDS = {name: action for action, name in NAMES.items()} | {"swap": SWAP_PIECES}
_SCORES = {"b+": BLACK, "w+": WHITE}


def read_htp(lines: Iterable[str], file: str = "") -> Iterator[RecordedGame | RecordError]:
    """The games of a log, or the error of one; each comes when the next one begins."""
    logs: dict[str, _Log] = {}
    tag = ""
    for number, text in enumerate(lines, 1):
        line = parse_line(text)
        if line is None:
            continue
        if line.sign not in "=?":
            tag = line.tag
            yield from logs.setdefault(tag, _Log()).command(line, Place(file, number, line.column))
        elif (line.tag or tag) in logs:
            logs[line.tag or tag].answer(line)
    for log in logs.values():
        yield from log.end()


@dataclass
class _Command:
    name: str
    id: str
    words: list[str]
    place: Place
    sign: str = ""
    """`=` or `?` once it is answered."""
    said: str = ""
    """First word of the answer."""
    doubtful: bool = False
    """Whether an answer came that may have been another command's."""


class _Log:
    """Commands and answers of one program."""

    def __init__(self) -> None:
        self.commands: list[_Command] = []  # of the game that is open, the ones that started it first
        self.unanswered: deque[_Command] = deque()  # those without a number, in order
        self.numbered: dict[str, _Command] = {}
        self.size = 0
        self.known = False  # whether the board is empty at the start of the open game

    def command(self, line: Line, place: Place) -> Iterator[RecordedGame | RecordError]:
        if self._starting():
            yield from self._close()
        command = _Command(line.sign, line.id, line.words, place)
        if line.id:
            self.numbered[line.id] = command
        else:
            self.unanswered.append(command)
        if line.sign in GAME:
            self.commands.append(command)

    def answer(self, line: Line) -> None:
        message = line.words[0].lower() if line.words else ""
        if line.id:
            command = self.numbered.pop(line.id, None)
        else:
            command = self._answered(line.sign, message)
        if command:
            command.sign, command.said = line.sign, message
            # The commands after a refused start have been taken for another game.
            command.doubtful |= line.sign == "?" and command.name in STARTS and command is not self.commands[-1]

    def _answered(self, sign: str, said: str) -> _Command | None:
        """The command that an answer without a number belongs to: the one before it, unless some had no answer yet.

        Then answers are missing in the log, or all of them come after the commands. An answer that fits both cases is
        taken; the rest is unknown.
        """
        waiting = self.unanswered
        if len(waiting) < 2:
            return waiting.popleft() if waiting else None
        first, last = waiting[0], waiting[-1]
        if sign == "=" and said:
            spoken = [command for command in waiting if command.name not in SILENT]
            asked = [command for command in spoken if command.name == "genmove"]
            told = asked if _CELL.fullmatch(said) or said in _WORDS else spoken
            if len(told) == 1 and last.name not in SILENT and (last.name == "genmove" or told == spoken):
                waiting.clear()
                return last
        if sign == "=" and first.name != "genmove" and (not said or first.name not in SILENT):
            return waiting.popleft()
        for command in waiting:
            command.doubtful = True
        waiting.clear()
        return None

    def _close(self) -> Iterator[RecordedGame | RecordError]:
        """The game before the last command, which starts another."""
        *commands, start = self.commands
        yield from self._result(commands)
        self.commands = [start]

    def end(self) -> Iterator[RecordedGame | RecordError]:
        if self._starting():
            yield from self._close()
        yield from self._result(self.commands)

    def _starting(self) -> bool:
        return bool(self.commands) and self.commands[-1].name in STARTS and self.commands[-1].sign != "?"

    def _result(self, commands: Sequence[_Command]) -> Iterator[RecordedGame | RecordError]:
        try:
            for command in commands:
                if command.doubtful:
                    if any(other.name == "boardsize" for other in commands):
                        self.size = 0  # the games after this one wait for the next boardsize
                    message = f"it cannot be told which answer is {command.name}'s"
                    raise RecordError("not a game", message, command.place)
            game = self._game([command for command in commands if command.sign != "?"])
        except RecordError as error:
            yield error
        else:
            if game:
                yield game

    def _game(self, commands: Sequence[_Command]) -> RecordedGame | None:
        moves: list[RecordedMove] = []
        winner = 0
        place = None
        for number, command in enumerate(commands):
            if command.name in STARTS:
                self._start(command)
                continue
            if command.name == "final_score":
                winner = _SCORES.get(command.said, 0)
                continue
            if not self.known or not self.size:
                message = f"{command.name}, but no boardsize and clear_board before it say on which position"
                raise RecordError("not a game", message, command.place)
            place = place or command.place
            winner = 0
            if command.name == "undo":
                if not moves:
                    raise RecordError("not a game", "undo, but there is no move", command.place)
                moves.pop()
            elif command.name == "genmove" and not command.sign:
                if any(later.name != "final_score" for later in commands[number + 1 :]):
                    raise RecordError("not a game", "genmove has no answer, but the game continues", command.place)
            else:
                moves.append(self._move(command))
        return RecordedGame(self.size, tuple(moves), winner=winner, place=place) if moves and place else None

    def _start(self, command: _Command) -> None:
        self.known = command.name != "loadsgf"
        if command.name == "boardsize":
            self.size = 0
            numbers = command.words or [""]
            if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in numbers) or len(numbers) > 2:
                message = f"boardsize {' '.join(numbers)[:20]!a}: no size of a board"
                raise RecordError("board size", message, command.place)
            self.size = check_board(int(numbers[0]), int(numbers[-1]), command.place)

    def _move(self, command: _Command) -> RecordedMove:
        colour = _COLOURS.get(command.words[0].lower() if command.words else "")
        words = command.words[1:] if command.name == "play" else [command.said]
        if colour is None or len(command.words) != (2 if command.name == "play" else 1):
            message = f"{command.name} {' '.join(command.words)[:20]!a}: no colour and move such as b a3"
            raise RecordError("not a game", message, command.place)
        name = words[0].lower()
        return RecordedMove(colour, _WORDS[name] if name in _WORDS else parse_point(name, self.size, command.place))


def write_htp(game: RecordedGame) -> str:
    """One game as commands that a program can play.

    Raises:
        UsageError: the format cannot say this game: stones set up, swap-sides, a forfeit, or a winner that only a
            file claims.
    """
    moves = told(game, "a log of HTP")
    if not moves:
        raise UsageError("a log of HTP has no game without moves")
    lines = [f"boardsize {game.size}", "clear_board"]
    for colour, action in moves:
        if action < 0 and action not in (SWAP_PIECES, RESIGN):
            raise UsageError(f"HTP knows no {NAMES[action]}")
        name = NAMES[action] if action < 0 else format_cell(action, game.size)
        lines.append(f"play {'b' if colour == BLACK else 'w'} {name}")
    return "\n".join(lines) + "\n"
