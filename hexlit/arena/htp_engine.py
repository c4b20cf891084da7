"""A foreign program that speaks HTP, as a player."""

import shlex
import shutil
from collections.abc import Sequence

from hexlit.arena.arena_game import illegality, position_of
from hexlit.arena.engine_process import EngineProcess
from hexlit.arena.game_player import RESIGN, Forfeit
from hexlit.errors import UsageError
from hexlit.hex.notation import format_cell, parse_cell

LONGEST_TIMEOUT = 1e6
"""Seconds."""


class HtpEngine:
    """Plays by a program that is started by a command line and speaks HTP over its standard input and output.

    The program loses the game, with a note, if it does not start, ends, is silent for too long, refuses a command, or
    answers without a legal move. It is then ended, and started again for the next game.

    Args:
        command: the command line; no shell reads it.
        name: its name in the notes.
        start_timeout: seconds for each answer until it is ready for a game, its start included.
        move_timeout: seconds for each answer in a game.

    Raises:
        UsageError: `command` is not a command line, its program does not exist, or a time is out of range.
    """

    def __init__(self, command: str, *, name: str, start_timeout: float, move_timeout: float) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"engine {command!r}: not a command line ({error})") from error
        if not self._words:
            raise UsageError(f"engine {command!r}: a command line is needed")
        if shutil.which(self._words[0]) is None:
            raise UsageError(f"engine {command!r}: there is no program {self._words[0]!r}")
        for key, seconds in (("start_timeout", start_timeout), ("move_timeout", move_timeout)):
            if not 0 < seconds <= LONGEST_TIMEOUT:
                raise UsageError(f"engine {name}: {key}={seconds:g}: seconds above 0, up to {LONGEST_TIMEOUT:g}")
        self.name = name
        self._start_timeout = start_timeout
        self._move_timeout = move_timeout
        self._process: EngineProcess | None = None
        self._size = 0
        self._swap = False
        self._played: list[int] = []
        self.title = ""
        """Name and version of the program in its own words, once started."""

    def begin(self, size: int, *, swap: bool = False) -> None:
        """See `GamePlayer`."""
        try:
            process = self._process = self._process or EngineProcess(self._words)
            if not self.title:
                answers = [self._ask(process, question, self._start_timeout) for question in ("name", "version")]
                self.title = " ".join(answers)
            if not process.ask(f"boardsize {size} {size}", self._start_timeout).fine:
                self._ask(process, f"boardsize {size}", self._start_timeout)
            # Programs that do not know the parameter refuse, which is fine.
            process.ask(f"param_game allow_swap {int(swap)}", self._move_timeout)
            self._ask(process, "clear_board", self._move_timeout)
        except Forfeit as forfeit:
            raise self._lost(forfeit) from forfeit
        self._size, self._swap = size, swap
        self._played = []

    def answer(self, moves: Sequence[int]) -> int:
        """See `GamePlayer`."""
        try:
            process = self._process
            if process is None:
                raise Forfeit("is not running")
            self._catch_up(process, moves)
            colour = "bw"[len(moves) % 2]
            move = self._move(self._ask(process, f"genmove {colour}", self._move_timeout), moves)
        except Forfeit as forfeit:
            raise self._lost(forfeit) from forfeit
        self._played = [*moves, move]
        return move

    def abort(self) -> None:
        """End a call under way in another thread, which raises `Forfeit`."""
        process = self._process
        if process is not None:
            process.abort()

    def close(self) -> None:
        """See `GamePlayer`."""
        process, self._process = self._process, None
        if process is not None:
            process.quit()

    def _catch_up(self, process: EngineProcess, moves: Sequence[int]) -> None:
        """Send the moves that the program does not know yet; all of them if it knows others."""
        known = len(self._played)
        if list(moves[:known]) != self._played:
            self._ask(process, "clear_board", self._move_timeout)
            known = 0
        for ply in range(known, len(moves)):
            command = f"play {'bw'[ply % 2]} {format_cell(moves[ply], self._size)}"
            self._ask(process, command, self._move_timeout)

    def _move(self, text: str, moves: Sequence[int]) -> int:
        name = text.lower()
        if name == "resign":
            return RESIGN
        try:
            cell = parse_cell(name, self._size)
        except UsageError:
            raise Forfeit(f"answers {text[:60]!r}, which is no move on a {self._size}x{self._size} board") from None
        cells = position_of(moves, self._size)
        fault = illegality(cell, cells, self._size, ply=len(moves), swap=self._swap)
        if fault:
            raise Forfeit(fault)
        return cell

    def _ask(self, process: EngineProcess, command: str, seconds: float) -> str:
        reply = process.ask(command, seconds)
        if not reply.fine:
            raise Forfeit(f"refuses {command!r}: {reply.text[:200]}")
        return reply.text

    def _lost(self, forfeit: Forfeit) -> Forfeit:
        """End the program, because its state is unknown now; the note gets the player's name."""
        if self._process is not None:
            self._process.kill()
            self._process = None
        return Forfeit(f"{self.name}: {forfeit}")
