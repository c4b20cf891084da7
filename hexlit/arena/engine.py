"""A foreign program that speaks HTP, as a player: asked over two pipes with time-outs, and ended
with its processes.
"""

import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from hexlit.arena.matches import illegality
from hexlit.arena.players import RESIGN, Forfeit, Player
from hexlit.cluster.lifeline import Child, last_line
from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.settings import check_numbers

MOST_GARBAGE = 1 << 20
"""Most bytes that a program may print instead of an answer, or in one."""

QUIT_SECONDS = 1.0
"""Time for a program to end after `quit`, and again after a signal."""

_CHUNK = 65536
_PIPE = subprocess.PIPE
_ERRORS_READ = 4096
_ANSWER = re.compile(rb"^([=?])(.*?)\n[ \t\r]*\n", re.MULTILINE | re.DOTALL)


class EngineProcess:
    """A running program that speaks HTP. It is no child of a shell, and leads a process group of
    its own.

    Raises:
        Forfeit: the program cannot be started.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._stderr = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the process
        try:
            self._process = Child(
                words, tied=False, stdin=_PIPE, stdout=_PIPE, stderr=self._stderr, bufsize=0
            )
        except OSError as error:
            raise Forfeit(f"cannot be started: {words[0]}: {error.strerror}") from error
        self._stdin, self._stdout = (
            cast(IO[bytes], pipe) for pipe in (self._process.stdin, self._process.stdout)
        )

    def ask(self, command: str, seconds: float) -> tuple[bool, str]:
        """Send `command` and wait for its answer: whether it begins with `=` rather than `?`, and
        its text.

        Raises:
            Forfeit: none comes in time, or ever.
        """
        deadline = time.monotonic() + seconds
        output = b""
        if os.fstat(self._stderr.fileno()).st_size > MOST_GARBAGE:
            self._stderr.seek(0)  # of the program, too: they share the position
            self._stderr.truncate()
        while self._read(0.0) and time.monotonic() < deadline:
            pass  # output that was not asked for
        try:
            os.write(self._stdin.fileno(), f"{command}\n".encode())
        except OSError as error:
            raise Forfeit(f"{self._end()} before {command!r}{self._last_words()}") from error
        while (answer := _ANSWER.search(output)) is None:
            chunk = self._read(max(0.0, deadline - time.monotonic()))
            if chunk is None:
                printed = f"; it printed {last_line(output)!r}" if output else ""
                raise Forfeit(
                    f"no answer to {command!r} within {seconds:g} s{printed}{self._last_words()}"
                )
            if not chunk:
                raise Forfeit(f"{self._end()} at {command!r}{self._last_words()}")
            output += chunk
            if len(output) > MOST_GARBAGE:
                start = last_line(output)
                raise Forfeit(
                    f"answers {command!r} with more than {MOST_GARBAGE} bytes, such as {start!r}"
                )
        lines = answer[2].decode(errors="replace").replace("\r", "").split("\n")
        return answer[1] == b"=", "\n".join(line.rstrip() for line in lines).strip()

    def quit(self) -> None:
        """Ask the program to leave, and end it if it does not."""
        try:
            with contextlib.suppress(Forfeit):
                self.ask("quit", QUIT_SECONDS)
                self._process.ended_within(QUIT_SECONDS)
        finally:  # Ctrl-C meanwhile leaves no program behind
            self.kill()

    def abort(self) -> None:
        """End the program at once, from any thread: a waiting `ask` then raises `Forfeit`."""
        self._process.signal_group(signal.SIGKILL)

    def kill(self) -> None:
        """End the program and its processes: first by a request, then by force."""
        self._process.end(signal.SIGTERM, QUIT_SECONDS)
        for file in (self._stdin, self._stdout, self._stderr):
            file.close()

    def _read(self, seconds: float) -> bytes | None:
        """Output that comes within `seconds`; empty once the program has closed it, None if there
        is none.
        """
        if not select.select([self._stdout], [], [], seconds)[0]:
            return None
        return os.read(self._stdout.fileno(), _CHUNK)

    def _end(self) -> str:
        """The way the program has ended, once it has closed its output."""
        if not self._process.ended_within(QUIT_SECONDS):
            return "closed its output"
        return self._process.how or "exit code 0"

    def _last_words(self) -> str:
        """The last line on standard error, as part of a message."""
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - _ERRORS_READ))
        line = last_line(self._stderr.read())
        return f"; its last words: {line}" if line else ""


class HtpEngine(Player):
    """Plays by a program that is started by a command line and speaks HTP over its standard input
    and output.

    The program loses the game, with a note, if it does not start, ends, is silent for too long,
    refuses a command, or answers without a legal move. It is then ended, and started again for the
    next game.

    Args:
        command: the command line; no shell reads it.
        name: its name in the notes.
        start_timeout: seconds for each answer until it is ready for a game, its start included.
        move_timeout: seconds for each answer in a game.

    Raises:
        UsageError: the program does not exist, or a time is out of range.
    """

    def __init__(
        self, command: str, *, name: str, start_timeout: float, move_timeout: float
    ) -> None:
        self._words = [
            str(Path(word).expanduser()) if word[:1] == "~" else word
            for word in shlex.split(command)
        ]
        if not self._words or shutil.which(self._words[0]) is None:
            raise UsageError(
                f"engine {command!r}: there is no program {(self._words or [''])[0]!r}"
            )
        check_numbers("(0, 1e6]", start_timeout=start_timeout, move_timeout=move_timeout)
        self.name = name
        self._start_timeout = start_timeout
        self._move_timeout = move_timeout
        self._process: EngineProcess | None = None
        self._played: tuple[int, ...] = ()

    def begin(self, size: int, *, swap: bool = False) -> None:
        """See `Player`."""
        with self._ended_by_a_forfeit():
            process = self._process = self._process or EngineProcess(self._words)
            if not process.ask(f"boardsize {size} {size}", self._start_timeout)[0]:
                self._ask(process, f"boardsize {size}", self._start_timeout)
            # Programs that do not know the parameter refuse, which is fine.
            process.ask(f"param_game allow_swap {int(swap)}", self._move_timeout)
            self._ask(process, "clear_board", self._move_timeout)
        self._played = ()

    def answer(self, boards: Sequence[GameBoard]) -> Sequence[int]:
        """See `Player`."""
        (board,) = boards
        with self._ended_by_a_forfeit():
            process = self._process
            if process is None:
                raise Forfeit("is not running")
            self._catch_up(process, board)
            move = self._move(
                self._ask(process, f"genmove {'bw'[len(board.moves) % 2]}", self._move_timeout),
                board,
            )
        self._played = (*board.moves, move)
        return [move]

    def abort(self) -> None:
        """End a call under way in another thread, which raises `Forfeit`."""
        process = self._process
        if process is not None:
            process.abort()

    def close(self) -> None:
        """See `Player`."""
        process = self._process
        self._process = None
        if process is not None:
            process.quit()

    def _catch_up(self, process: EngineProcess, board: GameBoard) -> None:
        """Send the moves that the program does not know yet; all of them if it knows others."""
        known = len(self._played)
        moves = board.moves
        if moves[:known] != self._played:
            self._ask(process, "clear_board", self._move_timeout)
            known = 0
        for ply in range(known, len(moves)):
            self._ask(
                process,
                f"play {'bw'[ply % 2]} {format_cell(moves[ply], board.size)}",
                self._move_timeout,
            )

    def _move(self, text: str, board: GameBoard) -> int:
        name = text.lower()
        size = board.size
        if name == "resign":
            return RESIGN
        try:
            cell = parse_cell(name, size)
        except UsageError:
            raise Forfeit(
                f"answers {text[:60]!r}, which is no move on a {size}x{size} board"
            ) from None
        if fault := illegality(cell, board):
            raise Forfeit(fault)
        return cell

    def _ask(self, process: EngineProcess, command: str, seconds: float) -> str:
        fine, text = process.ask(command, seconds)
        if not fine:
            raise Forfeit(f"refuses {command!r}: {text[:200]}")
        return text

    @contextlib.contextmanager
    def _ended_by_a_forfeit(self) -> Iterator[None]:
        """After a forfeit end the program, because its state is unknown; the note gets the player's
        name.
        """
        try:
            yield
        except Forfeit as forfeit:
            if self._process is not None:
                self._process.kill()
                self._process = None
            raise Forfeit(f"{self.name}: {forfeit}") from forfeit
