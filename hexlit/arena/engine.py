"""A foreign program that speaks HTP, as a player: asked over two pipes with time-outs, and ended with its processes."""

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple, cast

from hexlit.arena.matches import illegality
from hexlit.arena.players import RESIGN, Forfeit, Player
from hexlit.errors import UsageError
from hexlit.hex.board import Board
from hexlit.hex.notation import format_cell, parse_cell

LONGEST_TIMEOUT = 1e6
"""Seconds."""

MOST_GARBAGE = 1 << 20
"""Most bytes that a program may print instead of an answer, or in one."""

QUIT_SECONDS = 1.0
"""Time for a program to end after `quit`, and again after a signal."""

_CHUNK = 65536
_PIPE = subprocess.PIPE
_ERRORS_KEPT = 4096
_LONGEST_QUOTE = 200


class Reply(NamedTuple):
    """An answer by the protocol."""

    fine: bool
    """Whether it begins with `=`, rather than `?`."""
    text: str


class EngineProcess:
    """A running program that speaks HTP. It is no child of a shell, and leads a process group of its own.

    Raises:
        Forfeit: the program cannot be started.
    """

    def __init__(self, words: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                words, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE, bufsize=0, start_new_session=True
            )
        except OSError as error:
            raise Forfeit(f"cannot be started: {words[0]}: {error.strerror}") from error
        self._stdin, self._stdout, self._stderr = (
            cast(IO[bytes], pipe) for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._output = b""
        self._errors = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)

    def ask(self, command: str, seconds: float) -> Reply:
        """Send `command` and wait for its answer; raises `Forfeit` if none comes in time, or ever."""
        deadline = time.monotonic() + seconds
        self._drain(deadline)  # output that was not asked for
        self._output = b""
        try:
            os.write(self._stdin.fileno(), f"{command}\n".encode())
        except OSError as error:
            raise Forfeit(f"{self._end()} before {command!r}{self._quote()}") from error
        garbage, lines, printed = "", list[str](), 0
        while True:
            line = self._line(command, deadline, seconds, garbage)
            printed += len(line)
            if lines and not line:
                return Reply(lines[0][0] == "=", "\n".join([lines[0][1:].strip(), *lines[1:]]).strip())
            if lines or line[:1] in ("=", "?"):
                lines.append(line)
            elif line:  # live graphics and other output
                garbage = line
            if printed > MOST_GARBAGE:
                raise Forfeit(f"answers {command!r} with more than {MOST_GARBAGE} bytes, such as {_short(line)!r}")

    def quit(self) -> None:
        """Ask the program to leave, and end it if it does not."""
        try:
            with contextlib.suppress(Forfeit):
                self.ask("quit", QUIT_SECONDS)
                self._wait()
        finally:  # Ctrl-C meanwhile leaves no program behind
            self.kill()

    def abort(self) -> None:
        """End the program at once, from any thread: a waiting `ask` then raises `Forfeit`."""
        self._signal(signal.SIGKILL)

    def kill(self) -> None:
        """End the program and its processes: first by a request, then by force."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            self._wait()
        self._signal(signal.SIGKILL)  # the program, or processes that it has left
        self._process.wait()
        self._selector.close()
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()

    def _line(self, command: str, deadline: float, seconds: float, garbage: str) -> str:
        """The next line of the program's output, without its end."""
        printed = f"; it printed {_short(garbage)!r}" if garbage else ""
        while b"\n" not in self._output and (left := deadline - time.monotonic()) > 0:
            if len(self._output) > MOST_GARBAGE:
                start = _short(self._output.decode(errors="replace"))
                raise Forfeit(f"answers {command!r} with a line without an end, {start!r}")
            if self._stdout not in (key.fileobj for key in self._selector.get_map().values()):
                raise Forfeit(f"{self._end()} at {command!r}{printed}{self._quote()}")
            self._read(left)
        if time.monotonic() >= deadline:
            raise Forfeit(f"no answer to {command!r} within {seconds:g} s{printed}{self._quote()}")
        line, _, self._output = self._output.partition(b"\n")
        return line.decode(errors="replace").replace("\r", "").rstrip()

    def _read(self, seconds: float) -> bool:
        """Read the program's output for up to `seconds`; returns whether there was any."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            chunk = os.read(key.fd, _CHUNK)
            if not chunk:
                self._selector.unregister(key.fileobj)
            elif key.fileobj is self._stdout:
                self._output += chunk
            else:
                self._errors = (self._errors + chunk)[-_ERRORS_KEPT:]
        return bool(ready)

    def _drain(self, deadline: float) -> None:
        """Read the output so far, until `deadline` at most if a program never stops printing."""
        while self._read(0.0) and time.monotonic() < deadline:
            self._output = b""

    def _end(self) -> str:
        """The way the program has ended, once it has closed its output."""
        self._wait()
        self._drain(time.monotonic() + QUIT_SECONDS)
        status = self._process.poll()
        if status is None:
            return "closed its output"
        return f"ended by signal {-status}" if status < 0 else f"ended with exit status {status}"

    def _quote(self) -> str:
        lines = [line.strip() for line in self._errors.decode(errors="replace").splitlines() if line.strip()]
        return f"; its last words: {_short(lines[-1])}" if lines else ""

    def _wait(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(QUIT_SECONDS)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies alone
            os.killpg(self._process.pid, number)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}..."


class HtpEngine(Player):
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
        self._played: tuple[int, ...] = ()
        self.title = ""
        """Name and version of the program in its own words, once started."""

    def begin(self, size: int, *, swap: bool = False) -> None:
        """See `Player`."""
        with self._ended_by_a_forfeit():
            process = self._process = self._process or EngineProcess(self._words)
            if not self.title:
                self.title = " ".join(self._ask(process, word, self._start_timeout) for word in ("name", "version"))
            if not process.ask(f"boardsize {size} {size}", self._start_timeout).fine:
                self._ask(process, f"boardsize {size}", self._start_timeout)
            # Programs that do not know the parameter refuse, which is fine.
            process.ask(f"param_game allow_swap {int(swap)}", self._move_timeout)
            self._ask(process, "clear_board", self._move_timeout)
        self._played = ()

    def answer(self, boards: Sequence[Board]) -> Sequence[int]:
        """See `Player`."""
        (board,) = boards
        with self._ended_by_a_forfeit():
            process = self._process
            if process is None:
                raise Forfeit("is not running")
            self._catch_up(process, board)
            move = self._move(self._ask(process, f"genmove {'bw'[len(board.moves) % 2]}", self._move_timeout), board)
        self._played = (*board.moves, move)
        return [move]

    def abort(self) -> None:
        """End a call under way in another thread, which raises `Forfeit`."""
        if (process := self._process) is not None:
            process.abort()

    def close(self) -> None:
        """See `Player`."""
        process, self._process = self._process, None
        if process is not None:
            process.quit()

    def _catch_up(self, process: EngineProcess, board: Board) -> None:
        """Send the moves that the program does not know yet; all of them if it knows others."""
        known, moves = len(self._played), board.moves
        if moves[:known] != self._played:
            self._ask(process, "clear_board", self._move_timeout)
            known = 0
        for ply in range(known, len(moves)):
            self._ask(process, f"play {'bw'[ply % 2]} {format_cell(moves[ply], board.size)}", self._move_timeout)

    def _move(self, text: str, board: Board) -> int:
        name, size = text.lower(), board.size
        if name == "resign":
            return RESIGN
        try:
            cell = parse_cell(name, size)
        except UsageError:
            raise Forfeit(f"answers {text[:60]!r}, which is no move on a {size}x{size} board") from None
        if fault := illegality(cell, board):
            raise Forfeit(fault)
        return cell

    def _ask(self, process: EngineProcess, command: str, seconds: float) -> str:
        reply = process.ask(command, seconds)
        if not reply.fine:
            raise Forfeit(f"refuses {command!r}: {reply.text[:200]}")
        return reply.text

    @contextlib.contextmanager
    def _ended_by_a_forfeit(self) -> Iterator[None]:
        """After a forfeit end the program, because its state is unknown; the note gets the player's name."""
        try:
            yield
        except Forfeit as forfeit:
            if self._process is not None:
                self._process.kill()
                self._process = None
            raise Forfeit(f"{self.name}: {forfeit}") from forfeit
